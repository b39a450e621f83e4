"""A short form of `scripts/fuzz.py` with fixed examples, and proof that the harness notices what it looks for."""

import dataclasses
from collections.abc import Iterator
from functools import cache

import pytest
from assembly.legal import broken, legal
from assembly.strategies import ALL_HEALTH_CHECKS, STEPS, expressions_of, transfers
from hypothesis import given, settings

from mnc.mncore_backend.assembly.isa import OPCODES, Unit
from mnc.mncore_backend.assembly.parser import parse_program
from mnc.mncore_backend.assembly.records import Operand, Statement, Step, Transfer
from mnc.mncore_backend.emulator import EmulationError, Machine
from mnc.mncore_backend.emulator.arena import arena_layout

from .fuzz_properties import (
    ANY_PROGRAMS,
    HOSTILE,
    LEGAL_PROGRAMS,
    SEEDS,
    hazard_free,
    legal_program_runs,
    modes_agree,
    program_stays_in_bounds,
    text_is_answered,
)
from .fuzzing import ARENAS, watch

SHORT = settings(
    max_examples=60, deadline=None, derandomize=True, database=None, suppress_health_check=ALL_HEALTH_CHECKS
)


@SHORT
@given(HOSTILE)
def test_any_file_gets_an_answer(data: bytes) -> None:
    text_is_answered(data)


@SHORT
@given(LEGAL_PROGRAMS, SEEDS)
def test_legal_programs_run_in_vendor_mode(statements: list[Statement], seed: int) -> None:
    legal_program_runs(statements, seed)


@SHORT
@given(ANY_PROGRAMS, SEEDS)
def test_any_program_stays_in_bounds_in_vendor_mode(statements: list[Statement], seed: int) -> None:
    program_stays_in_bounds("vendor", statements, seed)


@SHORT
@given(LEGAL_PROGRAMS, SEEDS)
def test_any_program_stays_in_bounds_in_strict_mode(statements: list[Statement], seed: int) -> None:
    program_stays_in_bounds("strict", statements, seed)


def test_both_modes_agree_on_hazard_free_programs() -> None:
    """Final memories, debug output and counters; most programs must be accepted, else this compares nothing."""
    accepted: list[bool] = []

    @SHORT
    @given(LEGAL_PROGRAMS, SEEDS)
    def check(statements: list[Statement], seed: int) -> None:
        accepted.append(modes_agree(hazard_free(statements), seed))

    check()
    assert sum(accepted) > 0.8 * len(accepted)


@cache
def statements_of(opcode: str) -> list[Statement]:
    """A few legal statements of an opcode; MVs without a tag, which may not be asserted twice."""
    info = OPCODES[opcode]
    found: list[Statement] = []

    @settings(SHORT, max_examples=4)
    @given(transfers([opcode]) if info.unit is Unit.MV else expressions_of(info).map(lambda e: Step((e,))))
    def collect(statement: Statement) -> None:
        repaired = legal(statement)
        found.append(dataclasses.replace(repaired, tag=None) if isinstance(repaired, Transfer) else repaired)

    collect()
    return found


@pytest.mark.parametrize("unit", Unit)
def test_every_opcode_is_among_the_legal_statements(unit: Unit) -> None:
    """What the fuzzer runs is legal and leaves no opcode out."""
    for opcode in (name for name, info in OPCODES.items() if info.unit is unit and unit is not Unit.WAIT):
        kept = [s.opcode if isinstance(s, Transfer) else s.expressions[0].opcode  # pyright: ignore
                for s in statements_of(opcode)]  # fmt: skip
        assert opcode in kept
        assert not any(broken(statement) for statement in statements_of(opcode))


@pytest.mark.parametrize("unit", Unit)
def test_vendor_mode_runs_every_legal_opcode(unit: Unit) -> None:
    statements = [s for name, info in OPCODES.items() if info.unit is unit for s in statements_of(name)]
    for first in range(0, len(statements), 40):
        legal_program_runs(statements[first : first + 40], first)


@pytest.fixture
def fresh_arenas() -> Iterator[None]:
    """For tests that damage what is watched."""
    yield
    ARENAS.clear()


@pytest.mark.usefixtures("fresh_arenas")
def test_the_watch_notices_a_stray_write(monkeypatch: pytest.MonkeyPatch) -> None:
    """Addresses that decode lets through unmasked: a word beyond GRF1 lands in T, one far beyond in the guard words."""
    behind = 2 * (arena_layout().rows - arena_layout().regions["s"][0] + 10)
    inside, next_region, far = parse_program(f"lpassa $lr0 $ls8\nlpassa $lr0 $ls510v2\nlpassa $lr0 $ls[0,0,0,{behind}]")
    watch("vendor", 0, [dataclasses.replace(inside, line=1)])
    monkeypatch.setattr("mnc.mncore_backend.emulator.destinations.static_words", _unmasked)
    with pytest.raises(AssertionError, match="of t changed"):
        watch("vendor", 0, [dataclasses.replace(next_region, line=1)])
    with pytest.raises(AssertionError, match="behind the arena"):
        watch("vendor", 0, [dataclasses.replace(far, line=1)])


def _unmasked(operand: Operand, *_: object) -> tuple[int, ...]:
    return operand.addresses()


# What the fuzzer found, shrunk.
REFUSED = (
    "msl $maufe $nowrite",  # e on an operation without precision
    "ladd $lr0r $ls0 $ln0",
    "ladd -$lr0 $ls0 $ln0",
    "hvfma $lr0 $ls0 $l2bid $nowrite",  # a fixed value as addend
    "lpassa $lr0 $ls0/$imr40",  # used to be taken for a pattern
    "maskr 32",
)


@pytest.mark.parametrize("text", REFUSED)
def test_what_does_not_exist_is_refused_in_vendor_mode(text: str) -> None:
    with pytest.raises(EmulationError) as caught:
        Machine("vendor").run("nop\n" + text)
    assert caught.value.line == 2


def test_steps_are_drawn_with_several_expressions() -> None:
    sizes: set[int] = set()

    @settings(SHORT, max_examples=300)
    @given(STEPS)
    def collect(step: Step) -> None:
        repaired = legal(step)
        assert isinstance(repaired, Step)
        sizes.add(len(repaired.expressions))

    collect()
    assert {1, 2, 3} <= sizes


def test_a_matrix_write_widens_halves_in_pseudo_single() -> None:
    """OPEN-32: e on the source of fmwrite and gmwrite, the same hardware operation."""
    rows = []
    for letter in "fg":
        machine = Machine("vendor")
        machine.run(f'imm h"1.5" $lr0v\nnop/2\n{letter}mwrite $r0ve $lx0\n{letter}mread $lx0 $ls0')
        rows.append(machine.grf(1)[0, 0, 0, :, 0].tolist())
    assert rows[0] == rows[1] == [0x3FC000003FC00000] * 2 + [0, 0]
