"""Conditions that a run finds, which select what was computed: on the strict emulator against the ONNX reference."""

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))
from parsed import cycles_of, normal

ROOT = """g (float[1,7] x) => (float[1,7] y) {
    most = Constant <value_int = 12> () half = Constant <value_float = 0.5> () near = Constant <value_float = 0.001> ()
    y = Loop (most, , x) <body = b (int64 i, bool c, float[1,7] v) => (bool d, float[1,7] w) {
        q = Div (x, v) s = Add (v, q) w = Mul (s, half)
        change = Sub (w, v) size = Abs (change) largest = ReduceMax <keepdims = 0> (size) d = Greater (largest, near)
    }>
}"""
BAG = """g (float[9,5] w, int64[1] a, int64[1] b) => (float[1,5] y) {
    first = Constant <value_ints = [0]> () empty = Equal (a, b)
    y = If (empty) <
        then_branch = none () => (float[1,5] n) { n = Constant <value = float[1,5] {1, 2, 3, 4, 5}> () },
        else_branch = some () => (float[1,5] s) { rows = Slice (w, a, b) s = ReduceMax (rows, first) }>
}"""


@pytest.mark.parametrize("size", [1.0, 50.0])
def test_roots_by_iteration(size: float) -> None:
    x = np.abs(normal(np.random.default_rng(0), 1, 7)) * np.float32(size) + 1
    assert cycles_of(ROOT, {"x": x}, 1e-5) > 0


@pytest.mark.parametrize("bounds", [(2, 6), (4, 4)])
def test_a_bag_that_may_be_empty(bounds: tuple[int, int]) -> None:
    w = normal(np.random.default_rng(1), 9, 5)
    assert cycles_of(BAG, {"w": w, "a": np.array(bounds[:1]), "b": np.array(bounds[1:])}) > 0
