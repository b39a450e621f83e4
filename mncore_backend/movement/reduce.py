"""Sums, maxima and minima of partial values over hardware axes, the result in every PE that held a part.

Order of the levels: word, PE and uneven subsets of MABs inside the PEs; then one climb for whole MABs or quads
(l1bmr, l1bmr4), L1Bs (l2bmr) and all L2Bs (mvr); L2B pairs last. All PEs of a set get bitwise the same result:
exchanges go from the most significant coordinate bit down and only combine operands that both sides hold.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np

from mnc.mncore_backend.assembly.records import Mask, Memory, Operand
from mnc.mncore_backend.layout import HARDWARE_AXES, Axis, Layout, addresses_in_use
from mnc.mncore_backend.movement.local import LONG, access, constant, copy
from mnc.mncore_backend.movement.paths import Path
from mnc.mncore_backend.movement.room import half_of_l2bm, room
from mnc.mncore_backend.movement.staging import emit_down, emit_l2bm_down, emit_l2bm_up, exchange, pe_operand, staging
from mnc.mncore_backend.movement.transfers import (
    CYCLES,
    L2BM_UNIT,
    MV_UNIT,
    SHARE_UNIT,
    Family,
    PeStep,
    distinct_unit,
    pe_families,
    pe_steps,
    placed,
)
from mnc.mncore_backend.pricing.reduction import MOST_BY_PDM
from mnc.mncore_backend.program import Buffer, BufferOperand, Builder, local, spare_lanes, upper, with_mask
from mnc.mncore_backend.target import MABS_PER_QUAD, chip

# kind -> (reduction of the transfers, operation of the PE). The sum runs on the MAU, which normalises its result.
KINDS = {"sum": ("ffadd", "fvadd"), "max": ("fmax", "fmax"), "min": ("fmin", "fmin")}

QUAD = MABS_PER_QUAD - 1  # bits of the MABs of a quad


def plan_reduce(
    builder: Builder,
    kind: str,
    layout: Layout,
    source: Buffer,
    axes: Mapping[Axis, int],
    target: Buffer,
) -> None:
    """Combine the partial values that PEs differing in the given coordinate bits hold at the same address.

    `axes` maps a hardware axis to the mask of its coordinate bits; the layout must not select those bits (it describes
    the result, replicated over them). `target` receives the result and may be `source`. Raises ValueError.
    """
    if kind not in KINDS:
        raise ValueError(f"unknown reduction {kind}; known: {', '.join(KINDS)}")
    bits = {axis: axes.get(axis, 0) for axis in HARDWARE_AXES}
    for axis, mask in bits.items():
        if mask & ~layout.replicated_bits(axis):
            raise ValueError(f"{layout} distributes data along bits {mask:#x} of {axis.value}: nothing to reduce there")
    if bits[Axis.MAB] and kind != "sum" and layout.replicated_bits(Axis.MAB) == _all_mabs():
        bits[Axis.MAB] = _all_mabs()  # copies change neither maximum nor minimum, and one transfer takes all MABs
    run = _Reduction(builder, kind, layout, addresses_in_use(layout), bits, source, target)
    run.local()
    run.climb()
    run.pairs_of_l2b()
    run.finish()


def climbing_form(kind: str, layout: Layout, mabs: int) -> tuple[Family, str]:
    """Rates, and the upward opcode of a step, for a reduction over these MAB bits (none, those in quads, or all)."""
    reduction = KINDS[kind][0]
    if mabs == _all_mabs():
        return pe_families().mabs, f"l1bmr{reduction}"
    if mabs == QUAD:
        return pe_families().quads, f"l1bmr4{reduction}"
    if layout.replicated_bits(Axis.MAB) == _all_mabs():
        return pe_families().mabs, "l1bmm"
    return pe_families().distinct, "l1bmd"


def _all_mabs() -> int:
    """All bits of the coordinate of a MAB."""
    return chip().mabs_per_l1b - 1


def _all_l2bs() -> int:
    """All bits of the coordinate of an L2B."""
    return chip().l2bs - 1


def _bits_of(mask: int) -> list[int]:
    """Single bits, the most significant first."""
    return [1 << i for i in reversed(range(mask.bit_length())) if mask >> i & 1]


def _apart() -> Path:
    """Every L1B keeps data of its own."""
    return Path(pe_families().distinct, None)


@dataclass(slots=True)
class _Reduction:
    builder: Builder
    kind: str
    layout: Layout
    addresses: list[int]
    bits: dict[Axis, int]
    current: Buffer  # where the values are
    target: Buffer
    mask: int = 0  # the register that chooses PEs by position

    # Inside the MAB and by shifts ------------------------------------------------------------------------------------

    def local(self) -> None:
        """Words, PEs, and MAB bits that no reducing transfer covers."""
        shifts = self._shifted_mabs()
        if not (self.bits[Axis.W] or self.bits[Axis.PE] or shifts):
            return
        others: list[Callable[[BufferOperand], BufferOperand]] = []
        if self.bits[Axis.W]:
            one = constant(self.builder, 32, "half")
            others.append(lambda value: self._unary("lbsl", value, one))
        for bit in (2, 1):
            if self.bits[Axis.PE] & bit:
                others.append(partial(self._other_pe, bit=bit))
        others += [partial(self._other_mab, bit=bit, mask=self.bits[Axis.MAB]) for bit in shifts]
        for first in range(0, len(self.addresses), CYCLES):
            value, target = self._part(self.addresses[first : first + CYCLES])
            for other in others[:-1]:
                value = self._combine(value, other(value), self._temporary())
            self._combine(value, others[-1](value), target)
        self.current = self.target

    def _part(self, addresses: list[int]) -> tuple[BufferOperand, BufferOperand]:
        """Operands for the values and the results of up to four addresses. Cycles without work write where no element
        is, or repeat the last address: they read, compute and write there what it gets in any case."""
        active = "1" * len(addresses) + "0" * (CYCLES - len(addresses))
        whole = addresses + addresses[-1:] * (CYCLES - len(addresses))
        if self.current is self.target or self.target.spare < active.count("0"):
            return local(self.current, whole), local(self.target, whole)
        read = spare_lanes(self.current, whole, active, write=False)
        return local(self.current, read), local(self.target, spare_lanes(self.target, whole, active, write=True))

    def _shifted_mabs(self) -> list[int]:
        mask = self.bits[Axis.MAB]
        return [] if mask in (0, QUAD, _all_mabs()) else _bits_of(mask)

    def _temporary(self, memory: Memory = Memory.GRF0) -> BufferOperand:
        return local(self.builder.temporary(CYCLES, (memory,), "partial"), range(CYCLES))

    def _combine(self, value: BufferOperand, other: BufferOperand, result: BufferOperand) -> BufferOperand:
        self.builder.emit(KINDS[self.kind][1], [value, other], [result])
        return result

    def _unary(self, opcode: str, value: BufferOperand, second: Buffer | None = None) -> BufferOperand:
        result = self._temporary(Memory.GRF1)
        self.builder.emit(opcode, [value, *([local(second, [0])] if second else [])], [result])
        return result

    def _other_pe(self, value: BufferOperand, bit: int) -> BufferOperand:
        """The value of PE p ^ bit. A rotation does if all PEs above that bit hold the same already."""
        once = self._unary("msl", value)
        if bit == 2:
            return self._unary("msl", once)
        if not self.bits[Axis.PE] & 2:
            self._select(Memory.SUBPEID, bit)
            self.builder.emit("msr", [value], [self._masked(once)])
        return once

    def _other_mab(self, value: BufferOperand, bit: int, mask: int) -> BufferOperand:
        """The value of MAB m ^ bit by a shift through the turnaround register; MABs with the bit clear take it from the
        other side."""
        result = self._temporary(Memory.GRF1)
        self._shift(value, f"+{bit}", result)
        higher = _all_mabs() & -2 * bit
        if mask & higher != higher:
            self._select(Memory.MABID, bit)
            self._shift(value, f"-{bit}", self._masked(result))
        return result

    def _shift(self, value: BufferOperand, distance: str, result: BufferOperand) -> None:
        """Both ways name the distance, the register holds the values unshifted."""
        self.builder.emit("l1bmd", [value], [Operand(Memory.TURNAROUND, LONG)], modifier=distance)
        self.builder.emit("l1bmd", [Operand(Memory.TURNAROUND, LONG)], [result], modifier=distance)

    def _select(self, position: Memory, bit: int) -> None:
        """Mask register: PEs whose position has the bit clear (the flag of `land` is set by zero)."""
        wanted = constant(self.builder, bit, "bit")
        self.mask = self.builder.masks[0]
        self.builder.masks.rotate(-1)
        self.builder.emit("iand", [Operand(position), local(wanted, [0])], [Operand(Memory.MASK, address=self.mask)])

    def _masked(self, operand: BufferOperand) -> BufferOperand:
        return with_mask(operand, Mask(entry=self.mask))

    # Up and down -----------------------------------------------------------------------------------------------------

    def climb(self) -> None:
        """MABs (all or inside quads), L1Bs, and all L2Bs."""
        mabs = self.bits[Axis.MAB] if self.bits[Axis.MAB] in (QUAD, _all_mabs()) else 0
        everywhere = self.bits[Axis.L2B] == _all_l2bs()
        if mabs or self.bits[Axis.L1B] or everywhere:
            self._climb(mabs, everywhere, self.target)
            self.current = self.target

    def _climb(self, mabs: int, everywhere: bool, target: Buffer) -> None:
        family, opcode = climbing_form(self.kind, self.layout, mabs)
        two_long = self.current.alignment % 2 == 0 and target.alignment % 2 == 0
        steps = pe_steps(self.addresses, family, two_long=two_long)
        if not self.bits[Axis.L1B] and not everywhere:
            self._turn_around(steps, opcode, target)
            return
        per_slice = max(1, self._slice() // max(step.form.block for step in steps))
        for first in range(0, len(steps), per_slice):
            self._climb_slice(steps[first : first + per_slice], opcode, everywhere, target)

    def _slice(self) -> int:
        """Long words of an L1BM that climb at a time."""
        return min(room(Memory.L1BM, 1, 8), room(Memory.L2BM, 1, 4) // chip().l1bs_per_l2b)

    def _turn_around(self, steps: list[PeStep], opcode: str, target: Buffer) -> None:
        """Reduce in the L1B, down again from the turnaround register in the next step."""
        for step in steps:
            register = Operand(Memory.TURNAROUND, 2 * LONG if step.form.two_long else LONG)
            self.builder.emit(opcode, [pe_operand(self.current, step, masked=False)], [register])
            self.builder.emit(step.form.opcode, [register], [pe_operand(target, step, masked=True)])

    def _climb_slice(self, steps: list[PeStep], opcode: str, everywhere: bool, target: Buffer) -> None:
        # Shorter steps come last here and every step keeps its whole block: both directions use the same offsets.
        steps = sorted(steps, key=lambda step: -step.form.block)
        offsets = [sum(step.form.block for step in steps[:i]) for i in range(len(steps) + 1)]
        size = -(-offsets[-1] // MV_UNIT) * MV_UNIT
        l1bm = staging(self.builder, Memory.L1BM, max(size, offsets[-1]), "reduce")
        modifier = "@0" if opcode == "l1bmm" else ""
        for offset, step in zip(offsets, steps, strict=False):
            self._up(step, l1bm, offset, opcode, modifier)
        end = offsets[-1]
        while end < size:
            self._up(steps[-1], l1bm, end, opcode, modifier)
            end += steps[-1].form.block
        l1bm = self._through_l2bm(l1bm, size, everywhere)
        for offset, step in zip(offsets, steps, strict=False):
            origin = upper(l1bm, offset, two_long=step.form.two_long)
            self.builder.emit(step.form.opcode, [origin], [pe_operand(target, step, masked=True)])

    def _up(self, step: PeStep, l1bm: Buffer, offset: int, opcode: str, modifier: str) -> None:
        self.builder.emit(
            opcode,
            [pe_operand(self.current, step, masked=False)],
            [upper(l1bm, offset, two_long=step.form.two_long)],
            modifier=modifier,
        )

    def _through_l2bm(self, l1bm: Buffer, size: int, everywhere: bool) -> Buffer:
        """L1BM -> L2BM (-> PDM -> L2BM) -> L1BM, reducing on the way up."""
        free = self.layout.replicated_bits(Axis.L1B)
        reduced = self.bits[Axis.L1B]
        l1bs = chip().l1bs_per_l2b
        sets = [b for b in range(l1bs) if b & free == 0]
        apart = not reduced and len(sets) > 2  # nothing to reduce: l2bmd moves four times as much
        l2bm = staging(self.builder, Memory.L2BM, size * (l1bs if apart else len(sets)), "reduce")
        for block in range(size // (SHARE_UNIT if apart else L2BM_UNIT)):
            if apart:
                self.builder.emit("l2bmd", [upper(l1bm, SHARE_UNIT * block)], [upper(l2bm, distinct_unit() * block)])
                continue
            for i, b in enumerate(sets):
                opcode, modifier = self._l2bm_up(b, reduced)
                target = upper(l2bm, i * size + L2BM_UNIT * block)
                self.builder.emit(opcode, [upper(l1bm, L2BM_UNIT * block)], [target], modifier=modifier)
        if everywhere:
            l2bm = self._all_l2b(l2bm)
        down = staging(self.builder, Memory.L1BM, l1bm.size, "reduced")
        for block in range(size // (SHARE_UNIT if apart else L2BM_UNIT)):
            if apart:
                self.builder.emit("l2bmd", [upper(l2bm, distinct_unit() * block)], [upper(down, SHARE_UNIT * block)])
                continue
            for i, b in enumerate(sets):
                origin = upper(l2bm, i * size + L2BM_UNIT * block)
                modifier = "" if free == l1bs - 1 else f"@{b}/{free}"
                self.builder.emit("l2bmb", [origin], [upper(down, L2BM_UNIT * block)], modifier=modifier)
        return down

    def _l2bm_up(self, b: int, reduced: int) -> tuple[str, str]:
        if not reduced:
            return "l2bm", f"@{b}"
        return f"l2bmr{KINDS[self.kind][0]}", "" if reduced == chip().l1bs_per_l2b - 1 else f"@{b}/{reduced}"

    def _all_l2b(self, l2bm: Buffer) -> Buffer:
        """By way of PDM, or of the DRAMs, which take and give four times as much per cycle."""
        size = l2bm.size
        if size <= MOST_BY_PDM:
            pdm = self.builder.temporary(size, (Memory.PDM,), "reduce", alignment=MV_UNIT)
            between = upper(pdm, group=0)
        else:
            share = size // chip().groups
            between = upper(self.builder.program.buffer("sums", share, (Memory.DRAM,), alignment=MV_UNIT, pinned=True))
        self.builder.emit(f"mvr{KINDS[self.kind][0]}", [upper(l2bm)], [between], size=size)
        result = staging(self.builder, Memory.L2BM, size, "reduced")
        self.builder.emit("mvb", [between], [upper(result)], size=size)
        return result

    # Some of the L2Bs ------------------------------------------------------------------------------------------------

    def pairs_of_l2b(self) -> None:
        """Exchange with the L2B that differs in one bit, through PDM, and combine in the PEs."""
        mask = self.bits[Axis.L2B]
        for bit in _bits_of(mask) if mask != _all_l2bs() else ():
            other = self.builder.temporary(self.target.size, self.target.choices, "exchanged")
            self._exchange(bit, other)
            self._add(other)
            self.current = self.target

    def _exchange(self, bit: int, other: Buffer) -> None:
        family = pe_families().distinct
        steps = [
            step
            for first in range(0, len(self.addresses), CYCLES)
            for step in pe_steps(self.addresses[first : first + CYCLES], family, two_long=False)
        ]
        most = max(1, half_of_l2bm() // (chip().l1bs_per_l2b * steps[0].form.block))  # the other half receives
        for first in range(0, len(steps), most):
            self._exchange_part(bit, steps[first : first + most], other)

    def _exchange_part(self, bit: int, steps: list[PeStep], other: Buffer) -> None:
        size = sum(step.form.block for step in steps)
        l1bm = staging(self.builder, Memory.L1BM, size, "exchange")
        for offset, step in placed(steps):
            self._up(step, l1bm, offset, "l1bmd", "")
        wide = chip().l1bs_per_l2b * size
        l2bm, back = (staging(self.builder, Memory.L2BM, wide, name) for name in ("exchange", "back"))
        emit_l2bm_up(self.builder, _apart(), l1bm, l2bm, size)
        lefts, units = np.arange(chip().l2bs), np.arange(l2bm.size // MV_UNIT)
        exchange(self.builder, l2bm, l2bm.size, lefts.tolist(), (lefts[:, np.newaxis] ^ bit) * len(units) + units, back)
        down = staging(self.builder, Memory.L1BM, size, "exchanged")
        emit_l2bm_down(self.builder, _apart(), back, down, size, size)
        for offset, step in placed(steps):
            emit_down(self.builder, step, down, offset, other)

    def _add(self, other: Buffer) -> None:
        for first in range(0, len(self.addresses), CYCLES):
            part = self.addresses[first : first + CYCLES]
            pairs = [(LONG * a, LONG * k) for k, a in enumerate(part)]
            words = [LONG * k for k in range(len(part))]
            mine, theirs = self._temporary().buffer, self._temporary(Memory.GRF1).buffer
            copy(self.builder, self.current, mine, pairs)
            copy(self.builder, other, theirs, pairs)
            target = access(self.target, [LONG * a for a in part], LONG)
            opcode = KINDS[self.kind][1]
            self.builder.emit(opcode, [access(mine, words, LONG), access(theirs, words, LONG)], [target])

    def finish(self) -> None:
        """The result may still stand where the partial values were."""
        if self.current is not self.target:
            copy(self.builder, self.current, self.target, [(LONG * a, LONG * a) for a in self.addresses])
