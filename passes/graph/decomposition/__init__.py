"""Handlers of `decompose`: each takes an operation and returns the values that replace its results.

Chosen for the machine: it has no divider, so a division by few numbers is a product with their
reciprocals; reductions keep their dimensions, because the next step broadcasts along them.
"""

from collections.abc import Mapping

from mnc.passes.graph.decomposition import activation, contraction, normalization, reduction, window
from mnc.passes.graph.decomposition.build import Handler

HANDLERS: Mapping[str, Handler] = {
    **contraction.HANDLERS,
    **reduction.HANDLERS,
    **normalization.HANDLERS,
    **activation.HANDLERS,
    **window.HANDLERS,
}
"""Operation name without ``graph.`` -> handler."""

__all__ = ["HANDLERS", "Handler"]
