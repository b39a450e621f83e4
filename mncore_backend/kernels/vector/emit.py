"""Emission of vector kernels: four iterations per step, several such groups side by side so that the scheduler finds
independent work (the write latency of the register files is two steps)."""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from mnc.core.diagnostics import InternalError
from mnc.mncore_backend.assembly.records import Mask, Memory, Operand
from mnc.mncore_backend.kernels.vector.body import LANES, Access, Body, Scalar, VectorKernel
from mnc.mncore_backend.kernels.vector.cleanup import coalesce_copies, remove_unused
from mnc.mncore_backend.kernels.vector.constants import ConstantPool
from mnc.mncore_backend.kernels.vector.expand import Expander
from mnc.mncore_backend.kernels.vector.inputs import last_written
from mnc.mncore_backend.kernels.vector.place import flatten, units_of
from mnc.mncore_backend.kernels.vector.placed import Place, Placed, Unit
from mnc.mncore_backend.kernels.vector.registers import MASK_ENTRIES, assign_slots, flags_of, greatest_flag_count
from mnc.mncore_backend.program import (
    LOCAL_MEMORY,
    REGISTER_FILE,
    AnyOperand,
    Buffer,
    BufferOperand,
    Builder,
    local,
    spare_lanes,
    with_mask,
)
from mnc.mncore_backend.target import chip

GROUPS = 6  # groups side by side, at most


def register_budget() -> int:
    """Long words of each register file for temporaries; accumulators and constants need the rest."""
    return chip().memories[Memory.GRF0].longs * 9 // 16


@dataclass(frozen=True, slots=True)
class Group:
    """Four iterations. `active` marks those whose outputs count; the others repeat an active one, which is harmless
    for plain stores but not for accumulation."""

    iterations: tuple[int, int, int, int]
    active: str = "1111"


def groups_of(iterations: Sequence[int]) -> list[Group]:
    """Consecutive iterations in fours; the last group repeats its last iteration."""
    groups = []
    for start in range(0, len(iterations), LANES):
        chunk = [int(i) for i in iterations[start : start + LANES]]
        active = "1" * len(chunk) + "0" * (LANES - len(chunk))
        a, b, c, d = chunk + chunk[-1:] * (LANES - len(chunk))
        groups.append(Group((a, b, c, d), active))
    return groups


def emit_vector(builder: Builder, kernel: VectorKernel, constants: ConstantPool | None = None) -> None:
    """Write the operations of `kernel`. `constants` may be shared by the kernels of a program."""
    from mnc.mncore_backend.kernels.vector.reduce import emit_reductions

    if kernel.iterations == 0:
        return
    pool = constants or ConstantPool(builder)
    if any(output.reduce for output in kernel.outputs):
        emit_reductions(builder, kernel, pool)
        return
    outputs = [(output.access, output.value) for output in kernel.outputs]
    emitter = MapEmitter(builder, kernel.body, kernel.inputs, outputs, pool)
    emitter.emit(groups_of(range(kernel.iterations)))


