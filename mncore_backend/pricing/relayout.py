"""Prices of movements on the chip from one layout of a tensor to another."""

from mnc.mncore_backend.layout import Layout
from mnc.mncore_backend.pricing.crossing import crossing
from mnc.mncore_backend.pricing.facts import REMEMBERED, facts
from mnc.mncore_backend.pricing.resources import NOTHING, Resources
from mnc.mncore_backend.pricing.table import price
from mnc.mncore_backend.target import cached_per_machine


@cached_per_machine(REMEMBERED)
def relayout(source: Layout, target: Layout) -> Resources:
    """What it takes to turn one layout of a tensor into another; nothing where at most addresses change."""
    if source.places == target.places:
        return NOTHING
    return price("relayout", crossing(facts(source), facts(target)))
