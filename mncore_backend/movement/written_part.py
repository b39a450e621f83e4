"""The part of a target that a movement writes, where it writes one part: a tensor of a concatenation, say.

The parts of many concatenations look alike, wherever in their whole they stand. A movement into such a part is planned
once, and the others are the same at other addresses.
"""

from dataclasses import replace
from math import prod
from typing import NamedTuple

import numpy as np

from mnc.mncore_backend.layout import Axis, Layout
from mnc.mncore_backend.movement.local import LONG
from mnc.mncore_backend.movement.scope import Index
from mnc.mncore_backend.program import AnyOperand, Buffer, BufferOperand, MachineOp


class WrittenPart(NamedTuple):
    """Consecutive long words of a target, from long word `first` on, as a tensor of its own: its layout, and the map
    of its elements."""

    layout: Layout
    index_map: Index
    first: int

    def buffer(self, whole: Buffer) -> Buffer:
        """What stands for the part of this buffer while it is planned. Whoever needs even addresses gets them only if
        they are even in the whole."""
        alignment = whole.alignment if self.first % whole.alignment == 0 else 1
        return Buffer(whole.name, self.layout.local_size, whole.choices, alignment, whole.memory)


def written_part(layout: Layout, index_map: Index) -> WrittenPart | None:
    """The shortest part that has all elements which a map names: some values of the address digit with the largest
    stride, if that is the outermost of its dimension. None if it has all of its values, or there is no such digit."""
    found = _outermost(layout)
    if found is None:
        return None
    dim, place = found
    digits = layout.dims[dim]
    inner = prod(digit.size for digit in digits[place + 1 :])
    by_element = index_map.reshape(layout.shape)
    named = np.flatnonzero((by_element >= 0).any(axis=tuple(d for d in range(by_element.ndim) if d != dim)))
    if not named.size:
        return None
    first, last = int(named[0]) // inner, int(named[-1]) // inner
    if last - first + 1 == digits[place].size:
        return None
    elements = range(first * inner, min(layout.shape[dim], (last + 1) * inner))
    shape = *layout.shape[:dim], len(elements), *layout.shape[dim + 1 :]
    own = *digits[:place], replace(digits[place], size=last - first + 1), *digits[place + 1 :]
    part = np.take(by_element, elements, axis=dim).reshape(-1)
    return WrittenPart(
        Layout(shape, (*layout.dims[:dim], own, *layout.dims[dim + 1 :])), part, first * digits[place].stride
    )


def _outermost(layout: Layout) -> tuple[int, int] | None:
    """Dimension and place of the address digit with the largest stride, if no digit of its dimension counts more."""
    addresses = [
        (digit.stride, dim, place)
        for dim, digits in enumerate(layout.dims)
        for place, digit in enumerate(digits)
        if digit.axis is Axis.ADDRESS and digit.size > 1
    ]
    if not addresses:
        return None
    _, dim, place = max(addresses)
    return None if any(digit.size > 1 for digit in layout.dims[dim][:place]) else (dim, place)


def at_its_place(op: MachineOp, part: Buffer, whole: Buffer, first: int) -> MachineOp:
    """An operation that writes a part of a target in the whole of it, from long word `first` on."""

    def moved(operand: AnyOperand) -> AnyOperand:
        if not isinstance(operand, BufferOperand) or operand.buffer is not part:
            return operand
        return operand._replace(buffer=whole, offsets=tuple(LONG * first + offset for offset in operand.offsets))

    return replace(op, sources=tuple(map(moved, op.sources)), destinations=tuple(map(moved, op.destinations)))
