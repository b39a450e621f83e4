"""Execution of MV transfers (SDM 3.5.7): values move at issue, in program order (OPEN-38)."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from mnc.mncore_backend.assembly.records import Memory, Operand, Transfer
from mnc.mncore_backend.emulator import kernels
from mnc.mncore_backend.emulator.geometry import geometry
from mnc.mncore_backend.emulator.mv_forms import check_places, check_size, form_of, with_named_l2b
from mnc.mncore_backend.emulator.reductions import split_reduction
from mnc.mncore_backend.emulator.state import State
from mnc.mncore_backend.emulator.taint import reduce_stage

U64 = NDArray[np.uint64]
Run = tuple[Memory, int, int, int]
"""(memory, instance, first long word, count) touched by a transfer."""

_SIZED = (Memory.L2BM, Memory.PDM, Memory.DRAM)


def instances_of(operand: Operand) -> list[int]:
    """Instances an operand names: groups for PDM and DRAM, linear L2Bs for L2BM."""
    if operand.memory is Memory.L2BM:
        if operand.l2b is None:
            return list(range(geometry().l2bs))
        groups = range(geometry().groups) if operand.group is None else (operand.group,)
        return [geometry().l2b(g, operand.l2b) for g in groups]
    return list(range(geometry().groups)) if operand.group is None else [operand.group]


def _dar_runs(state: State, operand: Operand, group: int, count: int, repeat: int) -> list[tuple[int, int]]:
    """(address, count) pieces of 16 long words of an indirect DRAM operand (OPEN-40: consecutive blocks)."""
    runs = []
    for block in range(-(-count // 16)):
        entry = (operand.address + block // repeat) % geometry().dar_entries
        address = 16 * int(state.dar[group, entry]) + 16 * (block % repeat)
        runs.append((address % geometry().dram_longs, min(16, count - 16 * block)))
    return runs


def runs_of(state: State, operand: Operand, count: int, repeat: int) -> list[Run]:
    """Every run of long words that one side of a transfer touches, `count` long words per instance."""
    runs: list[Run] = []
    for instance in instances_of(operand):
        if operand.memory is Memory.DRAM_INDIRECT:
            pieces = _dar_runs(state, operand, instance, count, repeat)
            runs += [(Memory.DRAM, instance, address, length) for address, length in pieces]
        else:
            size = geometry().longs[operand.memory]
            first = operand.address % size
            head = min(count, size - first)
            runs.append((operand.memory, instance, first, head))
            if head < count:
                runs.append((operand.memory, instance, 0, count - head))
    return runs


def read_run(state: State, run: Run) -> U64:
    """The long words of a run."""
    memory, instance, first, count = run
    if memory is Memory.DRAM:
        return state.dram[instance].read(first, count)
    array = state.l2bm if memory is Memory.L2BM else state.pdm
    return array[instance, first : first + count]


def write_run(state: State, run: Run, values: U64) -> None:
    """Store long words into a run."""
    memory, instance, first, count = run
    if memory is Memory.DRAM:
        state.dram[instance].write(first, values)
    else:
        array = state.l2bm if memory is Memory.L2BM else state.pdm
        array[instance, first : first + count] = values


def _gather(state: State, runs: list[Run], instances: list[int]) -> U64:
    """Values of all instances, [instance, count]."""
    rows = [np.concatenate([read_run(state, r) for r in runs if r[1] == i]) for i in instances]
    return np.stack(rows)


def _scatter(state: State, runs: list[Run], instances: list[int], values: U64) -> None:
    for row, instance in zip(values, instances, strict=True):
        done = 0
        for run in runs:
            if run[1] == instance:
                write_run(state, run, row[done : done + run[3]])
                done += run[3]


def _map_b2(x: U64) -> U64:
    units = x.reshape(geometry().groups, -1, 16).transpose(1, 0, 2)
    return np.broadcast_to(units.reshape(1, -1), (geometry().l2bs, units.size))


def _map_b4(x: U64) -> U64:
    halves = geometry().l2bs_per_group
    units = x.reshape(geometry().groups, -1, halves, 16).transpose(2, 1, 0, 3).reshape(halves, -1)
    return np.tile(units, (geometry().groups, 1))


def _map_d1(x: U64) -> U64:
    return x.reshape(-1, geometry().l2bs, 16).transpose(1, 0, 2).reshape(geometry().l2bs, -1)


def _map_d2(x: U64) -> U64:
    return x.reshape(geometry().l2bs, -1, 16).transpose(1, 0, 2).reshape(1, -1)


def _map_d3(x: U64) -> U64:
    return x.reshape(-1, geometry().groups, 16).transpose(1, 0, 2).reshape(geometry().groups, -1)


def _map_d4(x: U64) -> U64:
    return x.reshape(geometry().groups, -1, 16).transpose(1, 0, 2).reshape(1, -1)


_MAPS: dict[str, Callable[[U64], U64]] = {
    "B1": lambda x: np.broadcast_to(x, (geometry().l2bs, x.shape[1])),
    "B2": _map_b2,
    "B3": lambda x: np.repeat(x, geometry().l2bs_per_group, axis=0),
    "B4": _map_b4,
    "D1": _map_d1,
    "D2": _map_d2,
    "D3": _map_d3,
    "D4": _map_d4,
}  # the P forms move every instance unchanged


def _reduce(opcode: str, form: str, x: U64) -> U64:
    """The reducing forms: two-input circuits inside a group, then the four-input circuit between groups (OPEN-33)."""
    reduction = split_reduction(opcode, "mvr")
    groups, halves = geometry().groups, geometry().l2bs_per_group
    pairs = x.reshape(groups, halves, -1)

    def stage(stacked: U64) -> U64:
        if len(stacked) == 1:  # a circuit without anything to add
            return stacked[0]
        if stacked.dtype == np.uint8:  # poison instead of values
            return reduce_stage(reduction.precision, stacked)
        flat = np.ascontiguousarray(stacked.reshape(stacked.shape[0], -1))
        reduced = kernels.rrn_reduce(reduction.operation, reduction.precision, flat)
        return np.asarray(reduced).reshape(stacked.shape[1:])

    if form == "R4":
        across = stage(pairs)  # [l, n]
        return across.reshape(halves, -1, groups, 16).transpose(2, 1, 0, 3).reshape(groups, -1)
    inside = stage(pairs.transpose(1, 0, 2))  # [g, n]
    if form in ("R3", "R5"):
        return inside
    total = stage(inside)
    if form == "R1":
        return total.reshape(1, -1)
    return total.reshape(-1, groups, 16).transpose(1, 0, 2).reshape(groups, -1)


class MvPlan:
    """A decoded MV transfer: its form and the runs it reads and writes.

    Raises ValueError when the operands, the size or the options fit no form.
    """

    def __init__(self, state: State, transfer: Transfer) -> None:
        self.form = form_of(transfer)
        check_size(transfer, self.form)
        check_places(transfer)
        transfer = with_named_l2b(transfer, self.form)
        assert transfer.source is not None and transfer.destination is not None
        self.opcode = transfer.opcode
        self.size = transfer.size
        repeat = transfer.repeat or 1
        for operand, count in (
            (transfer.source, self.form.source_longs(transfer.size)),
            (transfer.destination, self.form.destination_longs(transfer.size)),
        ):
            if operand.memory in _SIZED and count > geometry().longs[operand.memory]:
                raise ValueError(f"size {transfer.size} is larger than {operand.memory.name}")
        self.source_instances = instances_of(transfer.source)
        self.destination_instances = instances_of(transfer.destination)
        self.same_group = transfer.source.group == transfer.destination.group
        self.wraps = any(
            operand.memory in _SIZED and operand.address + count > geometry().longs[operand.memory]
            for operand, count in (
                (transfer.source, self.form.source_longs(transfer.size)),
                (transfer.destination, self.form.destination_longs(transfer.size)),
            )
        )
        self._dar_entries = [
            (group, (operand.address + np.arange(-(-count // (16 * repeat)))) % geometry().dar_entries)
            for operand, count in (
                (transfer.source, self.form.source_longs(transfer.size)),
                (transfer.destination, self.form.destination_longs(transfer.size)),
            )
            if operand.memory is Memory.DRAM_INDIRECT
            for group in instances_of(operand)
        ]
        self.reads = runs_of(state, transfer.source, self.form.source_longs(transfer.size), repeat)
        self.writes = runs_of(state, transfer.destination, self.form.destination_longs(transfer.size), repeat)

    @property
    def dar_entries(self) -> list[tuple[int, NDArray[np.int64]]]:
        """(group, entries) of DAR that an indirect operand walks."""
        return self._dar_entries

    @property
    def data_cycles(self) -> int:
        """Cycles of the data phase (OPEN-48)."""
        return self.form.data_cycles(self.size, same_group=self.same_group)

    def execute(self, state: State) -> None:
        """Move the data."""
        values = _gather(state, self.reads, self.source_instances)
        name = self.form.identifier
        if name.startswith("R"):
            values = _reduce(self.opcode, name, values)
        elif name in _MAPS:
            values = _MAPS[name](values)
        _scatter(state, self.writes, self.destination_instances, values)
