"""Pooling whose last window would start in the high padding, in operator sets whose inference counts it."""

import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper

from mnc.core.diagnostics import CompileError
from mnc.lowering.onnx_to_graph.evaluator import evaluator

sys.path.insert(0, str(Path(__file__).parent))
from counted_rows import imported
from models import one_node

GEOMETRIES = {
    "one dimension": ((8,), [2], [2], [0, 1]),
    "one of two": ((8, 9), [2, 3], [2, 2], [0, 1, 1, 1]),
    "one of two rounds up": ((8, 8), [2, 3], [2, 2], [0, 0, 1, 1]),
    "all of three": ((4, 6, 8), [1, 2, 2], [2, 2, 2], [0, 0, 0, 0, 1, 1]),
    "less than a stride": ((4,), [1], [2], [0, 0]),
    "as PyTorch pads": ((7, 7), [2, 2], [2, 2], [1, 1, 1, 1]),
}


@pytest.mark.parametrize("op", ["MaxPool", "AveragePool", "LpPool"])
@pytest.mark.parametrize("case", GEOMETRIES)
@pytest.mark.parametrize("opset", [18, 19, 22])
def test_the_window_is_dropped(op: str, case: str, opset: int) -> None:
    extents, kernel, strides, pads = GEOMETRIES[case]
    x = np.random.default_rng(0).standard_normal((1, 2, *extents)).astype(np.float32)
    window: dict[str, Any] = {"kernel_shape": kernel, "strides": strides, "pads": pads, "ceil_mode": 1}
    variants: list[dict[str, Any]] = [{}, {"count_include_pad": 1}]
    for more in variants if op == "AveragePool" else variants[:1]:
        model = one_node(op, {"x": x}, opset, **window, **more)
        model.graph.node.append(helper.make_node("Neg", ["y0"], ["z"]))
        model.graph.output[0].name = "z"
        model = onnx.shape_inference.infer_shapes(model)  # what is declared then is wrong before version 22
        (wanted,) = evaluator(model).run(None, {"x": x})
        found = imported(model, {"x": x})["z"]
        np.testing.assert_allclose(found, np.asarray(wanted), rtol=1e-6)


def test_what_is_declared_in_front_still_counts() -> None:
    x = np.zeros((1, 2, 8), np.float32)
    model = one_node("MaxPool", {"x": x}, opset=18, kernel_shape=[2], strides=[2], pads=[0, 1], ceil_mode=1)
    model.graph.node.insert(0, helper.make_node("Neg", ["x"], ["n"]))
    model.graph.node[1].input[0] = "n"
    model.graph.value_info.append(helper.make_tensor_value_info("n", onnx.TensorProto.FLOAT, [1, 2, 9]))
    with pytest.raises(CompileError, match="shape inference failed"):
        imported(model, {"x": x})
