"""sink-reductions never changes what is stored, whatever loops come between the sums and the stores."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mnc.core.bindings import ir
from mnc.core.context import make_context
from mnc.registry import parse_pipeline

from .places import PLACES, Places

LONGS = 2
HEAD = """
!dram = memref<32xf32, #mncore.memory<"DRAM">>
!share = memref<2x2xf32, #mncore.placed<"LM", "32", "((2:1, 2_MAB:2, 4_PE:1, 2_W:1),)">>
"""
ARGUMENTS = ("out0", "out1", "whole", "p0", "p1")
SUMMED = '{axes = ["L2B"], bits = array<i64: 7>, kind = "sum"}'


def outputs(text: str, *, sunk: bool) -> dict[int, np.ndarray]:
    """What the stores of a function leave; `whole` is the same everywhere, the parts differ from place to place."""
    rng = np.random.default_rng(5)
    shape = (PLACES, LONGS, 2)
    whole = np.broadcast_to(rng.integers(-8, 8, shape[1:]), shape).astype(np.float64)
    parts = [rng.integers(-8, 8, shape).astype(np.float64) for _ in range(2)]
    with make_context(), ir.Location.unknown():
        module = ir.Module.parse(HEAD + text)
        if sunk:
            parse_pipeline("builtin.module(sink-reductions)").run(module)
            assert module.operation.verify()
        (function,) = module.body.operations
        return Places(function.operation, {2: whole, 3: parts[0], 4: parts[1]}).outputs


def function_of(lines: list[str]) -> str:
    arguments = ", ".join(f"%{name}: {'!dram' if name.startswith('out') else '!share'}" for name in ARGUMENTS)
    return "\n".join([f"func.func @main({arguments}) {{", *lines, "return", "}"])


def reduction(source: str, target: str) -> str:
    return f'"mncore.reduce"(%{source}, %{target}) {SUMMED} : (!share, !share) -> ()'


def unload(source: str, number: int) -> str:
    return f'"mncore.ul"(%{source}, %out{number}) : (!share, !dram) -> ()'


RUNNING_SUM = function_of([
    "%s = memref.alloc() : !share", "%u = memref.alloc() : !share", reduction("p0", "s"),
    "%zero = arith.constant 0.0 : f32",
    "affine.for %i = 0 to 2 {",
    "  %total = affine.for %k = 0 to 2 iter_args(%acc = %zero) -> (f32) {",
    "    %x = affine.load %s[%k, %i] : !share",
    "    %sum = arith.addf %x, %acc : f32",
    "    affine.yield %sum : f32",
    "  }",
    "  affine.store %total, %u[0, %i] : !share",
    "}",
    unload("u", 0),
])  # fmt: skip


def test_running_sum() -> None:
    """What a loop carries is a part itself: nothing is shared out in its body."""
    np.testing.assert_array_equal(outputs(RUNNING_SUM, sunk=True)[0], outputs(RUNNING_SUM, sunk=False)[0])
    with make_context(), ir.Location.unknown():
        module = ir.Module.parse(HEAD + RUNNING_SUM)
        parse_pipeline("builtin.module(sink-reductions)").run(module)
        text = str(module)
    assert "mncore.reduce" not in text and "mulf" not in text and 'sum = ["L2B"]' in text


class _Nests:
    """Random nests: elementwise, or with a loop inside that carries one or two numbers."""

    def __init__(self, draw) -> None:
        self.draw = draw
        self.lines: list[str] = []
        self.count = 0

    def name(self) -> str:
        self.count += 1
        return f"v{self.count}"

    def constant(self) -> str:
        name = self.name()
        self.lines.append(f"%{name} = arith.constant {self.draw(st.sampled_from([0.0, 0.0, 1.0, -2.0, 0.5]))} : f32")
        return name

    def scalars(self, buffers: list[str], row: str, known: list[str]) -> list[str]:
        """A few operations on what is known and on what is loaded from this row."""
        known = list(known)
        for _ in range(self.draw(st.integers(1, 4))):
            name = self.name()
            kind = self.draw(st.sampled_from(["load", "load", "addf", "subf", "mulf", "negf", "maximumf"]))
            if kind == "load" or not known:
                self.lines.append(f"%{name} = affine.load %{self.draw(st.sampled_from(buffers))}[{row}, %i] : !share")
            else:
                operands = [f"%{self.draw(st.sampled_from(known))}" for _ in range(1 if kind == "negf" else 2)]
                self.lines.append(f"%{name} = arith.{kind} {', '.join(operands)} : f32")
            known.append(name)
        return known

    def nest(self, buffers: list[str], target: str) -> None:
        draw, known = self.draw, [self.constant()]
        self.lines.append("affine.for %i = 0 to 2 {")
        if draw(st.booleans()):
            known = self.scalars(buffers, draw(st.sampled_from(["0", "1"])), known)
        if draw(st.booleans()):
            starts = [draw(st.sampled_from(known)) for _ in range(draw(st.integers(1, 2)))]
            carried, results = [self.name() for _ in starts], self.name()
            pairs = ", ".join(f"%{a} = %{b}" for a, b in zip(carried, starts, strict=True))
            types = ", ".join("f32" for _ in starts)
            self.lines.append(f"%{results}:{len(starts)} = affine.for %k = 0 to 2 iter_args({pairs}) -> ({types}) {{")
            inner = self.scalars(buffers, "%k", [*known, *carried, *carried])
            ends = ", ".join(f"%{draw(st.sampled_from(inner[len(known) :]))}" for _ in starts)
            self.lines += [f"affine.yield {ends} : {types}", "}"]
            known = [*known, *(f"{results}#{n}" for n in range(len(starts)))]
        for row in draw(st.sampled_from([["0"], ["1"], ["0", "1"]])):
            self.lines.append(f"affine.store %{draw(st.sampled_from(known[-3:]))}, %{target}[{row}, %i] : !share")
        self.lines.append("}")


@st.composite
def programs(draw) -> str:
    """Sums of two tensors, nests that read anything made so far and write new buffers or old ones, two stores."""
    nests = _Nests(draw)
    names = ["s0", "s1", *(f"u{n}" for n in range(draw(st.integers(1, 3))))]
    nests.lines += [f"%{name} = memref.alloc() : !share" for name in names]
    nests.lines += [reduction("p0", "s0"), reduction(draw(st.sampled_from(["p1", "p0", "s0"])), "s1")]
    if draw(st.booleans()):
        nests.lines.append("%cast = memref.memory_space_cast %s0 : !share to !share")
        names.append("cast")
    made = [name for name in names if not name.startswith("u")]
    for name in names:
        if name.startswith("u"):
            for _ in range(draw(st.sampled_from([1, 1, 2]))):
                nests.nest(["whole", *made, *made, *([name] if draw(st.booleans()) else [])], name)
            made.append(name)
    return function_of([*nests.lines, unload(made[-1], 0), unload(draw(st.sampled_from(made)), 1)])


@settings(max_examples=200, deadline=None)
@given(programs())
def test_random_loops(text: str) -> None:
    before, after = outputs(text, sunk=False), outputs(text, sunk=True)
    assert before.keys() == after.keys()
    for number, values in before.items():
        np.testing.assert_array_equal(after[number], values)


@pytest.mark.parametrize("fill", ["0.0", "1.0"])
def test_what_else_is_written_must_be_parts(fill: str) -> None:
    """A buffer that is filled before parts are written to half of it: with zeros the sum sinks, else it does not."""
    text = function_of([
        "%s = memref.alloc() : !share", "%u = memref.alloc() : !share", reduction("p0", "s"),
        f"%c = arith.constant {fill} : f32",
        *(line for row in "01" for line in
          ("affine.for %i = 0 to 2 {", f"affine.store %c, %u[{row}, %i] : !share", "}")),
        "affine.for %i = 0 to 2 {", "%x = affine.load %s[0, %i] : !share",
        "affine.store %x, %u[1, %i] : !share", "}",
        unload("u", 0),
    ])  # fmt: skip
    np.testing.assert_array_equal(outputs(text, sunk=True)[0], outputs(text, sunk=False)[0])
