"""Cheap necessary conditions on the digits of two layouts of a tensor: which single moves are worth working out."""

from collections.abc import Iterable, Mapping
from math import prod

from mnc.mncore_backend.layout import Axis, Digit, Layout
from mnc.mncore_backend.target import cached_per_machine, chip

Bit = tuple[int, int]  # dimension and weight of a tensor index bit
Place = tuple[Axis, int]  # hardware axis and coordinate bit


def atoms(layout: Layout) -> list[list[Digit]]:
    """Digits cut into factors of two where possible (an odd factor stays outside)."""
    result = []
    for digits in layout.dims:
        parts: list[Digit] = []
        for digit in digits:
            inner: list[Digit] = []
            size, stride = digit.size, digit.stride
            while size > 1 and size % 2 == 0:
                inner.insert(0, Digit(2, digit.axis, stride))
                size, stride = size // 2, stride * 2
            parts += ([Digit(size, digit.axis, stride)] if size > 1 else []) + inner
        result.append(parts)
    return result


@cached_per_machine(4096)
def places(layout: Layout) -> Mapping[Place, Bit]:
    """The index bit that each bit of a hardware coordinate holds; bits that hold replicas are missing, and those that
    no element raises."""
    found: dict[Place, Bit] = {}
    for dim, (digits, extent) in enumerate(zip(atoms(layout), layout.shape, strict=True)):
        for i, digit in enumerate(digits):
            weight = prod(d.size for d in digits[i + 1 :])
            if digit.axis is not Axis.ADDRESS and weight < extent:
                found[digit.axis, digit.stride] = (dim, weight)
    return found


def _stay(source: Mapping[Place, Bit], target: Mapping[Place, Bit], axes: Iterable[Axis]) -> bool:
    """Whether nothing has to move along the axes: every coordinate bit is replicated before or the same after."""
    return all(bit == target.get(place) for place, bit in source.items() if place[0] in axes)


def may_copy(source: Layout, target: Layout) -> bool:
    """Whether copies inside the PEs can do."""
    return _stay(places(source), places(target), (Axis.L2B, Axis.L1B, Axis.MAB, Axis.PE))


def may_stay(source: Layout, target: Layout, axis: Axis) -> bool:
    """Whether moves within the coordinates of an axis can do."""
    return _stay(places(source), places(target), (axis,))


def may_transpose(source: Layout, target: Layout) -> bool:
    """Whether one transpose inside the MABs can do: all lanes of the target come from addresses or replicas."""
    a, b = places(source), places(target)
    lanes = (Axis.PE, Axis.W)
    before = {bit for place, bit in a.items() if place[0] in lanes}
    after = {bit for place, bit in b.items() if place[0] in lanes}
    return _stay(a, b, (Axis.L2B, Axis.L1B, Axis.MAB)) and not before & after


def may_hop(source: Layout, target: Layout) -> bool:
    """Whether one trip can do: long words stay together, and PEs keep their part or share everything afterwards."""
    a, b = places(source), places(target)
    if a.get((Axis.W, 1)) != b.get((Axis.W, 1)):
        return False
    everywhere = target.replicated_bits(Axis.PE) == chip().axis_size[Axis.PE] - 1
    return everywhere or _stay(a, b, (Axis.PE,))
