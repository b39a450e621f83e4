"""The whole graph stage: random models against the ONNX reference, and that it makes graphs smaller."""

from pathlib import Path

import numpy as np
import onnx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from mnc.core.context import make_context
from mnc.lowering.onnx_to_graph import import_model
from mnc.options import Options
from mnc.passes.graph.evaluate import evaluate
from mnc.stages import stage_text

from .random_graphs import check_unchanged, modules, run_passes

STAGE = stage_text("graph", Options())


@settings(max_examples=30, deadline=None)
@given(modules(["structural", "elementwise", "contraction"], size=12), st.integers(0, 100), st.booleans())
def test_random_graphs(module, seed, special):
    check_unchanged(module, STAGE, seed, special, rtol=4e-6, atol=2e-6)


def _model(nodes, weights, inputs, outputs) -> onnx.ModelProto:
    rng = np.random.default_rng(7)
    stored = []
    for name, shape in weights.items():
        value = rng.standard_normal(shape).astype(np.float32)
        stored.append(numpy_helper.from_array(np.abs(value) + 0.5 if name.startswith("var") else value, name))
    entries = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in inputs.items()]
    results = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in outputs.items()]
    graph = helper.make_graph(nodes, "stage", entries, results, stored)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)
    onnx.checker.check_model(model)
    return model


N = helper.make_node


def _attention() -> onnx.ModelProto:
    heads = [N("MatMul", ["x", f"w{p}"], [p]) for p in "qkv"]
    return _model(
        [*heads, N("Transpose", ["k"], ["kt"], perm=[1, 0]), N("MatMul", ["q", "kt"], ["s"]),
         N("Constant", [], ["root"], value_float=2.0), N("Div", ["s", "root"], ["scaled"]),
         N("Softmax", ["scaled"], ["a"], axis=-1), N("MatMul", ["a", "v"], ["o"]), N("Gelu", ["o"], ["g"]),
         N("LayerNormalization", ["g", "scale", "bias"], ["y"])],
        {"wq": (6, 4), "wk": (6, 4), "wv": (6, 4), "scale": (4,), "bias": (4,)}, {"x": [5, 6]}, {"y": [5, 4]},
    )  # fmt: skip


def _convolutions() -> onnx.ModelProto:
    norm = ["scale", "bias", "mean", "var"]
    return _model(
        [N("Conv", ["x", "w"], ["c"], pads=[1, 1, 1, 1]), N("BatchNormalization", ["c", *norm], ["n"]),
         N("Relu", ["n"], ["r"]), N("Transpose", ["r"], ["t"], perm=[0, 2, 3, 1]), N("HardSwish", ["t"], ["h"]),
         N("Transpose", ["h"], ["u"], perm=[0, 3, 1, 2]), N("GlobalAveragePool", ["u"], ["p"]),
         N("Flatten", ["p"], ["f"]), N("Gemm", ["f", "v", "b"], ["g"], transB=1, alpha=0.5, beta=2.0),
         N("LogSoftmax", ["g"], ["y"])],
        {"w": (4, 2, 3, 3), "scale": (4,), "bias": (4,), "mean": (4,), "var": (4,), "v": (3, 4), "b": (3,)},
        {"x": [2, 2, 5, 5]}, {"y": [2, 3]},
    )  # fmt: skip


@pytest.mark.parametrize(("make", "gone"), [(_attention, "graph.div"), (_convolutions, "graph.transpose")])
def test_models(make, gone: str, tmp_path: Path) -> None:
    """Single precision agrees with the ONNX reference before and after; what should vanish has vanished."""
    model = make()
    shape = [d.dim_value for d in model.graph.input[0].type.tensor_type.shape.dim]
    x = np.random.default_rng(1).standard_normal(shape).astype(np.float32)
    (want,) = map(np.asarray, ReferenceEvaluator(model).run(None, {"x": x}))
    module = import_model(model, make_context(["graph"]))
    with module.context:
        (before,) = evaluate(module, {"x": x})
        run_passes(module, STAGE)
        (after,) = evaluate(module, {"x": x})
    np.testing.assert_allclose(before, want, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(after, want, rtol=1e-5, atol=1e-5)
    assert f'"{gone}"' not in str(module)