@dataclass(slots=True)
class MapEmitter:
    """One body, expanded and placed, ready to be emitted for any groups of its iterations."""

    builder: Builder
    body: Body
    inputs: tuple[Access, ...]
    outputs: list[tuple[Access, Scalar]]
    pool: ConstantPool
    _units: list[Unit] = field(init=False)
    _sequence: list[Placed] = field(init=False)

    def __post_init__(self) -> None:
        repeats = len(self.outputs[0][0].offsets) > LANES * GROUPS
        expander = Expander(self.body, [scalar for _, scalar in self.outputs], repeats=repeats)
        values = [expander.m.plain(expander.value(scalar)) for _, scalar in self.outputs]
        instructions, values = coalesce_copies(expander.m.instructions, values)
        instructions = remove_unused(instructions, {value.number for value in values if value.kind == "register"})
        placed_outputs = [(access, value) for (access, _), value in zip(self.outputs, values, strict=True)]
        floats = {number for number, (_, scalar) in enumerate(self.outputs) if scalar.type == "f32"}
        arrivals = last_written(self.builder.program, [access.buffer for access in self.inputs])
        self._units = units_of(instructions, self.inputs, placed_outputs, floats, arrivals, repeats=repeats)
        self._sequence = flatten(self._units)

    def emit(self, groups: Sequence[Group]) -> None:
        """Emit the groups, which must be independent of each other."""
        for placed in self._sequence:  # now, because an immediate must not come between a latch and its reader
            for place in placed.sources:
                if place.kind == "constant":
                    self.pool.operand(place.number, Memory(place.memory))
        width = self._parallel_groups(len(groups))
        batches = [groups[start : start + width] for start in range(0, len(groups), width)]
        sets = self._register_sets(width, min(2, len(batches)))
        for number, batch in enumerate(batches):
            self._emit_batch(batch, sets[number % len(sets)])

    def _parallel_groups(self, groups: int) -> int:
        slots = max(1, *assign_slots(self._sequence).count.values())
        flags = max(1, greatest_flag_count(self._sequence))
        sets = 1 if groups * slots * LANES <= register_budget() and groups <= GROUPS else 2
        by_registers = register_budget() // (LANES * slots * sets) or register_budget() // (LANES * slots)
        width = min(groups, GROUPS, by_registers, MASK_ENTRIES // flags)
        if width < 1:
            raise InternalError(f"a vector kernel needs {slots} long words of each register file, {flags} masks")
        return width

    def _register_sets(self, width: int, wanted: int) -> list["RegisterSet"]:
        needed = max(1, *assign_slots(self._sequence).count.values())
        sets = wanted if register_budget() // (LANES * width * needed) >= wanted else 1
        slots = assign_slots(self._sequence, spare=0)
        affordable = register_budget() // (LANES * width * sets)
        if affordable > needed:
            slots = assign_slots(self._sequence, spare=min(affordable, needed + 3))
        used = {key[1]: 1 + max(s for k, s in slots.slot.items() if k[1] == key[1]) for key in slots.slot}
        made = []
        for _ in range(sets):
            buffers = {
                file: [self.builder.temporary(LANES * width, (file,), "vector") for _ in range(used.get(file, 0))]
                for file in REGISTER_FILE
            }
            made.append(RegisterSet(buffers, slots.slot))
        return made

    def _emit_batch(self, batch: Sequence[Group], registers: "RegisterSet") -> None:
        masks = MaskAllocator(self._sequence, self.builder.masks)
        index = 0
        for unit in self._units:
            for position, group in enumerate(batch):
                for offset, placed in enumerate(unit):
                    self._emit_one(placed, group, position, registers, masks.entries(index + offset, position))
            index += len(unit)

    def _emit_one(
        self, placed: Placed, group: Group, position: int, registers: "RegisterSet", entries: dict[int, int]
    ) -> None:
        instruction = placed.instruction
        mask = None if instruction.write_flag is None else Mask(entry=entries[instruction.write_flag])
        sources = [self._operand(place, group, position, registers) for place in placed.sources]
        destinations: list[AnyOperand] = []  # after the sources: what is written is not there yet
        for place in placed.destinations:
            operand = self._operand(place, group, position, registers)
            assert isinstance(operand, BufferOperand)
            destinations.append(operand if mask is None else with_mask(operand, mask))
        if instruction.flag is not None:
            condition = mask if instruction.flag_and else None
            destinations.append(Operand(Memory.MASK, address=entries[instruction.flag], mask=condition))
        self.builder.emit(
            instruction.opcode,
            sources,
            destinations or (Operand(Memory.NOWRITE),),
            zero_flush=None if instruction.zero_flag is None else Mask(entry=entries[instruction.zero_flag]),
        )

    def _operand(self, place: Place, group: Group, position: int, registers: "RegisterSet") -> AnyOperand:
        if place.kind == "register":
            assert place.memory is not None
            buffer = registers.buffers[place.memory][registers.slot[place.number, place.memory]]
            first = LANES * position
            return local(buffer, range(first, first + LANES), negate=place.negated)
        if place.kind == "constant":
            assert place.memory is not None and not place.negated
            return self.pool.operand(place.number, place.memory)
        if place.kind == "latch":
            assert place.memory is not None
            return Operand(place.memory, negate=place.negated)
        if place.kind == "sign":
            return Operand(Memory.MSB1)
        write = place.kind == "output"
        access = self.outputs[place.number][0] if write else self.inputs[place.number]
        offsets = [int(o) for o in access.offsets[np.array(group.iterations)]]
        if self._is_spared(place.number, group) if write else self._may_read_anything(group):
            offsets = spare_lanes(access.buffer, offsets, group.active, write=write)
        return local(access.buffer, offsets, negate=place.negated)

    def _is_spared(self, number: int, group: Group) -> bool:
        """Whether what inactive lanes make of an output goes where no element is. (A local memory is read and written
        at the same addresses, so a buffer that is replaced in place is not.)"""
        buffer = self.outputs[number][0].buffer
        in_place = buffer.choices[0] in LOCAL_MEMORY and any(read.buffer is buffer for read in self.inputs)
        return group.active.count("0") <= buffer.spare and not in_place

    def _may_read_anything(self, group: Group) -> bool:
        """Whether nothing that inactive lanes make reaches an element."""
        return all(self._is_spared(number, group) for number in range(len(self.outputs)))


@dataclass(frozen=True, slots=True)
class RegisterSet:
    """Buffers of the slots (`LANES` long words for each of the groups side by side) and the slot of each register."""

    buffers: dict[Memory, list[Buffer]]
    slot: dict[tuple[int, Memory], int]


class MaskAllocator:
    """Mask register entries of the flags of a batch, handed out in the order of emission and reused round-robin."""

    def __init__(self, sequence: list[Placed], free: deque[int]) -> None:
        self._flags = [flags_of(placed) for placed in sequence]
        self._last = {flag: i for i, flags in enumerate(self._flags) for flag in flags}
        self._free = free
        self._held: dict[tuple[int, int], int] = {}

    def entries(self, index: int, position: int) -> dict[int, int]:
        """Entries of the flags of operation `index` for the group at `position`."""
        found = {}
        for flag in self._flags[index]:
            key = (flag, position)
            if key not in self._held:
                self._held[key] = self._free.popleft()
            found[flag] = self._held[key]
            if self._last[flag] == index:
                self._free.append(self._held.pop(key))
        return found
