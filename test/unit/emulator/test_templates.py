"""Steps made from templates are what decoding makes of them, and results do not depend on templates."""

import random
from dataclasses import fields

import numpy as np
import onnx
import pytest

import mnc
from mnc.mncore_backend.assembly.parser import parse_program
from mnc.mncore_backend.assembly.records import Memory
from mnc.mncore_backend.emulator import Machine
from mnc.mncore_backend.emulator.decode import decode_step
from mnc.mncore_backend.emulator.engine import Engine
from mnc.mncore_backend.emulator.plan import Plan
from mnc.mncore_backend.emulator.templates import Templates


def same(first: Plan, second: Plan) -> None:
    """Both do and state the same; records lie at different places."""
    for field in fields(Plan):
        if field.name != "table":
            assert getattr(first, field.name) == getattr(second, field.name), field.name
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

    def plan(self: Engine, statement: object) -> Plan:
        decoded, calls = decode_step(self.state.arena, self.context, self.constants, statement, self.strict)  # pyright: ignore
        pattern = self.templates.pattern(statement.expressions, self.context)  # pyright: ignore
        found = None if pattern is None else self.templates.find(pattern)
        counts[found is not None] += 1
        if found is not None:
            same(found, decoded)
            return found
        if pattern is not None:
            self.templates.keep(pattern, decoded, calls)
        return decoded

    monkeypatch.setattr(Engine, "_plan", plan)
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
    original = engine.templates.keep
    engine.templates.keep = lambda *given: (decoded.append(given), original(*given))  # pyright: ignore
    machine.run("\n".join(f"iadd $lm{8 * i}v $lr{8 * i}v $ln{8 * i}v\nnop" for i in range(30)))
    assert len(decoded) <= 4  # iadd and nop, each with two buffers of latches


def test_wrong_addresses_are_still_found() -> None:
    machine = prepared("strict")
    machine.load(parse_program("iadd $lm0v $lr0v $ln0v\nnop/4"))
    machine.run()
    with pytest.raises(Exception, match="outside 0"):
        machine.run(parse_program("iadd $lm0v $lr0v $ln0v\nnop/4\niadd $lm4092v $lr0v $ln0v\nnop/4"))
