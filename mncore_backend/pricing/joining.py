"""Prices of slices and joins: part of one tensor becomes part of another, each in its own layout."""

from collections.abc import Sequence
from dataclasses import replace
from math import prod

from mnc.mncore_backend.layout import Axis, Digit, Layout, Part, layout_of, part, strided_part
from mnc.mncore_backend.pricing.box import Box
from mnc.mncore_backend.pricing.crossing import Crossing, crossing
from mnc.mncore_backend.pricing.facts import IN_ADDRESS, LEVELS, REMEMBERED, facts
from mnc.mncore_backend.pricing.relayout import relayout
from mnc.mncore_backend.pricing.resources import NOTHING, Resources
from mnc.mncore_backend.pricing.table import price
from mnc.mncore_backend.target import CYCLES_PER_STEP, cached_per_machine


@cached_per_machine(REMEMBERED)
def joining(source: Layout, result: Layout, box: Box) -> Resources:
    """What it takes to bring a box of a tensor to its place in another one of the same rank."""
    way = join_crossing(source, result, box)
    if way is None:
        return NOTHING
    if way.is_copy:
        return Resources(alu=2.0 * -(-facts(result).longs // CYCLES_PER_STEP))  # by way of a register file
    return price("slicing" if fills(source, result, box) else "joining", way)


def fills(source: Layout, result: Layout, box: Box) -> bool:
    """Whether a box of a tensor is all of another one, which is a slice then and no part of a join."""
    return tuple(map(len, box.shared(source.shape, result.shape))) == result.shape


def join_crossing(source: Layout, result: Layout, box: Box) -> Crossing | None:
    """How the words of a box travel, as a part of a join with a feature more: whether PEs have to mask what is beside
    it; None if it is empty. It is a copy if it fills a result whose elements are in their PEs."""
    ranges = box.shared(source.shape, result.shape)
    shape = tuple(len(own) for own in ranges)
    if 0 in shape:
        return None
    places = zip(ranges, source.dims, box.starts, box.steps, strict=True)
    taken = [strided_part(digits, start + own[0] * step, len(own), step) for own, digits, start, step in places]
    given = [part(digits, own[0], len(own)) for own, digits in zip(ranges, result.dims, strict=True)]
    before, after = (layout_of(shape, own) for own in (taken, given))
    crossed = min((LEVELS.index(axis) for axis in _crossed(taken, given)), default=IN_ADDRESS)
    way = crossing(facts(before), facts(after), crossed=crossed)
    if shape == result.shape:
        return replace(way, is_copy=crossed == IN_ADDRESS and relayout(before, after) == NOTHING)
    is_masked = any(map(_ends_inside, ranges, result.dims, result.shape))
    return replace(way, features=[*way.features, float(is_masked)], is_copy=False)


def _ends_inside(own: range, digits: Sequence[Digit], extent: int) -> bool:
    """Whether a range of a dimension ends where some PEs have elements of it and others, at the same address, do
    not."""
    outer = next((i for i, digit in enumerate(digits) if digit.axis is not Axis.ADDRESS and digit.size > 1), None)
    together = 1 if outer is None else prod(digit.size for digit in digits[outer:])
    return bool(own.start % together) or (own.stop != extent and bool(own.stop % together))


def _crossed(taken: Sequence[Part], given: Sequence[Part]) -> set[Axis]:
    """Axes that elements cross though the digits of both parts are alike."""
    before, after = ({f for p in own for f in p.fixed} for own in (taken, given))
    torn = {axis for p in (*taken, *given) for axis in p.torn}
    return torn | {axis for axis, _, _ in before - after}
