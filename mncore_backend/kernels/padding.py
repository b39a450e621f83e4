"""Setting the words of a share that hold no element of the tensor to a given value.

Which words those are depends on the address, which is known here, and on the PE, which is not: the part of an index
that the hardware coordinates contribute is computed on the chip, compared with what the address leaves room for, and
the comparison masks the write. Addresses without padding cost nothing.
"""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from mnc.mncore_backend.assembly.records import Literal, Mask, Memory, Operand
from mnc.mncore_backend.layout import Axis, Layout
from mnc.mncore_backend.layout.layout import Field
from mnc.mncore_backend.program import COORDINATE, Buffer, BufferOperand, Builder, local

MASK_ENTRY = 15
_EVERYWHERE = -1  # threshold of addresses that hold padding only


@dataclass(frozen=True, slots=True)
class _Scalars:
    """Words that are the same in every cycle, one long word each."""

    builder: Builder

    def constant(self, value: int) -> BufferOperand:
        made = local(self.builder.temporary(1, name="padding"), [0])
        self.builder.emit("imm", (), [made], literal=Literal("i", str(value)))
        return made

    def apply(self, opcode: str, *sources: Operand | BufferOperand) -> BufferOperand:
        made = local(self.builder.temporary(1, name="padding"), [0])
        self.builder.emit(opcode, sources, [made])
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


def _digit(scalars: _Scalars, field: Field) -> BufferOperand:
    """The value of one hardware digit times its weight in the index."""
    if field.axis is Axis.W:
        both = scalars.constant(field.weight)
        first = local(scalars.builder.temporary(1, name="padding"), [0])
        scalars.builder.emit("immu", (), [first], literal=Literal("i", str(field.weight)))
        return scalars.apply("ixor", both, first)
    shift = scalars.constant(field.stride.bit_length() - 1)
    moved = scalars.apply("ilsr", Operand(COORDINATE[field.axis.value]), shift)
    return _times(scalars, scalars.apply("iand", moved, scalars.constant(field.size - 1)), field.weight)


def _coordinate_part(scalars: _Scalars, layout: Layout, dim: int) -> BufferOperand:
    """What the hardware coordinates contribute to the index of a dimension, per PE and word."""
    total: BufferOperand | None = None
    for field in layout.fields:
        if field.dim == dim and field.axis is not Axis.ADDRESS:
            term = _digit(scalars, field)
            total = term if total is None else scalars.apply("iadd", total, term)
    return scalars.constant(0) if total is None else total


def _address_parts(layout: Layout) -> tuple[np.ndarray, np.ndarray]:
    """Addresses in use, and the index contribution of each to every dimension [dims, addresses]."""
    fields = [field for field in layout.fields if field.axis is Axis.ADDRESS]
    grids = np.indices([field.size for field in fields]).reshape(len(fields), -1) if fields else np.zeros((0, 1), int)
    addresses = np.zeros(grids.shape[1], np.int64)
    parts = np.zeros((len(layout.shape), grids.shape[1]), np.int64)
    for values, field in zip(grids, fields, strict=True):
        addresses += values * field.stride
        parts[field.dim] += values * field.weight
    return addresses, parts


def _coordinate_values(layout: Layout, dim: int) -> list[int]:
    """What the hardware coordinates may contribute to the index of a dimension, in order."""
    found = {0}
    for field in layout.fields:
        if field.dim == dim and field.axis is not Axis.ADDRESS:
            found = {value + i * field.weight for value in found for i in range(field.size)}
    return sorted(found)


def _padded_addresses(layout: Layout) -> Iterator[tuple[int, int, list[int]]]:
    """(dimension, threshold, addresses): words are padding where the coordinate part reaches the threshold."""
    addresses, parts = _address_parts(layout)
    for dim, (extent, padded) in enumerate(zip(layout.shape, layout.padded_shape, strict=True)):
        if padded == extent:
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


def emit_fill_padding(builder: Builder, buffer: Buffer, layout: Layout, bits: int) -> None:
    """Write `bits` (a word, as a signed integer) to every word of `buffer` that holds no element under `layout`."""
    scalars = _Scalars(builder)
    groups = list(_padded_addresses(layout))
    if not groups:
        return
    value = scalars.constant(bits)
    parts: dict[int, BufferOperand] = {}
    for dim, threshold, addresses in groups:
        mask = None
        if threshold != _EVERYWHERE:
            if dim not in parts:
                parts[dim] = _coordinate_part(scalars, layout, dim)
            limit = scalars.constant(threshold)
            builder.emit("isub", [parts[dim], limit], [Operand(Memory.MASK, address=MASK_ENTRY)])
            mask = Mask(entry=MASK_ENTRY)
        _fill(builder, buffer, addresses, value, mask)
