"""Arc functions against double precision: relative error of a few units in the last place, ends and signs included."""

import numpy as np
import onnx
import pytest

import mnc

ULPS = 8.0
"""Two reciprocals or a quotient and a root of 2.5 each at most (docs/transcendentals.md), halved or better by what
follows, and a few sums."""
TINY = np.array([0.0, 1e-30, 1e-6, 1e-3, 0.4142, 0.41422, 0.5, 0.70710677, 0.9999999, 1.0], np.float32)


def results(operator: str, x: np.ndarray) -> np.ndarray:
    types = f"float[{x.size}]"
    text = f'<ir_version: 9, opset_import: ["" : 18]> g ({types} x) => ({types} y) {{ y = {operator} (x) }}'
    return mnc.compile(onnx.parser.parse_model(text)).run({"x": x})["y"].astype(np.float64)


@pytest.mark.parametrize(("operator", "function"), [("Atan", np.arctan), ("Asin", np.arcsin), ("Acos", np.arccos)])
def test_arc_functions(operator: str, function: np.ufunc) -> None:
    rng = np.random.default_rng(0)
    x = np.concatenate([TINY, -TINY, rng.uniform(-1, 1, 300).astype(np.float32)])
    if operator == "Atan":
        large = np.concatenate([np.exp(rng.uniform(-20, 60, 200)), [np.inf, 3e38]]).astype(np.float32)
        x = np.concatenate([x, large, -large])
    want = function(x.astype(np.float64))
    error = np.abs(results(operator, x) - want)
    assert (error <= ULPS * 2.0**-23 * np.abs(want)).all(), (error / np.maximum(np.abs(want), 1e-38)).max() * 2**23
