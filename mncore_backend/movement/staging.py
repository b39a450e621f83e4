"""Emission of single hops over staging buffers; used by every plan."""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from mnc.mncore_backend.assembly.records import Mask, Memory
from mnc.mncore_backend.movement.compose import ANY
from mnc.mncore_backend.movement.estimate import counted
from mnc.mncore_backend.movement.paths import Path
from mnc.mncore_backend.movement.transfers import CYCLES, MV_UNIT, Form, PeStep, alignment, distinct_unit
from mnc.mncore_backend.program import Buffer, BufferOperand, Builder, upper
from mnc.mncore_backend.target import chip

MOST_SINGLE = 3  # L2Bs from which on what all of them want is broadcast


def staging(builder: Builder, memory: Memory, size: int, name: str) -> Buffer:
    """A temporary of an upper memory, aligned so that every instruction may address its blocks."""
    return builder.temporary(size, (memory,), name, alignment=alignment())


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
    builder: Builder, path: Path, source: Buffer, destination: Buffer, data: int, extent: int, start: int = 0,
    places: Sequence[int] | None = None,
) -> None:  # fmt: skip
    """L2BM (from offset `start`) -> L1BM for `data` long words per L1B; blocks up to `extent` repeat the last one, so
    that nothing that the following step touches is left unwritten. `places` are the numbers of the blocks in L2BM, as
    they follow each other set by set; None: 0, 1, 2 ..."""
    blocks = extent // path.unit
    if counted(builder, blocks * (1 if path.sets is None else len(path.sets))):
        return
    last = data // path.unit - 1

    def block_at(number: int) -> int:
        return number if places is None else places[number]

    for block in range(blocks):
        taken = min(block, last)
        target = upper(destination, block * path.unit)
        if path.sets is None:
            builder.emit("l2bmd", [upper(source, start + block_at(taken) * distinct_unit())], [target])
            continue
        for number, representative in enumerate(path.sets):
            origin = start + block_at(number * data // MV_UNIT + taken) * MV_UNIT
            builder.emit("l2bmb", [upper(source, origin)], [target], modifier=path.set_modifier(representative))


def emit_l2bm_up(
    builder: Builder, path: Path, source: Buffer, destination: Buffer, data: int, start: int = 0, *, summed: int = 0
) -> None:
    """L1BM -> L2BM (from offset `start`), one copy of every set, or the sum over the L1Bs that differ in the bits of
    `summed`."""
    for block in range(data // path.unit):
        origin = upper(source, block * path.unit)
        if path.sets is None:
            builder.emit("l2bmd", [origin], [upper(destination, start + block * distinct_unit())])
            continue
        for number, representative in enumerate(path.sets):
            target = upper(destination, start + number * data + block * path.unit)
            if summed:
                modifier = "" if summed == chip().l1bs_per_l2b - 1 else f"@{representative}/{summed}"
                builder.emit("l2bmrffadd", [origin], [target], modifier=modifier)
            else:
                builder.emit("l2bm", [origin], [target], modifier=f"@{representative}")


def exchange(
    builder: Builder, l2bm: Buffer, width: int, lefts: Sequence[int], wanted: NDArray[np.int64], into: Buffer
) -> None:
    """L2BM -> PDM -> L2BM. The first `width` long words of `l2bm` are exchanged in MV units. `wanted[L2B, i]` is what
    unit i of `into` shall be: r * (units in `width`) + number of the unit in the L2B lefts[r]; ANY leaves it alone.

    Every group brings what its L2Bs hold into its own PDM: all groups do so at once, and none reads what the others
    read."""
    per_group = chip().l2bs_per_group
    halves = sorted({left % per_group for left in lefts})
    pdm = builder.temporary(width * len(halves), (Memory.PDM,), f"{into.name}_pdm", alignment=MV_UNIT)
    for i, half in enumerate(halves):
        builder.emit("mvp", [upper(l2bm, l2b=half)], [upper(pdm, i * width)], size=width)
    rank, unit = np.divmod(wanted, width // MV_UNIT)
    left = np.asarray(lefts)[rank]
    address = np.searchsorted(halves, left % per_group) * width + unit * MV_UNIT
    group = np.where(wanted == ANY, ANY, left // per_group)
    _bring_back(builder, pdm, into, group, np.where(wanted == ANY, ANY, address))


def _bring_back(
    builder: Builder, pdm: Buffer, back: Buffer, group: NDArray[np.int64], address: NDArray[np.int64]
) -> None:
    """PDM -> L2BM for the MV units [L2B, unit] at `address` of the PDM of `group`, in runs of consecutive ones: by
    broadcast those that many L2Bs want and all others can do with, in all groups at once if each wants the same of its
    own PDM."""
    common_group, alike = _agreed(group)
    common, together = _agreed(address)
    shared = alike & together & ((group != ANY).sum(axis=0) >= MOST_SINGLE)
    for first, end in _runs(np.where(shared, common_group, ANY), common):
        origin = upper(pdm, int(common[first]), group=int(common_group[first]))
        builder.emit("mvb", [origin], [upper(back, first * MV_UNIT)], size=(end - first) * MV_UNIT)
    group = np.where(shared, ANY, group)
    each = chip().l2bs_per_group
    own = np.arange(len(group)).reshape(-1, 1) // each
    halves = [_agreed(np.where(group[half::each] == ANY, ANY, address[half::each])) for half in range(each)]
    if ((group == own) | (group == ANY)).all() and all(agree.all() for _, agree in halves):
        for half, (found, _) in enumerate(halves):
            for first, end in _runs(np.minimum(found, 0), found):  # no address is below 0 but ANY
                target = upper(back, first * MV_UNIT, l2b=half)
                builder.emit("mvp", [upper(pdm, int(found[first]))], [target], size=(end - first) * MV_UNIT)
        return
    for left in range(len(group)):
        for first, end in _runs(group[left], address[left]):
            origin = upper(pdm, int(address[left, first]), group=int(group[left, first]))
            target = upper(back, first * MV_UNIT, group=left // each, l2b=left % each)
            builder.emit("mvp", [origin], [target], size=(end - first) * MV_UNIT)


def _agreed(values: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """What all L2Bs [L2B, unit] want that want anything, and whether they agree."""
    top = values.max(axis=0)
    return top, ((values == top) | (values == ANY)).all(axis=0)


def _runs(group: NDArray[np.int64], address: NDArray[np.int64]) -> list[tuple[int, int]]:
    """Units that lie one behind the other in one PDM: first and end of each run. Nothing comes where the group, which
    says where one run ends, is ANY."""
    breaks = (np.diff(address) != MV_UNIT) | (np.diff(group) != 0)
    starts = [0, *(np.flatnonzero(breaks) + 1).tolist(), len(address)]
    return [(first, end) for first, end in pairwise(starts) if group[first] != ANY]
