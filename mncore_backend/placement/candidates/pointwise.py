"""Iteration spaces of element-wise operations and reductions: follow the operands where they are."""

from collections.abc import Collection, Sequence
from math import prod

from mnc.mncore_backend.layout import Axis, Layout
from mnc.mncore_backend.placement.candidates.policy import SPLIT_AXES
from mnc.mncore_backend.placement.candidates.space import (
    Access,
    Digits,
    default_digits,
    matches,
    ordered_digits,
    orders,
    reduce_inside,
    with_addresses,
)
from mnc.mncore_backend.target import cached_per_machine


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


FEW = 4
"""Copies of an operand that its PEs may make one after the other."""


def _repeated(
    extents: Sequence[int], operands: Sequence[tuple[Layout | None, Access]]
) -> list[list[Digits]]:
    """The iteration space in which the largest operand stays where it is and PEs repeat it in the dimensions that it
    lacks, as an image that is enlarged; none if it has few elements beside those that are made of them."""
    placed = [(layout, access) for layout, access in operands if layout is not None]
    largest = max(placed, key=lambda own: own[0].size, default=None)
    return _candidates(extents, [largest]) if largest and FEW * largest[0].size >= prod(extents) else []


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
    sliced: Collection[int] = (),
    batches: Collection[int] = (),
) -> list[list[Digits]]:
    """The iteration spaces that operands suggest, that for which the fewest elements must move first. Where none does,
    one that nothing is known of, and where that spreads dimensions that are not `parallel` over L2Bs, between which
    sums pass PDM, first one in which these take what others leave. Dimensions that are `sliced` later may stay inside
    the PEs, `batches` of products may be spread before others."""
    full = len([extent for extent in extents if extent > 1])

    def covers(access: Access) -> bool:
        return len({d for d in access if d is not None and extents[d] > 1}) == full

    usable = [(layout, access) for layout, access in operands if layout is not None and covers(access)]
    candidates = _candidates(extents, usable)
    if not candidates:
        return _where_nobody_says(extents, operands, axes, parallel, sliced, batches, cyclic=cyclic)

    def moved(digits: list[Digits]) -> int:
        return sum(
            layout.size for layout, access in operands if layout is not None and not matches(layout, digits, access)
        )

    def local(digits: list[Digits]) -> int:
        return prod(digit.size for own in digits for digit in own if not digit.axis.value)

    return sorted(candidates, key=lambda digits: (moved(digits), local(digits)))


def _where_nobody_says(
    extents: Sequence[int],
    operands: Sequence[tuple[Layout | None, Access]],
    axes: Sequence[Axis],
    parallel: Sequence[bool],
    sliced: Collection[int],
    batches: Collection[int],
    *,
    cyclic: bool,
) -> list[list[Digits]]:
    """The iteration spaces of loops of which no operand has all dimensions."""
    default = default_digits(extents, axes, cyclic=cyclic)
    reduced = [d for d, own in enumerate(parallel) if not own]
    others = _repeated(extents, operands)
    if sliced:
        kept = [d not in sliced for d in range(len(extents))]
        others = [reduce_inside(extents, kept, axes, cyclic=cyclic), *_candidates(extents, operands), *others]
    if any(d in batches for d in [d for d, extent in enumerate(extents) if extent > 1][1:]):
        inner = [d for d in range(len(extents)) if d not in batches]
        first = default_digits(extents, axes, cyclic=cyclic, last=inner)
        others += [first] if first != default else []
    if all(digit.axis is not Axis.L2B for d in reduced for digit in default[d]):
        return [default, *others]
    apart = default_digits(extents, axes, cyclic=cyclic, last=reduced)
    return [default, *others] if apart == default else [apart, default, *others]


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

    lanes = tuple(i for i, extent in enumerate(extents) if extent > 1 and i not in chosen)
    largest_now = max(_sizes(digits, accesses)[:-1], default=0)
    if not (chosen and lanes) and largest_now <= largest:
        return digits
    ends = tuple(map(tuple, accesses))
    fits, best = _roomiest(tuple(extents), ends, largest, tuple(chosen), lanes, tuple(axes), cyclic=cyclic)
    halves = 2 * max(_sizes(best, accesses)) <= max(_sizes(digits, accesses))
    return list(best) if fits or chosen or halves else digits


def _sizes(digits: Sequence[Digits], accesses: Sequence[Access]) -> list[int]:
    """Long words of every PE that operands take."""
    return [prod(_addresses(digits[d]) for d in access if d is not None) for access in accesses]


@cached_per_machine(256)
def _roomiest(
    extents: tuple[int, ...],
    accesses: tuple[Access, ...],
    largest: int,
    chosen: tuple[int, ...],
    lanes: tuple[int, ...],
    axes: tuple[Axis, ...],
    *,
    cyclic: bool,
) -> tuple[bool, Sequence[Digits]]:
    """The placement that costs least of those in which everything takes up to `largest` long words, if there are such;
    otherwise that whose largest operand takes least. States of a search ask for the same over and over."""
    wide = [i for i, extent in enumerate(extents) if extent > 1]
    reduced = set(wide) - set(accesses[-1])
    ways = sorted((order, lane) for lane in lanes or wide for order in orders(extents, lane, axes))
    candidates = [ordered_digits(extents, order, lane, axes, cyclic=cyclic) for order, lane in ways]

    def cost(candidate: list[Digits]) -> int:
        crossed = {d.axis for i in reduced for d in candidate[i] if d.axis is not Axis.ADDRESS}
        own = _sizes(candidate, accesses)
        iterations = prod(_addresses(digits) for i, digits in enumerate(candidate) if i not in chosen)
        return iterations + sum(own) + own[-1] * len(crossed)

    fitting = [candidate for candidate in candidates if max(_sizes(candidate, accesses)) <= largest]
    if fitting:
        return True, min(fitting, key=cost)
    return False, min(candidates, key=lambda candidate: max(_sizes(candidate, accesses)))
