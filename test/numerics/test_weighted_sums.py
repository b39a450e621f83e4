"""Products element by element that are added up are no matrix product to the user: they keep single precision."""

import numpy as np
import onnx
import pytest
from onnx import parser

import mnc
from mnc.options import Options

MODEL = """<ir_version: 9, opset_import: ["" : 18]>
weighted (float[3,7,8] x, float[3,7,1] z) => (float[3,8] y) {
  axes = Constant<value = int64[1] {1}>()
  p = Mul(x, z)
  y = ReduceSum<keepdims=0>(p, axes)
}"""


@pytest.mark.parametrize("precision", ["single", "pseudo-single"])
def test_error_is_that_of_single(precision: str) -> None:
    model = parser.parse_model(MODEL)
    onnx.checker.check_model(model)
    program = mnc.compile(model, Options(precision=precision))  # pyright: ignore[reportArgumentType]
    for seed in range(10):
        rng = np.random.default_rng(seed)
        x, z = (rng.standard_normal(shape).astype(np.float32) for shape in ((3, 7, 8), (3, 7, 1)))
        want = (x.astype(np.float64) * z).sum(1)
        largest = np.abs(x.astype(np.float64) * z).sum(1)
        assert (np.abs(program.run({"x": x, "z": z})["y"] - want) <= 8 * 2.0**-23 * largest).all()
