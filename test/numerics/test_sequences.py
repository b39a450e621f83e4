"""Models with sequences and optional values at their borders, on the emulator: lists in, lists out."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx.parser import parse_model

import mnc
from mnc.core.diagnostics import CompileError
from mnc.cpp_target import compile_cpp

MAP = """(seq(float[N]) s, float[1] x) => (seq(float[N]) y, int64 n) {
    n = SequenceLength (s)
    y = SequenceMap (s, x) <body = b (float[N] a, float[1] c) => (float[N] o) { o = Mul (a, c) }> }"""
OPTIONAL = """(optional(float[4]) o, float[4] x) => (float[4] y, optional(float[4]) p) {
    p = Identity (o)
    h = OptionalHasElement (o)
    y = If (h) <then_branch = t () => (float[4] a) { v = OptionalGetElement (o) a = Add (v, x) },
                else_branch = e () => (float[4] b) { b = Neg (x) }> }"""
MIXED = "(seq(int64[N]) s, bool[2] m) => (seq(int64[N]) t, bool[2] n) { t = SequenceErase (s)  n = Not (m) }"
X = np.arange(4, dtype=np.float32)


def model(text: str) -> Any:
    return parse_model(f'<ir_version: 8, opset_import: ["" : 18]> g {text}')


def numbers(*shapes: tuple[int, ...]) -> list[np.ndarray]:
    rng = np.random.default_rng(1)
    return [rng.standard_normal(shape).astype(np.float32) for shape in shapes]


def equal(found: Any, wanted: list[np.ndarray]) -> None:
    assert isinstance(found, list) and len(found) == len(wanted)
    for one, other in zip(found, wanted, strict=True):
        assert one.shape == other.shape and np.array_equal(one, other)


@pytest.mark.parametrize("lengths", [(3,), (2, 5, 1), (64, 7)])
def test_every_element_by_itself(lengths: tuple[int, ...]) -> None:
    s, x = numbers(*((n,) for n in lengths)), np.array([2], np.float32)
    program = mnc.compile(model(MAP), shapes={"s": [value.shape for value in s]})
    for given in ({"s": s, "x": x}, {"s": tuple(s), "x": x}, {**{f"s[{i}]": v for i, v in enumerate(s)}, "x": x}):
        found = program.run(given)
        assert found["n"] == len(s)
        equal(found["y"], [value * 2 for value in s])
    drawn = program.random_inputs(3)
    stored = program.run(drawn, intermediates=True)
    equal(stored["y"], [value * drawn["x"] for value in drawn["s"]])


def test_integers_and_an_output_without_elements() -> None:
    s = [np.array([3, -4, 5]), np.array([6])]
    program = mnc.compile(model(MIXED), shapes={"s": [(3,), (1,)]})
    equal(program.run({"s": s, "m": [True, False]})["t"], s[:1])
    program = mnc.compile(model(MIXED), shapes={"s": [(3,)]})
    assert program.run({"s": s[:1], "m": [True, False]})["t"] == []


def test_optional_values() -> None:
    there, absent = (mnc.compile(model(OPTIONAL), shapes={"o": shape}) for shape in ((4,), None))
    found = there.run({"o": X, "x": X})
    assert np.array_equal(found["y"], X + X) and np.array_equal(found["p"], X)
    for given in ({"x": X}, {"x": X, "o": None}):
        found = absent.run(given)
        assert np.array_equal(found["y"], -X) and found["p"] is None
    assert absent.random_inputs()["o"] is None
    with pytest.raises(CompileError, match="without a value for input 'o'"):
        absent.run({"x": X, "o": X})
    for given in ({"x": X}, {"x": X, "o": None}):
        with pytest.raises(CompileError, match="no value for input 'o'"):
            there.run(given)


def test_a_sequence_is_missing_or_does_not_fit() -> None:
    program = mnc.compile(model(MAP), shapes={"s": [(2,), (3,)]})
    a, b = numbers((2,), (3,))
    x = np.ones(1, np.float32)
    for given, message in (
        ({"x": x}, r"no value for input 's\[0\]'"),
        ({"x": x, "s": [a]}, "has 1 element, the program takes 2"),
        ({"x": x, "s": [b, a]}, r"'s\[0\]' has shape \[3\], the program takes \[2\]"),
        ({"x": x, "s": [a, b * np.nan]}, r"'s\[1\]' are NaN"),
        ({"x": x, "t": [a, b]}, "there is no input 't'"),
    ):
        with pytest.raises(CompileError, match=message) as raised:
            program.run(given)
        assert raised.value.hint


def test_programs_are_saved_with_their_sequences(tmp_path: Path) -> None:
    made = mnc.compile(model(MAP), shapes={"s": [(2,), (3,)]})
    mnc.save(made, tmp_path / "build")
    loaded = mnc.load(tmp_path / "build")
    assert loaded.sequences == made.sequences and len(made.sequences) == 2
    s = numbers((2,), (3,))
    equal(loaded.run({"s": s, "x": np.ones(1)})["y"], s)
    assert [len(value) for value in loaded.random_inputs()["s"]] == [2, 3]
    absent = mnc.compile(model(OPTIONAL), shapes={"o": None})
    mnc.save(absent, tmp_path / "absent")
    assert mnc.load(tmp_path / "absent").run({"x": X})["p"] is None


def test_cpp_takes_and_gives_lists() -> None:
    s, x = numbers((2,), (3,)), np.array([3], np.float32)
    program = compile_cpp(model(MAP), shapes={"s": (2,), "s[0]": (2,), "s[1]": (3,)})
    equal(program.run({"s": s, "x": x})["y"], [value * 3 for value in s])
    with pytest.raises(CompileError, match="has 1 element, the program takes 2"):
        program.run({"s": s[:1], "x": x})
    absent = compile_cpp(model(OPTIONAL), shapes={"o": None})
    assert absent.run({"x": X})["p"] is None
