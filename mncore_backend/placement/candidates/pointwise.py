"""Iteration spaces of element-wise operations and reductions: follow the operands where they are."""

from collections.abc import Collection, Sequence
from itertools import permutations
from math import prod

from mnc.mncore_backend.layout import Axis, Layout
from mnc.mncore_backend.placement.candidates.policy import SPLIT_AXES
from mnc.mncore_backend.placement.candidates.space import (
    Access,
    Digits,
    default_digits,
    matches,
    ordered_digits,
    with_addresses,
)


def _candidates(extents: Sequence[int], operands: Sequence[tuple[Layout | None, Access]]) -> list[list[Digits]]:
    """Iteration spaces that some operand suggests; dimensions that it lacks stay inside the PEs."""
    result = []
    for layout, access in operands:
        if layout is None:
            continue
        digits: list[Digits | None] = [None] * len(extents)
        for own, d in zip(layout.dims, access, strict=True):
            if d is not None:
                digits[d] = own
        result.append([with_addresses(extents[i], ()) if own is None else own for i, own in enumerate(digits)])
    return result


def choose_iteration(
    extents: Sequence[int],
    operands: Sequence[tuple[Layout | None, Access]],
    axes: Sequence[Axis] = SPLIT_AXES,
    *,
    cyclic: bool = False,
) -> list[Digits]:
    """Digits of the iteration dimensions such that the fewest elements must move.

    Args:
        extents: size of each iteration dimension.
        operands: layout (None if it is still free, as for a model input) and access of each operand.
        axes: what is spread where no operand says how.
        cyclic: whether elements are dealt out in turn then, see `with_addresses`.
    """
    return possible_iterations(extents, operands, axes, cyclic=cyclic)[0]


def possible_iterations(
    extents: Sequence[int],
    operands: Sequence[tuple[Layout | None, Access]],
    axes: Sequence[Axis] = SPLIT_AXES,
    *,
    cyclic: bool = False,
    parallel: Sequence[bool] = (),
) -> list[list[Digits]]:
    """The iteration spaces that operands suggest, that for which the fewest elements must move first. Where none does,
    one that nothing is known of, and where that spreads dimensions that are not `parallel` over L2Bs, between which
    sums pass PDM, first one in which these take what others leave."""
    full = len([extent for extent in extents if extent > 1])

    def covers(access: Access) -> bool:
        return len({d for d in access if d is not None and extents[d] > 1}) == full

    usable = [(layout, access) for layout, access in operands if layout is not None and covers(access)]
    candidates = _candidates(extents, usable)
    if not candidates:
        default = default_digits(extents, axes, cyclic=cyclic)
        reduced = [d for d, own in enumerate(parallel) if not own]
        if all(digit.axis is not Axis.L2B for d in reduced for digit in default[d]):
            return [default]
        apart = default_digits(extents, axes, cyclic=cyclic, last=reduced)
        return [apart] if apart == default else [apart, default]

    def moved(digits: list[Digits]) -> int:
        return sum(
            layout.size for layout, access in operands if layout is not None and not matches(layout, digits, access)
        )

    def local(digits: list[Digits]) -> int:
        return prod(digit.size for own in digits for digit in own if not digit.axis.value)

    return sorted(candidates, key=lambda digits: (moved(digits), local(digits)))


def _addresses(digits: Digits) -> int:
    return prod(d.size for d in digits if d.axis is Axis.ADDRESS)


def roomy_iteration(
    digits: list[Digits],
    extents: Sequence[int],
    accesses: Sequence[Access],
    largest: int,
    chosen: Collection[int] = (),
    axes: Sequence[Axis] = SPLIT_AXES,
    *,
    cyclic: bool = False,
) -> list[Digits]:
    """`digits`, unless an operand then takes more than `largest` long words of every PE, as a large table does of which
    few elements are read: then the placement with the fewest iterations and long words among all orders of dimensions.
    Where none fits, another must halve what the largest operand takes: a tensor may be large wherever it is.

    `accesses` are those of the operands that are still free and, last, of the result. A reduced dimension outside the
    PEs costs the sum of all partial results. In `chosen` dimensions single elements are read at their addresses: they
    take no iterations, and neighbours must not share a long word, so that there is always a search.
    """

    def sizes(candidate: list[Digits]) -> list[int]:
        return [prod(_addresses(candidate[d]) for d in access if d is not None) for access in accesses]

    lanes = [i for i, extent in enumerate(extents) if extent > 1 and i not in chosen]
    if not (chosen and lanes) and max(sizes(digits)[:-1], default=0) <= largest:
        return digits
    wide = [i for i, extent in enumerate(extents) if extent > 1]
    lanes = lanes or wide
    reduced = set(wide) - set(accesses[-1])
    orders = permutations(range(len(extents)))
    candidates = [ordered_digits(extents, order, lane, axes, cyclic=cyclic) for order in orders for lane in lanes]

    def cost(candidate: list[Digits]) -> int:
        crossed = {d.axis for i in reduced for d in candidate[i] if d.axis is not Axis.ADDRESS}
        own = sizes(candidate)
        iterations = prod(_addresses(digits) for i, digits in enumerate(candidate) if i not in chosen)
        return iterations + sum(own) + own[-1] * len(crossed)

    fitting = [candidate for candidate in candidates if max(sizes(candidate)) <= largest]
    if fitting:
        return min(fitting, key=cost)
    smallest = min(candidates, key=lambda candidate: max(sizes(candidate)))
    return smallest if chosen or 2 * max(sizes(smallest)) <= max(sizes(digits)) else digits
