"""Operators that ONNX has withdrawn, in models of operator sets whose checker refuses them."""

import numpy as np
import onnx
import pytest

import mnc
from mnc.core.diagnostics import CompileError
from mnc.lowering.onnx_to_graph.evaluator import evaluator


def _model(opset: int, text: str) -> onnx.ModelProto:
    return onnx.parser.parse_model(f'<ir_version: 9, opset_import: ["" : {opset}]> {text}')


GROUPS = """g (float[2,6,3,4] x, float[3] s, float[3] b) => (float[2,6,3,4] y)
    { y = GroupNormalization <num_groups = 3, epsilon = 0.01> (x, s, b) }"""
WITHDRAWN = [
    (18, GROUPS),
    (20, GROUPS),
    (11, "g (float[1,2,3,4] x) => (float[1,2,6,4] y) <float[4] s = {1, 1, 2, 1}> "
         "{ y = Upsample <mode = 'nearest'> (x, s) }"),
    (17, "g (float[2,5] x, float[2,1] u) => (float[2,5] y) <int64[2,1] i = {3, 0}> "
         "{ y = Scatter <axis = 1> (x, i, u) }"),
]  # fmt: skip


@pytest.mark.parametrize(("opset", "text"), WITHDRAWN)
def test_withdrawn_operators(opset: int, text: str) -> None:
    model = _model(opset, text.replace("'", '"'))
    before = model.SerializeToString()
    program = mnc.compile(model)
    rng = np.random.default_rng(opset)
    inputs = {tensor.name: rng.standard_normal(tensor.shape).astype(np.float32) for tensor in program.inputs}
    wanted = evaluator(model).run(None, inputs)[0]
    np.testing.assert_allclose(program.run(inputs)["y"], wanted, rtol=1e-5, atol=1e-6)
    assert model.SerializeToString() == before


def test_in_a_branch() -> None:
    """A graph inside of a node is checked as the main one is."""
    model = _model(18, """g (float[2,6,3] x, float[3] s, float[3] b) => (float[2,6,3] y) <bool yes = {1}> {
        y = If (yes) <
            then_branch = t () => (float[2,6,3] z) { z = GroupNormalization <num_groups = 3> (x, s, b) },
            else_branch = e () => (float[2,6,3] z) { z = Identity (x) }> }""")  # fmt: skip
    assert mnc.compile(model).outputs[0].shape == (2, 6, 3)


def test_what_is_still_checked() -> None:
    model = _model(18, GROUPS.replace("num_groups = 3, ", ""))
    with pytest.raises(CompileError, match="Required attribute 'num_groups' is missing"):
        mnc.compile(model)
    model = _model(18, GROUPS.replace("(x, s, b) }", "(x, s, b) z = Relu (missing) }"))
    with pytest.raises(CompileError, match="missing"):
        mnc.compile(model)
