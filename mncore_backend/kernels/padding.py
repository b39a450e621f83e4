"""Setting the words of a share that hold no element of the tensor to a given value.

Which words those are depends on the address, which is known here, and on the PE, which is not: the part of an index
that the hardware coordinates contribute is computed on the chip, compared with what the address leaves room for, and
the comparison masks the write. Addresses without padding cost nothing.
"""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial, reduce

import numpy as np

from mnc.mncore_backend.assembly.records import Literal, Mask, Memory, Operand
from mnc.mncore_backend.layout import Axis, Layout
from mnc.mncore_backend.layout.layout import Field
from mnc.mncore_backend.program import COORDINATE, LOCAL_MEMORY, Buffer, BufferOperand, Builder, local

MASK_ENTRY = 15
_EVERYWHERE = -1  # threshold of addresses that hold padding only


CoordinateParts = dict[tuple[tuple[Axis, int, int, int], ...], BufferOperand]
"""What hardware digits (axis, size, stride, weight) contribute to an index, where a program has it already."""


@dataclass(frozen=True, slots=True)
class _Scalars:
    """Words that are the same in every cycle, one long word each."""

    builder: Builder
    constants: dict[int, BufferOperand] = field(default_factory=dict)

    def constant(self, value: int) -> BufferOperand:
        if value not in self.constants:
            made = local(self.builder.temporary(1, name="padding"), [0])
            self.builder.emit("imm", (), [made], literal=Literal("i", str(value)))
            self.constants[value] = made
        return self.constants[value]

    def apply(self, opcode: str, *sources: Operand | BufferOperand) -> BufferOperand:
        made = local(self.builder.temporary(1, name="padding"), [0])
        self.builder.emit(opcode, sources, [made])
        return made

    def keep(self, value: BufferOperand) -> BufferOperand:
        """A copy where many may stay for long."""
        made = local(self.builder.temporary(1, LOCAL_MEMORY, "padding"), [0])
        self.builder.emit("lpassa", [value], [made])
        return made


def _times(scalars: _Scalars, value: BufferOperand, factor: int) -> BufferOperand:
    """value * factor by shifts and additions: the machine has no integer multiplication."""
    total: BufferOperand | None = None
    for bit in range(factor.bit_length()):
        if not factor >> bit & 1:
            continue
        term = scalars.apply("ilsl", value, scalars.constant(bit)) if bit else value
        total = term if total is None else scalars.apply("iadd", total, term)
    assert total is not None  # weights are positive
    return total


def _digit(scalars: _Scalars, digit: Field) -> BufferOperand:
    """The value of one hardware digit times its weight in the index."""
    if digit.axis is Axis.W:
        both = scalars.constant(digit.weight)
        first = local(scalars.builder.temporary(1, name="padding"), [0])
        scalars.builder.emit("immu", (), [first], literal=Literal("i", str(digit.weight)))
        return scalars.apply("ixor", both, first)
    shift = scalars.constant(digit.stride.bit_length() - 1)
    moved = scalars.apply("ilsr", Operand(COORDINATE[digit.axis.value]), shift)
    return _times(scalars, scalars.apply("iand", moved, scalars.constant(digit.size - 1)), digit.weight)


def _coordinate_part(scalars: _Scalars, layout: Layout, dim: int, known: CoordinateParts) -> BufferOperand:
    """What the hardware coordinates contribute to the index of a dimension, per PE and word."""
    digits = [own for own in layout.fields if own.dim == dim and own.axis is not Axis.ADDRESS]
    key = tuple((own.axis, own.size, own.stride, own.weight) for own in digits)
    if key not in known:
        terms = [_digit(scalars, own) for own in digits] or [scalars.constant(0)]
        known[key] = scalars.keep(reduce(partial(scalars.apply, "iadd"), terms))
    return known[key]


