"""Steps made from templates are what decoding makes of them, and results do not depend on templates."""

import random
from dataclasses import fields
from typing import Any

import numpy as np
import onnx
import pytest

import mnc
from mnc.mncore_backend.assembly.parser import parse_program
from mnc.mncore_backend.assembly.records import Memory, Step
from mnc.mncore_backend.emulator import EmulationError, Machine
from mnc.mncore_backend.emulator.context import Context, Transition
from mnc.mncore_backend.emulator.decode import decode_step
from mnc.mncore_backend.emulator.known_steps import KnownSteps
from mnc.mncore_backend.emulator.plan import Facts, Plan
from mnc.mncore_backend.emulator.templates import Templates


def same(first: Plan, second: Plan) -> None:
    """Both do and state the same; records lie at different places."""
    for field in fields(Facts):
        if field.name not in ("reads", "writes", "upper", "l2bm"):
            assert getattr(first.facts, field.name) == getattr(second.facts, field.name), field.name
    assert first.accesses() == second.accesses()
    transfers = [[(one.l2bm, one.l1bm, one.copy) for one in plan.l2bm] for plan in (first, second)]
    assert transfers[0] == transfers[1]
    assert first.records == second.records
    for plan in (first, second):
        assert plan.records.buffer_info()[0] <= min(plan.table[1::2], default=1 << 63)
    base = [plan.records.buffer_info()[0] for plan in (first, second)]
    calls = [[(a, r - start) for a, r in zip(p.table[::2], p.table[1::2], strict=True)] for p, start in
             zip((first, second), base, strict=True)]  # fmt: skip
    assert calls[0] == calls[1]


