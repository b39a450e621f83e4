"""Parts of a dimension: in which digits, and at which fixed coordinates, some of its elements are."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod

from mnc.mncore_backend.layout.layout import Axis, Digit, Layout

Digits = tuple[Digit, ...]
Fixed = tuple[Axis, int, int]
"""Bits of a coordinate, and their value."""


@dataclass(frozen=True, slots=True)
class Part:
    """Where some elements of a dimension are.

    Attributes:
        digits: of the part, as a dimension of its own.
        fixed: coordinates that are the same for all of them.
        torn: hardware axes along which they are displaced by more than a constant from where `digits` say.
    """

    digits: Digits
    fixed: tuple[Fixed, ...] = ()
    torn: frozenset[Axis] = frozenset()


def layout_of(shape: Sequence[int], parts: Sequence[Part]) -> Layout:
    """Parts of all dimensions as a tensor of its own, in the same places and the same order. Addresses are numbered
    anew: the ones of the whole may have gaps that no layout has, as 0, 1, 3, 4."""
    dims = [list(own.digits) for own in parts]
    digits = [(digit, dim, i) for dim, own in enumerate(dims) for i, digit in enumerate(own)]
    stride = 1
    for _, dim, i in sorted((digit.stride, dim, i) for digit, dim, i in digits if digit.axis is Axis.ADDRESS):
        dims[dim][i] = replace(dims[dim][i], stride=stride)
        stride *= dims[dim][i].size
    return Layout(tuple(shape), tuple(tuple(own) for own in dims))


def strided_part(digits: Digits, start: int, extent: int, step: int) -> Part:
    """Every so manieth element of a dimension: what the outer digits count, if the inner ones count up to the step."""
    if step == 1:
        return part(digits, start, extent)
    for number in range(len(digits)):
        if prod(d.size for d in digits[number:]) == step:
            inner = part(digits[number:], start % step, 1)
            outer = part(digits[:number], start // step, extent)
            return replace(outer, fixed=outer.fixed + inner.fixed)
    axes = {d.axis for d in digits if d.size > 1}
    return Part(_counting(extent, digits), torn=frozenset(axes - {Axis.ADDRESS}))


def part(digits: Digits, start: int, extent: int) -> Part:
    """Neighbours from `start`: digits outside of a block that holds them all are fixed, the next one counts blocks."""
    fixed: list[Fixed] = []
    weight = prod(d.size for d in digits)
    for number, digit in enumerate(digits):
        inner, weight = digits[number + 1 :], weight // digit.size
        value, rest = divmod(start, weight)
        if rest + extent <= weight:
            fixed += _fixed(digit, value, 1)
            start = rest
            continue
        count = _filled(digit, -(-extent // weight))
        own = (replace(digit, size=count), *inner)
        torn = _displaced(digits[number:], rest) if rest or value % count else frozenset()
        return Part(own, (*fixed, *_fixed(digit, value, count)), torn)
    return Part((), tuple(fixed))


def _filled(digit: Digit, count: int) -> int:
    """Values of a digit that hold so many: of a coordinate a power of two."""
    return count if digit.axis is Axis.ADDRESS else 1 << (count - 1).bit_length()


def _fixed(digit: Digit, value: int, count: int) -> list[Fixed]:
    """Coordinate bits of a digit that are the same for `count` values from this one on."""
    if digit.axis is Axis.ADDRESS or count >= digit.size:
        return []
    return [(digit.axis, (digit.size - count) * digit.stride, value // count * count * digit.stride)]


def _displaced(digits: Digits, rest: int) -> frozenset[Axis]:
    """Axes along which elements change places when they are counted from `rest` on."""
    axes, weight = {digits[0].axis}, prod(d.size for d in digits[1:])
    for digit in digits[1:]:
        if rest % weight:
            axes.add(digit.axis)
        weight //= digit.size
    return frozenset(axes - {Axis.ADDRESS})


def _counting(extent: int, digits: Digits) -> Digits:
    """These digits without what is more than so many elements need."""
    own: list[Digit] = []
    for digit in reversed(digits):
        count = min(digit.size, _filled(digit, -(-extent // prod(d.size for d in own))))
        own.insert(0, replace(digit, size=count))
    return tuple(own)
