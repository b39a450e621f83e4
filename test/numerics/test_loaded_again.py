"""Inputs that two operations want in quite different places come from DRAM twice where that takes less."""

import onnx
import onnx.parser
import pytest

import mnc
from mnc.reference import judge, random_inputs
from mnc.report import report

pytestmark = pytest.mark.normal_effort

STEPS = """<ir_version: 8, opset_import: ["" : 17]>
agraph (float[20,24,32] x, float[32,48] w, float[480,48] g) => (float[24,20,48] y, float[32,48] d) {
  t = Transpose<perm=[1,0,2]>(x)
  y = MatMul(t, w)
  shape = Constant<value_ints=[480,32]>()
  r = Reshape(t, shape)
  s = Transpose<perm=[1,0]>(r)
  d = MatMul(s, g)
}"""
"""The input's part of a recurrent cell, and the gradient of its weights: rows are contracted, and fill the lanes."""

PIXELS = """<ir_version: 8, opset_import: ["" : 17]>
agraph (float[20,3,16,16] x, float[48,3,1,1] w, float[20,48,16,16] g) => (float[20,48,16,16] y, float[3,48,1,1] d) {
  y = Conv(x, w)
  a = Transpose<perm=[1,0,2,3]>(x)
  b = Transpose<perm=[1,0,2,3]>(g)
  d = Conv(a, b)
}"""
"""A convolution of single pixels, and the gradient of its weights."""


@pytest.mark.parametrize(("text", "most"), [(STEPS, 2_000), (PIXELS, 6_400)], ids=["steps", "pixels"])
def test_loaded_again(text: str, most: int) -> None:
    model = onnx.parser.parse_model(text)
    program = mnc.compile(model)
    inputs = random_inputs(model, {}, 0, {})
    judged, rows = judge(model, program.run(inputs), inputs, "pseudo-single")
    assert judged and all(row.passed for row in rows)
    assert report(program)["total"]["cycles"] <= most