@pytest.fixture
def checked(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Every step that a template makes is decoded as well, and compared; gives the number of steps of each kind."""
    counts = [0, 0]

    original = KnownSteps.find

    def find(self: KnownSteps, statement: Step, context: Context) -> tuple[Plan, Transition]:
        decoded, _ = decode_step(self._arena, context, self._constants, statement, self._strict)
        found, transition = original(self, statement, context)
        counts[found.template is not None] += 1
        if found.template is not None:
            same(found, decoded)
        return found, transition

    monkeypatch.setattr(KnownSteps, "find", find)
    return counts


def line(rng: random.Random) -> str:
    """A statement of one of many shapes, at random addresses."""
    m, n = (8 * rng.randrange(40) for _ in range(2))
    r, s = (8 * rng.randrange(20) for _ in range(2))
    up = 256 * rng.randrange(16)
    return rng.choice(
        [
            f"fvfma $lm{m}v $lr{r}v $lm{n}v $ls{s}v",
            f"fvfma $lm{m}v $lr{r}v $lm{m}v $ls{s}v $ln{n}v",
            f"fvmul $lm{m}v $lm{n}v $ln{n}v",
            f"iadd $lm{m}v $lr{r}v $ln{n}v",
            f"fvadd -$lm{m}v $lr{r}v $ls{s}v",
            f"fvadd $mauf $lr{r}v $ls{s}v",
            f"lpassa $llm{2 * m}v $lln{2 * n}v",
            f"ipassa $m{m}v $n{n}v",
            f"iadd $m{m + 1}v $r{r}v $ls{s}v",
            f"fvadd $lm[{m},{m},{n},{n}] $lr{r} $ls{s}v",
            f"l1bmd $lb{up} $ln{n}v",
            f"l1bmm $lb{up} $ln{n}v",
            f"l2bmb $lc{up} $lb{up}; l1bmd $lb{up} $ln{n}v",
            f"l2bmd@{n // 8 % 2} $lc{up} $lb{up}; iadd $lm{m}v $lr{r}v $ls{s}v",
            f"l2bm@{n // 8 % 2} $lb{up} $lc{up}",
            f"l2bmriiadd $lb{up} $lc{up}",
            f"l1bmp $llb{up} $lln{2 * n}v",
            f"l1bmrffadd $lm{m}v $lb{4096 + up // 4}",
            f"l1bmd $lm{m}v $lb{up}",
            f"l1bmm@3 $lm{m}v $lb{up}",
            f"imax $lm{m}v $lr{r}v $ls{s}v $omr{1 + s // 8 % 3}",
            f"iadd $lm{m}v $lr{r}v $ls{s}v/1010",
            f"lpassa $lm{m}v $t",
            f"lpassa $lmt{m}v $ls{s}v",
            f"maskn 1\niadd $lm{m}v $lr{r}v $ln{n}v\nmaskn 0",
            f"zero $mb\niadd $lm{m}v $lr{r}v $ln{n}v",
            f'imm f"1.5" $ls{s}v',
            f"iadd $lm{m}v $lr{r}v $ls{s}v; fvmul $lm{n}v $lr{r}v $ln{n}v",
            "nop",
        ]
    )


def prepared(mode: str = "vendor") -> Machine:
    machine = Machine(mode, threads=1)
    rng = np.random.default_rng(0)
    for memory, words in ((Memory.LM0, 4096), (Memory.LM1, 4096), (Memory.GRF0, 512), (Memory.GRF1, 512)):
        machine.poke_words(memory, 0, rng.standard_normal((8, 8, 16, 4, words)).astype(np.float32).view(np.uint32))
    return machine


@pytest.mark.parametrize("seed", range(3))
def test_templates_are_what_decoding_makes(checked: list[int], seed: int) -> None:
    rng = random.Random(seed)
    prepared().run("\n".join(line(rng) for _ in range(400)))
    assert checked[1] > 30


def test_results_do_not_depend_on_templates(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "\n".join(
        f"fvfma $lm{8 * i}v $lr{8 * (i % 9)}v $lm{8 * i + 8}v $ls{8 * (i % 5)}v\nnop/3\nlpassa $mauf $ln{8 * i}v\nnop/3"
        for i in range(40)
    )
    machines = [prepared(), prepared()]
    machines[0].run(text)
    monkeypatch.setattr(Templates, "pattern", lambda *_: None)
    machines[1].run(text)
    assert machines[0].compare(machines[1].snapshot()) == []


def test_compiled_programs_consist_of_few_patterns(checked: list[int]) -> None:
    body = "(float[64,40] x, float[40,48] w) => (float[64,48] y) { h = MatMul(x, w)\n y = Softmax(h) }"
    text = f'<ir_version: 8, opset_import: ["" : 18]> g {body}'
    rng = np.random.default_rng(0)
    program = mnc.compile(onnx.parser.parse_model(text))
    program.run({"x": rng.standard_normal((64, 40), np.float32), "w": rng.standard_normal((40, 48), np.float32)})
    assert checked[1] > 0


def test_a_step_of_many_addresses_is_decoded_once() -> None:
    machine = prepared()
    decoded = []
    engine = machine.engine
    original = engine.steps.templates.keep

    def keep(*given: Any) -> Any:
        decoded.append(given)
        return original(*given)

    engine.steps.templates.keep = keep  # pyright: ignore
    machine.run("\n".join(f"iadd $lm{8 * i}v $lr{8 * i}v $ln{8 * i}v\nnop" for i in range(30)))
    assert len(decoded) <= 4  # iadd and nop, each with two buffers of latches


def test_wrong_addresses_are_still_found() -> None:
    machine = prepared("strict")
    machine.load(parse_program("iadd $lm0v $lr0v $ln0v\nnop/4"))
    machine.run()
    with pytest.raises(Exception, match="outside 0"):
        machine.run(parse_program("iadd $lm0v $lr0v $ln0v\nnop/4\niadd $lm4092v $lr0v $ln0v\nnop/4"))


@pytest.mark.parametrize(
    ("step", "poison"),
    [
        ("lpassa $lm0v $ln0v", "lpassa $ls64v $lm0v"),
        ("ladd $lm0v $lr8v $ln0v", "lpassa $ls64v $lr8v"),
        ("l1bmd $lb0 $ln0v", "l1bmd $ls64v $lb0"),
        ("l1bmd $lm0v $lb0\nnop/3\nl1bmd $lb0 $ln0v", "lpassa $ls64v $lm0v"),
        ("lpassa $lm0v $ln0v/$imr1", "ipassa $ls64v $omr1"),
        ("gmread $lx0 $ln0v", "gmwrite $ls64v $lx0"),
        ("l2bmb $lc0 $lb0\nnop/9\nl1bmm $lb0 $ln0v", "mvb/n64i01 $p64@0 $lc0\nnop; wait i01"),
    ],
)
def test_what_was_clean_is_looked_at_again_after_poison(step: str, poison: str) -> None:
    """Steps that met no poison are not checked again before some arises, whether they are repeated or resembled."""
    machine = Machine("strict")
    for memory in (Memory.LM0, Memory.GRF0, Memory.L1BM, Memory.L2BM):
        machine.poke(memory, 0, np.zeros(256, np.uint64))
    machine.run("ipassa $lm0v $omr1\ngmwrite $lm0v $lx0\nnop\ngmwrite $lm8v $lx4\nlpassa $lm0v $ln0v\nnop/9")
    program = parse_program(f"{step}\nnop/9\n{step}\nnop/9\nd get $ln0n0c0b0m0p0 4")
    machine.run(program)
    machine.run(program)
    machine.run(f"{poison}\nnop/9")
    with pytest.raises(EmulationError, match="never written"):
        machine.run(program)
