"""Poison moves with the values of MV and L2BM transfers: the same maps, on poison bits instead of long words."""

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from mnc.mncore_backend.assembly.records import Memory
from mnc.mncore_backend.emulator.geometry import geometry
from mnc.mncore_backend.emulator.l2bm import L2bmPlan
from mnc.mncore_backend.emulator.mv import MvPlan
from mnc.mncore_backend.emulator.taint import HIGH, LOW, Origin
from mnc.mncore_backend.emulator.upper_shadow import ORIGIN_LONGS, PoisonState, ring
from mnc.mncore_backend.target import chip

if TYPE_CHECKING:
    from mnc.mncore_backend.emulator.shadow import Shadow
    from mnc.mncore_backend.emulator.state import State


def move(shadow: "Shadow", state: "State", plan: MvPlan) -> None:
    """Move the poison of an MV, after its values."""
    origin = _origin_of_runs(shadow, state, plan)
    runs = {(memory, first, count) for memory, _, first, count in (*plan.reads, *plan.writes)}
    for memory, first, count in runs:
        if memory is not Memory.DRAM:
            shadow.sync(memory, slice(first, first + count))
    plan.execute(PoisonState(shadow, state))  # pyright: ignore[reportArgumentType]
    for memory, instance, first, count in plan.writes:
        if memory is not Memory.DRAM:
            shadow.settle(memory, slice(first, first + count), origin)
        else:
            for group in range(first // ORIGIN_LONGS, -(-(first + count) // ORIGIN_LONGS)):
                shadow.dram_origins[instance, group] = origin


def _origin_of_runs(shadow: "Shadow", state: "State", plan: MvPlan) -> Origin:
    """Where the first poison that a transfer reads comes from."""
    for memory, instance, first, count in plan.reads:
        if memory is Memory.DRAM:
            missing = state.dram[instance].first_unwritten(first, count)
            if missing is not None:
                return shadow.origin_of_dram(instance, missing)
            continue
        clean = shadow.upper_bits(memory)[instance, first : first + count]
        if not clean.all():
            return shadow.origin_of_upper(memory, first + int(np.argmin(clean)), shadow.line)
    return shadow.line, "a word"


def move_l2bm(shadow: "Shadow", state: "State", plan: L2bmPlan) -> Callable[[], None]:
    """Take the poison that an L2BM expression reads; the result puts it after all reads of the step."""
    if plan.l2bm is None and not plan.l1bm:
        return lambda: _drain(shadow, state)
    origin: Origin | None = None
    ranges = [(Memory.L1BM, first, count, write) for _, first, count, write in plan.l1bm]
    if plan.l2bm is not None:
        ranges.append((Memory.L2BM, *plan.l2bm))
    for memory, first, count, write in ranges:
        part = shadow.sync(memory, ring(first, count, geometry().longs[memory]))
        if not write and origin is None and part.any():
            origin = shadow.origin_of_upper(memory, first + int(np.argmax(part.any(axis=0))), shadow.line)
    fake = PoisonState(shadow, state)
    values = plan.read(fake)  # pyright: ignore[reportArgumentType]
    if not any(write for *_, write in ranges):
        staged = np.stack([values & HIGH, values & LOW], axis=-1).reshape(values.shape[0], -1) != 0

        def stage() -> None:
            shadow.dar_staged = staged if staged.any() else None
            shadow.dar_origin = origin

        return stage

    def commit() -> None:
        for memory, first, count, write in ranges:
            if write:
                shadow.sync(memory, ring(first, count, geometry().longs[memory]))
        plan.write(fake, values)  # pyright: ignore[reportArgumentType]
        for memory, first, count, write in ranges:
            if write:
                shadow.settle(memory, ring(first, count, geometry().longs[memory]), origin)

    return commit


def _drain(shadow: "Shadow", state: "State") -> None:
    """``l2bmdarw``: four staged entries (model OPEN-41)."""
    first = state.dar_position
    count = state.dar_buffer[:, first : first + chip().dar_written_entries_per_step].shape[1]
    entries = (state.dar_entry + first + np.arange(count)) % geometry().dar_entries
    if shadow.dar is None:
        shadow.dar = np.zeros((geometry().groups, geometry().dar_entries), np.bool_)
    shadow.dar[:, entries] = False if shadow.dar_staged is None else shadow.dar_staged[:, first : first + count]


def check_dar(shadow: "Shadow", plan: MvPlan) -> None:
    """Raise UninitialisedRead for an MV that takes an address from a poisoned entry of DAR."""
    if shadow.dar is None:
        return
    for instance, entries in plan.dar_entries:
        if shadow.dar[instance, entries].any():
            shadow.fail("an address of DRAM", shadow.dar_origin or (shadow.line, "an entry of DAR"), f"n{instance}")
