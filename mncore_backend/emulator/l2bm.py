"""L2BM expressions (SDM 3.6.7): L2BM <-> L1BM in every L2B, multicast between L1BMs, loading of DAR.

Every transfer is a function from the state before the step to values, and a place to put them after the step.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mnc.mncore_backend.assembly.records import Expression, Memory, Operand
from mnc.mncore_backend.emulator import kernels
from mnc.mncore_backend.emulator.geometry import CYCLES, geometry
from mnc.mncore_backend.emulator.l1b_sets import parse_set, pattern_set
from mnc.mncore_backend.emulator.reductions import split_reduction, unit_element
from mnc.mncore_backend.emulator.taint import reduce_stage
from mnc.mncore_backend.target import chip

if TYPE_CHECKING:
    from mnc.mncore_backend.emulator.state import State

U64 = NDArray[np.uint64]


class L2bmPlan(NamedTuple):
    """What one L2BM expression touches and does.

    l2bm      (first long word, count, is a write) at the L2BM side, the same in every L2B; None if untouched
    l1bm      list of (L1Bs, first long word, count, is a write), the same in every L2B
    read      takes the values before the step
    write     puts them after the step
    copy      how a kernel does the same, None if none does
    """

    l2bm: tuple[int, int, bool] | None
    l1bm: list[tuple[tuple[int, ...], int, int, bool]]
    read: "Callable[[State], U64]"
    write: "Callable[[State, U64], None]"
    copy: "L2bmCopy | None" = None


class L2bmCopy(NamedTuple):
    """A transfer that moves long words in every L1B by itself: see `transfer_kernels.l2bm_run`.

    `far` and `near` are first long words in L2BM and L1BM, `far_rate` and `near_rate` what they advance by in a cycle.
    """

    far: int
    near: int
    far_rate: int
    near_rate: int
    share: int
    l1bs: int
    members: tuple[int, ...]
    up: bool


def _copy(family: str, far: int, near: int, members: tuple[int, ...], *, up: bool) -> L2bmCopy | None:
    """The copy of a transfer that does not wrap around."""
    facts = chip().l2bm_families[family]
    own = geometry()
    if far + CYCLES * facts.l2bm_rate > own.l2bm_longs or near + CYCLES * facts.l1bm_rate > own.l1bm_longs:
        return None
    share, l1bs = {"l2bmd": (8, 1), "l2bmb2": (16, 2)}.get(family, (0, 1))
    return L2bmCopy(far, near, facts.l2bm_rate, facts.l1bm_rate, share, l1bs, members, up)


def _ring(array: U64, first: int, count: int, size: int) -> U64:
    """`count` long words of the last axis from `first` on, wrapping."""
    if first + count <= size:
        return array[..., first : first + count]
    return array[..., (first + np.arange(count)) % size]


def _put(array: U64, first: int, values: U64, size: int) -> None:
    count = values.shape[-1]
    if first + count <= size:
        array[..., first : first + count] = values
    else:
        array[..., (first + np.arange(count)) % size] = values


def _check(operand: Operand, alignment: int, size: int) -> int:
    address = operand.address % size
    if address % alignment:
        raise ValueError(f"address {operand.address} of ${operand.memory.value} is not a multiple of {alignment}")
    return address


def _down_map(family: str, block: U64) -> U64:
    """[L2B, long words of L2BM] -> [L2B, L1B, long words of L1BM]."""
    l2bs, l1bs = geometry().l2bs, geometry().l1bs_per_l2b
    if family == "l2bmb":
        return np.broadcast_to(block[:, None, :], (l2bs, l1bs, block.shape[1]))
    if family == "l2bmd":
        return block.reshape(l2bs, CYCLES, l1bs, 8).transpose(0, 2, 1, 3).reshape(l2bs, l1bs, -1)
    pairs = block.reshape(l2bs, CYCLES, l1bs // 2, 16).transpose(0, 2, 1, 3)  # l2bmb2, OPEN-42
    return np.repeat(pairs.reshape(l2bs, l1bs // 2, -1), 2, axis=1)


def _down(expression: Expression, family: str) -> L2bmPlan:
    facts = chip().l2bm_families[family]
    members, _ = parse_set(expression.modifier)
    a = _check(expression.sources[0], facts.l2bm_alignment, geometry().l2bm_longs)
    b = _check(expression.destinations[0], facts.l1bm_alignment, geometry().l1bm_longs)
    chosen = list(members)

    def read(state: "State") -> U64:
        block = _ring(state.l2bm, a, CYCLES * facts.l2bm_rate, geometry().l2bm_longs)
        return _down_map(family, block)[:, chosen].copy()

    def write(state: "State", values: U64) -> None:
        l1bm = state.longs(Memory.L1BM)
        for index, member in enumerate(chosen):
            _put(l1bm[:, member], b, values[:, index], geometry().l1bm_longs)

    l1bm = [(members, b, CYCLES * facts.l1bm_rate, True)]
    copy = _copy(family, a, b, members, up=False)
    return L2bmPlan((a, CYCLES * facts.l2bm_rate, False), l1bm, read, write, copy)


def _up_map(expression: Expression, family: str, members: tuple[int, ...], block: U64) -> U64:
    """[L2B, L1B, long words of L1BM] -> [L2B, long words of L2BM]."""
    if family == "l2bmd":
        return block.reshape(*block.shape[:2], CYCLES, 8).transpose(0, 2, 1, 3).reshape(geometry().l2bs, -1)
    if family == "l2bm":
        return block[:, int(expression.modifier.removeprefix("@"))]
    reduction = split_reduction(expression.opcode, "l2bmr")
    stacked = np.moveaxis(block, 1, 0)
    if reduction.fan == "2":
        paired = stacked.reshape(-1, 2, geometry().l2bs, CYCLES, 16).transpose(1, 2, 3, 0, 4)
        return _stage(reduction.operation, reduction.precision, paired).reshape(geometry().l2bs, -1)
    is_poison = block.dtype == np.uint8
    unit = block.dtype.type(0 if is_poison else unit_element(reduction.precision, reduction.operation))
    inputs = np.full_like(stacked, unit)
    inputs[list(members)] = stacked[list(members)]
    return _stage(reduction.operation, reduction.precision, inputs)


def _stage(operation: str, precision: str, stacked: U64) -> U64:
    if stacked.dtype == np.uint8:  # poison instead of values
        return reduce_stage(precision, stacked)
    flat = np.ascontiguousarray(stacked.reshape(stacked.shape[0], -1))
    return np.asarray(kernels.rrn_reduce(operation, precision, flat)).reshape(stacked.shape[1:])


def _up(expression: Expression, family: str) -> L2bmPlan:
    facts = chip().l2bm_families[family]
    members, _ = parse_set(expression.modifier if family != "l2bmd" else "")
    b = _check(expression.sources[0], facts.l1bm_alignment, geometry().l1bm_longs)
    a = _check(expression.destinations[0], facts.l2bm_alignment, geometry().l2bm_longs)

    def read(state: "State") -> U64:
        block = _ring(state.longs(Memory.L1BM), b, CYCLES * facts.l1bm_rate, geometry().l1bm_longs)
        return np.ascontiguousarray(_up_map(expression, family, members, block))

    def write(state: "State", values: U64) -> None:
        _put(state.l2bm, a, values, geometry().l2bm_longs)

    l1bm = [(members, b, CYCLES * facts.l1bm_rate, False)]
    copy = _copy(family, a, b, members, up=True) if family in ("l2bmd", "l2bm") else None
    return L2bmPlan((a, CYCLES * facts.l2bm_rate, True), l1bm, read, write, copy)


def _multicast(expression: Expression) -> L2bmPlan:
    """``l2bmi@<set>``: every source L1B of the set to the L1Bs equal to it in the bits of i (SDM 3.6.7.9)."""
    members, free = parse_set(expression.modifier)
    if free == geometry().l1bs_per_l2b - 1:
        raise ValueError("l2bmi with all L1Bs does not exist")
    s = _check(expression.sources[0], 16, geometry().l1bm_longs)
    d = _check(expression.destinations[0], 16, geometry().l1bm_longs)
    count = CYCLES * chip().l2bm_families["l2bmi"].l1bm_rate
    targets = [pattern_set(member, geometry().l1bs_per_l2b - 1 & ~free) for member in members]

    def read(state: "State") -> U64:
        return _ring(state.longs(Memory.L1BM), s, count, geometry().l1bm_longs)[:, list(members)].copy()

    def write(state: "State", values: U64) -> None:
        l1bm = state.longs(Memory.L1BM)
        for index, group in enumerate(targets):
            for target in group:
                _put(l1bm[:, target], d, values[:, index], geometry().l1bm_longs)

    reached = tuple(sorted({target for group in targets for target in group}))
    return L2bmPlan(None, [(members, s, count, False), (reached, d, count, True)], read, write)


def _stage_dar(expression: Expression) -> L2bmPlan:
    """``l2bmdars``: 256 long words of the named L2B of every group into the DAR buffer (model OPEN-41)."""
    source, entry = expression.sources[0], expression.destinations[0].address
    a, count = source.address % geometry().l2bm_longs, CYCLES * chip().dar_staged_longs_per_cycle
    l2b, l2bs = source.l2b, geometry().l2bs_per_group
    if l2b is None or l2b >= l2bs or source.group is not None:
        raise ValueError(f"l2bmdars reads one L2B of every group, .0 to .{l2bs - 1}")

    def read(state: "State") -> U64:
        return _ring(state.l2bm[l2b::l2bs], a, count, geometry().l2bm_longs).copy()

    def write(state: "State", values: U64) -> None:
        words = np.stack([values >> np.uint64(32), values & np.uint64(0xFFFFFFFF)], axis=-1)
        state.dar_buffer = words.reshape(values.shape[0], -1).astype(np.uint32)
        state.dar_entry, state.dar_position = entry, 0

    return L2bmPlan((a, count, False), [], read, write)


def _drain_dar() -> L2bmPlan:
    """``l2bmdarw``: the next four staged words to the next four entries; nothing beyond the last (model OPEN-41)."""

    def read(state: "State") -> U64:
        first = state.dar_position
        return state.dar_buffer[:, first : first + chip().dar_written_entries_per_step].astype(np.uint64)

    def write(state: "State", values: U64) -> None:
        entries = (state.dar_entry + state.dar_position + np.arange(values.shape[1])) % geometry().dar_entries
        state.dar[:, entries] = values.astype(np.uint32)
        state.dar_position += values.shape[1]

    return L2bmPlan(None, [], read, write)


def plan_l2bm(expression: Expression) -> L2bmPlan:
    """Decode an L2BM expression. Raises ValueError when it fits no form."""
    opcode = expression.opcode
    if opcode == "l2bmdars":
        return _stage_dar(expression)
    if opcode == "l2bmdarw":
        return _drain_dar()
    if opcode == "l2bmi":
        return _multicast(expression)
    if opcode.startswith("l2bmr"):
        return _up(expression, "l2bmr2" if split_reduction(opcode, "l2bmr").fan == "2" else "l2bmr")
    if expression.sources[0].memory is Memory.L2BM:
        if opcode not in ("l2bmb", "l2bmb2", "l2bmd"):
            raise ValueError(f"{opcode} does not read L2BM")
        return _down(expression, opcode)
    if opcode not in ("l2bmd", "l2bm"):
        raise ValueError(f"{opcode} does not write L2BM")
    return _up(expression, opcode)
