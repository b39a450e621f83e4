"""Profiles of steps spare the checker work and nothing else: the findings are those of the rules themselves."""

import random
from typing import Any

import pytest
from assembly.legal import legal
from assembly.strategies import ALL_HEALTH_CHECKS, EXECUTED
from hypothesis import given, settings
from hypothesis import strategies as st

from mnc.mncore_backend.assembly import parse_program
from mnc.mncore_backend.assembly.records import Operand, Statement, Step
from mnc.mncore_backend.assembly.shapes import form_of
from mnc.mncore_backend.checker import CheckOptions, Finding, check, check_program
from mnc.mncore_backend.checker.findings import Report
from mnc.mncore_backend.target import chip

OPTIONS = (CheckOptions(), CheckOptions(vendor=True), CheckOptions(strict=frozenset(["all"])))


def by_the_rules(statements: list[Statement], options: CheckOptions) -> list[Finding]:
    """Findings without profiles."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(check, "find_profile", lambda _: None)
        return check_program(statements, options)


def address(operand: Operand, rng: random.Random) -> int:
    """Mostly small and aligned, so that statements meet; or at the end of the memory, beyond it, or off alignment."""
    size = chip().memories[operand.memory].addresses
    return rng.choice(
        [
            *(8 * rng.randrange(4) for _ in range(6)),
            *(256 * rng.randrange(3) for _ in range(3)),
            rng.randrange(16),
            size - rng.randrange(1, 20),
            size - 64 * rng.randrange(4),
        ]
    )


def moved(statement: Statement, line: int, rng: random.Random) -> Statement:
    """A step at other addresses; some of one memory at the same."""
    if not isinstance(statement, Step):
        return statement
    chosen: dict[str, int] = {}
    expressions = []
    for expression in statement.expressions:
        shape, _ = form_of(expression)
        own = []
        for operand in shape.operands:
            new = address(operand, rng)
            own.append(chosen.setdefault(operand.memory.name, new) if rng.random() < 0.7 else new)
        expressions.append(shape.at(tuple(own)))
    return Step(tuple(expressions), line)


@settings(max_examples=150, deadline=None, suppress_health_check=ALL_HEALTH_CHECKS)
@given(st.lists(EXECUTED, min_size=2, max_size=8), st.integers(0, 1 << 30), st.booleans())
def test_findings_do_not_depend_on_profiles(kinds: list[Statement], seed: int, repaired: bool) -> None:
    rng = random.Random(seed)
    kinds = [legal(kind) for kind in kinds] if repaired else kinds
    statements = [moved(rng.choice(kinds), line, rng) for line in range(1, 40)]
    for options in OPTIONS:
        assert check_program(statements, options) == by_the_rules(statements, options)


LINES = (
    "fvfma $lm{a}v $lr{b}v $lm{a}v $ls{c}v",
    "gmwrite $lr{b}v $lx{d}",
    "gmfma $lx $lr{b}v $ln{c}v $ls{c}v",
    "hmwrite $llr{b}v $lly{d}",
    "iadd $aluf $lr{b}v $lr{c}v",
    "ixor $lr{b}v $lr{c}v $ls{b}v; fvmul $ln{a}v $lr{b}v $ln{a}v",
    "ladd $lr[{a},{b},{c},{a}] $ls{b}v $ln{c}v",
    "ladd $lr[0,2,4,6] $lr{b}v $ln{c}v",
    "lpassa $lmt{a}v $ls{c}v",
    "iadd $lm{a}v $lr{b}v $lr{c}v/1010",
    "iadd $lm{a}v $lr{b}v $ls{c}v/$imr1",
    "l1bmm@2 $ln{a}v $lb{e}",
    "l1bmrffadd $lm{a}v $lb{e}",
    "l1bmm $lb{e} $ln{a}v",
    "l1bmm $lbi $ls{a}v",
    "l1bmd $lb{e} $lr{b}v",
    "l2bmb $lc{e} $lb{e}; l1bmd $lb0 $ln{c}v",
    "l2bmd $lb{e} $lc{e}",
    "lpassa $lr{b}v $t",
    "zero $mb",
    "noforward; iadd $lr{b}v $ls{c}v $ls{b}v",
    "nop",
    "nop/2",
    "iadd $lr{f}v $lm0v $ls8v; fvmul $ls0v $lm0v $lr{g}v",
    "mvp/n64i{t} $d0 $lc{e}@.0",
    "mvp/n64i{t} $lc{e}@.0 $d0",
    "l2bmb $lc{e} $lb{e}; wait i{t}",
    "iadd $lm{a}v $lr{b}v $ls{c}v; wait i{t}",
)


@pytest.mark.parametrize("seed", range(40))
def test_dense_programs_have_the_same_findings(seed: int) -> None:
    rng = random.Random(seed)
    chosen = rng.sample(LINES, 8)
    text = "\n".join(
        rng.choice(chosen).format(
            a=8 * rng.randrange(4), b=8 * rng.randrange(4), c=8 * rng.randrange(4), d=4 * rng.randrange(2),
            e=256 * rng.randrange(3), f=2 * rng.randrange(8), g=2 * rng.randrange(8), t=f"{rng.randrange(1, 4):02x}",
        )
        for _ in range(300)
    )  # fmt: skip
    statements = parse_program(text)
    for options in OPTIONS:
        assert check_program(statements, options) == by_the_rules(statements, options)


def test_most_steps_need_no_rules(monkeypatch: pytest.MonkeyPatch) -> None:
    passed: list[bool] = []
    original = check._Checker._quick_reports

    def watch(*arguments: Any) -> list[Report] | None:
        found = original(*arguments)
        passed.append(found is not None)
        return found

    monkeypatch.setattr(check._Checker, "_quick_reports", watch)
    text = "\n".join(
        f"fvfma $lm{8 * i}v $lr{8 * (i % 9)}v $lm{8 * i}v $ls{8 * (i % 5)}v; l2bmb $lc{64 * i} $lb{64 * (i % 7)}"
        for i in range(100)
    )
    assert check_program(parse_program("mvp/n64 $d0 $lc32000@.0\n" + text)) == []
    assert passed.count(True) == 100
