"""Prices of reshapes in which elements leave their places."""

from mnc.mncore_backend.layout import Layout
from mnc.mncore_backend.pricing.crossing import Crossing, crossing
from mnc.mncore_backend.pricing.facts import REMEMBERED, facts
from mnc.mncore_backend.pricing.resources import Resources
from mnc.mncore_backend.pricing.table import price
from mnc.mncore_backend.target import cached_per_machine


@cached_per_machine(REMEMBERED)
def reshaping(source: Layout, target: Layout) -> Resources:
    """What it takes to bring a tensor to a layout of the same elements in another shape."""
    return price("reshaping", reshape_crossing(source, target))


def reshape_crossing(source: Layout, target: Layout) -> Crossing:
    """How its words travel."""
    return crossing(facts(source, flat=True), facts(target, flat=True))
