"""A movement planned before is emitted again with other buffers; it must be what a fresh plan would emit."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from layout.strategies import layouts

from mnc.mncore_backend.assembly.records import Memory
from mnc.mncore_backend.codegen.program_ir import make_names_unique
from mnc.mncore_backend.layout import Layout, parse
from mnc.mncore_backend.movement import plan_gather, relayout
from mnc.mncore_backend.movement import repeats as module
from mnc.mncore_backend.movement.repeats import Repeats
from mnc.mncore_backend.program import Builder, Program
from mnc.mncore_backend.program.text import print_operation
from mnc.mncore_backend.target import MN_CORE_2, SMALL, Machine, use

LM = (Memory.LM0, Memory.LM1)


def gather(program: Program, location: str, source: Layout, target: Layout, index_map: np.ndarray, padding: int):
    a = program.buffer("a", source.local_size, LM)
    b = program.buffer("b", target.local_size, LM)
    start = len(program.operations)
    plan = plan_gather(Builder(program, location), source, a, target, b, index_map, padding=padding)
    return plan, program.operations[start:]


def text(program: Program) -> list[str]:
    make_names_unique(program)
    buffers = [f"{b.name} {b.size} {b.choices} {b.alignment} {b.pinned}" for b in program.buffers]
    return buffers + [f"{op.location}: {print_operation(op)}" for op in program.operations]


@given(layouts(max_address=8), layouts(max_address=8), st.integers(0, 99), st.booleans())
@settings(max_examples=5, deadline=None)
def test_a_plan_repeated_is_the_plan_made_anew(source: Layout, target: Layout, seed: int, same: bool) -> None:
    index_map = np.random.default_rng(seed).integers(-1, source.size, target.size)
    other = index_map if same else (index_map + 1) % source.size
    programs = []
    for forget in (True, False):
        module.REPEATS.forget()
        program = Program()
        for location, chosen in (("first", index_map), ("second", other), ("third", index_map)):
            plan, operations = gather(program, location, source, target, chosen, 7)
            assert {op.location for op in operations} <= {location}
            assert all(image.buffer in program.buffers for image, _ in plan.tables)
            if forget:
                module.REPEATS.forget()
        programs.append(text(program))
    assert programs[0] == programs[1]


@pytest.mark.parametrize("change", ["padding", "choices", "keep"])
def test_what_a_plan_depends_on_tells_plans_apart(change: str) -> None:
    """Planned again for another padding, other memories, and a program that keeps tables."""
    repeats, planned = Repeats(), []
    for changed in (False, True, False):
        program = Program()
        builder = Builder(program, keep=changed and change == "keep")
        a = program.buffer("a", 1, LM[:1] if changed and change == "choices" else LM)
        b = program.buffer("b", 1, LM)
        key = ("gather", changed and change == "padding")
        repeats.emit(builder, key, a, b, lambda key=key: planned.append(key) or module.Plan())
    assert len(planned) == 2


def test_the_oldest_plans_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_OPERATIONS", 2)
    repeats, planned = Repeats(), []
    program = Program()
    builder, a, b = Builder(program), program.buffer("a", 1, LM), program.buffer("b", 1, LM)

    def plan(key: int) -> module.Plan:
        planned.append(key)
        builder.emit("nop")
        return module.Plan()

    for key in (1, 2, 1, 3, 1, 2):  # 3 takes the place of 2, which was used longer ago than 1
        repeats.emit(builder, key, a, b, lambda key=key: plan(key))
    assert planned == [1, 2, 3, 2]
    assert len(program.operations) == 6


def test_plans_of_one_machine_are_none_of_another() -> None:
    """Where a machine has one quad of MABs, what a quad reads is what all MABs read."""
    repeats, planned = Repeats(), []
    for machine in (SMALL, MN_CORE_2, SMALL):
        program = Program()
        a, b = program.buffer("a", 1, LM), program.buffer("b", 1, LM)
        with use(machine):
            repeats.emit(Builder(program), "key", a, b, lambda own=machine: planned.append(own) or module.Plan())
    assert planned == [SMALL, MN_CORE_2]


def test_moves_of_one_machine_are_none_of_another(monkeypatch: pytest.MonkeyPatch) -> None:
    """A program for MN-Core 2 that was compiled after one for a machine with a single quad read words that nobody had
    written."""
    source, target = parse("((4_PE:1, 2_W:1), (4_MAB:1, 3:1))", (6, 9)), parse("((4_PE:1, 2_W:1), (2:8, 8:1))", (6, 9))

    def opcodes(machine: Machine) -> set[str]:
        """Planned with nothing known but single moves."""
        module.REPEATS.forget()
        relayout.find_chain.cache_clear()  # pyright: ignore[reportFunctionMemberAccess]
        builder = Builder(Program())
        a, b = (builder.program.buffer("a", own.local_size, LM) for own in (source, target))
        with use(machine):
            relayout.plan_relayout(builder, source, a, target, b)
        return {op.opcode for op in builder.program.operations}

    monkeypatch.setattr(relayout, "KNOWN_MOVES", type(relayout.KNOWN_MOVES)(64))
    assert opcodes(SMALL) == {"l1bmm", "l1bmm4"}
    assert opcodes(MN_CORE_2) == {"l1bmm"}
