"""Patterns of `simplify-tensors`, by the operation that they move or remove.

Direction: what makes tensors smaller (slices, gathers) moves toward the inputs, what makes them
larger or only turns them (broadcasts, transpositions, reshapes) moves toward the outputs, until
neighbours cancel. No pattern moves one back, so they come to an end.
"""

from mnc.core.rewrite import Pattern
from mnc.passes.graph.tensors import (
    broadcasts,
    merges,
    padded_sums,
    reshapes,
    rows,
    slices,
    slices_of_views,
    transposes,
    view_chains,
    views,
)


def patterns() -> list[Pattern]:
    """All patterns, newly made."""
    families = (
        views, view_chains, transposes, reshapes, rows, merges, broadcasts, slices, slices_of_views, padded_sums,
    )  # fmt: skip
    return [pattern for family in families for pattern in family.patterns()]


__all__ = ["patterns"]
