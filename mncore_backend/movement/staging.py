"""Emission of single hops over staging buffers; used by every plan."""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from mnc.mncore_backend.assembly.records import Mask, Memory
from mnc.mncore_backend.movement.paths import Path
from mnc.mncore_backend.movement.transfers import CYCLES, MV_UNIT, Form, PeStep
from mnc.mncore_backend.program import Buffer, BufferOperand, Builder, upper

ALIGNMENT = 256  # long words: the largest block of an L1BM or L2BM instruction


def staging(builder: Builder, memory: Memory, size: int, name: str) -> Buffer:
    """A temporary of an upper memory, aligned so that every instruction may address its blocks."""
    return builder.temporary(size, (memory,), name, alignment=ALIGNMENT)


def alternating(builder: Builder, memory: Memory, sizes: Sequence[int], name: str) -> list[Buffer]:
    """Two buffers (one if there is a single slice) that slices use in turn, returned per slice."""
    pair = [staging(builder, memory, max(sizes[i::2]), f"{name}{i}") for i in range(min(2, len(sizes)))]
    return [pair[i % 2] for i in range(len(sizes))]


def pe_operand(buffer: Buffer, step: PeStep, *, masked: bool) -> BufferOperand:
    """The PE side of a step. `masked` adds the fixed mask that silences idle cycles (destinations only)."""
    mask = None
    if masked and step.valid < CYCLES:
        # Under a mask of the other word length the LSB long of a 2-long destination would be written all the same.
        mask = Mask("1" * step.valid + "0" * (CYCLES - step.valid), two_long=step.form.two_long)
    return BufferOperand(buffer, tuple(2 * a for a in step.longs), 4 if step.form.two_long else 2, mask=mask)


def emit_down(builder: Builder, step: PeStep, source: Buffer, offset: int, destination: Buffer) -> None:
    builder.emit(
        step.form.opcode,
        [upper(source, offset, two_long=step.form.two_long)],
        [pe_operand(destination, step, masked=True)],
    )


def emit_up(
    builder: Builder, step: PeStep, source: Buffer, destination: Buffer, offset: int, *, summed: bool = False
) -> None:
    """PE -> L1BM; of copies in several MABs that of the first is taken, or (`summed`) they are parts and added up."""
    builder.emit(
        "l1bmrffadd" if summed else up_opcode(step.form),
        [pe_operand(source, step, masked=False)],
        [upper(destination, offset, two_long=step.form.two_long)],
        modifier="@0" if selects(step.form) and not summed else "",
    )


def up_opcode(form: Form) -> str:
    if form.up is None:
        raise ValueError(f"{form.opcode} has no upward counterpart")
    return form.up.rstrip("@")


def selects(form: Form) -> bool:
    return form.up is not None and form.up.endswith("@")


def emit_l2bm_down(
    builder: Builder, path: Path, source: Buffer, destination: Buffer, data: int, extent: int, start: int = 0
) -> None:
    """L2BM (from offset `start`) -> L1BM for `data` long words per L1B; blocks up to `extent` repeat the last one, so
    that nothing that the following step touches is left unwritten."""
    last = data // path.unit - 1
    for block in range(extent // path.unit):
        taken = min(block, last)
        target = upper(destination, block * path.unit)
        if path.sets is None:
            builder.emit("l2bmd", [upper(source, start + taken * 256)], [target])
            continue
        for number, representative in enumerate(path.sets):
            modifier = path.set_modifier(representative)
            builder.emit("l2bmb", [upper(source, start + number * data + taken * 64)], [target], modifier=modifier)


def emit_l2bm_up(
    builder: Builder, path: Path, source: Buffer, destination: Buffer, data: int, start: int = 0, *, summed: int = 0
) -> None:
    """L1BM -> L2BM (from offset `start`), one copy of every set, or the sum over the L1Bs that differ in the bits of
    `summed`."""
    for block in range(data // path.unit):
        origin = upper(source, block * path.unit)
        if path.sets is None:
            builder.emit("l2bmd", [origin], [upper(destination, start + block * 256)])
            continue
        for number, representative in enumerate(path.sets):
            target = upper(destination, start + number * data + block * 64)
            if summed:
                modifier = "" if summed == 7 else f"@{representative}/{summed}"
                builder.emit("l2bmrffadd", [origin], [target], modifier=modifier)
            else:
                builder.emit("l2bm", [origin], [target], modifier=f"@{representative}")


def bring_back(builder: Builder, pdm: Buffer, back: Buffer, address: NDArray[np.int64]) -> None:
    """PDM -> L2BM for the MV units at `address` [L2B, unit], in runs of consecutive ones; by broadcast if all L2Bs want
    the same."""
    alike = (address == address[0]).all()
    for left, row in enumerate(address[:1] if alike else address):
        starts = [0, *(int(i) + 1 for i in np.flatnonzero(np.diff(row) != MV_UNIT)), len(row)]
        for first, end in pairwise(starts):
            origin, offset, size = upper(pdm, int(row[first]), group=0), first * MV_UNIT, (end - first) * MV_UNIT
            if alike:
                builder.emit("mvb", [origin], [upper(back, offset)], size=size)
            else:
                builder.emit("mvp", [origin], [upper(back, offset, group=left >> 1, l2b=left & 1)], size=size)