def _address_parts(layout: Layout) -> tuple[np.ndarray, np.ndarray]:
    """Addresses in use, and the index contribution of each to every dimension [dims, addresses]."""
    fields = [own for own in layout.fields if own.axis is Axis.ADDRESS]
    grids = np.indices([own.size for own in fields]).reshape(len(fields), -1) if fields else np.zeros((0, 1), int)
    addresses = np.zeros(grids.shape[1], np.int64)
    parts = np.zeros((len(layout.shape), grids.shape[1]), np.int64)
    for values, own in zip(grids, fields, strict=True):
        addresses += values * own.stride
        parts[own.dim] += values * own.weight
    return addresses, parts


def _coordinate_values(layout: Layout, dim: int) -> list[int]:
    """What the hardware coordinates may contribute to the index of a dimension, in order."""
    found = {0}
    for own in layout.fields:
        if own.dim == dim and own.axis is not Axis.ADDRESS:
            found = {value + i * own.weight for value in found for i in range(own.size)}
    return sorted(found)


def _padded_addresses(layout: Layout, dims: Collection[int] | None) -> Iterator[tuple[int, int, list[int]]]:
    """(dimension, threshold, addresses): words are padding where the coordinate part reaches the threshold."""
    addresses, parts = _address_parts(layout)
    for dim, (extent, padded) in enumerate(zip(layout.shape, layout.padded_shape, strict=True)):
        if padded == extent or (dims is not None and dim not in dims):
            continue
        values = _coordinate_values(layout, dim)
        groups: dict[int, list[int]] = defaultdict(list)
        for address, part in zip(addresses.tolist(), parts[dim].tolist(), strict=True):
            if part >= extent:
                groups[_EVERYWHERE].append(address)
            elif part + values[-1] >= extent:  # the next value that occurs: many addresses share it
                groups[values[bisect_left(values, extent - part)]].append(address)
        for threshold, found in sorted(groups.items()):
            yield dim, threshold, found


def _fill(builder: Builder, buffer: Buffer, addresses: Sequence[int], value: BufferOperand, mask: Mask | None) -> None:
    for start in range(0, len(addresses), 4):
        four = list(addresses[start : start + 4])
        four += four[-1:] * (4 - len(four))
        builder.emit("ipassa", [value], [local(buffer, four, mask=mask)])


def emit_fill_unused(builder: Builder, buffer: Buffer, layout: Layout, bits: int = 0) -> None:
    """Write `bits` (a word, as a signed integer) to addresses that hold padding in every PE: no transfer brings them, a
    kernel may read them."""
    addresses, parts = _address_parts(layout)
    outside = (parts >= np.array(layout.shape).reshape(-1, 1)).any(axis=0)
    if outside.any():
        _fill(builder, buffer, addresses[outside].tolist(), _Scalars(builder).constant(bits), None)


def emit_fill_padding(
    builder: Builder,
    buffer: Buffer,
    layout: Layout,
    bits: int,
    dims: Collection[int] | None = None,
    known: CoordinateParts | None = None,
) -> None:
    """Write `bits` (a word, as a signed integer) to every word of `buffer` that holds no element under `layout`; with
    `dims` to those beyond the extents of these dimensions. `known` are parts of indices that the program has computed
    for others, and takes what is computed here."""
    scalars = _Scalars(builder)
    groups = list(_padded_addresses(layout, dims))
    if not groups:
        return
    value = scalars.constant(bits)
    parts: dict[int, BufferOperand] = {}
    for dim, threshold, addresses in groups:
        mask = None
        if threshold != _EVERYWHERE:
            if dim not in parts:
                parts[dim] = _coordinate_part(scalars, layout, dim, {} if known is None else known)
            limit = scalars.constant(threshold)
            builder.emit("isub", [parts[dim], limit], [Operand(Memory.MASK, address=MASK_ENTRY)])
            mask = Mask(entry=MASK_ENTRY)
        _fill(builder, buffer, addresses, value, mask)
