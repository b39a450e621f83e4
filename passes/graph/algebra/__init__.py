"""Patterns of `simplify-algebra`, by kind of law.

Two results count as the same when they are within rounding of each other, are the same infinity, or
are both NaN. Zeros of either sign are the same unless a division by them follows. A law that breaks
this for some input is refused unless the interval of the operand excludes that input.
"""

from mnc.core.rewrite import Pattern
from mnc.passes.graph.algebra import (
    association,
    averages,
    distribution,
    identities,
    one_hot,
    powers,
    scaling,
    selection,
)


def patterns() -> list[Pattern]:
    """All patterns, newly made."""
    families = (identities, powers, association, distribution, scaling, averages, selection, one_hot)
    return [pattern for family in families for pattern in family.patterns()]


__all__ = ["patterns"]
