"""Places of the maxima of MaxPool against a search through every window."""

import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from mnc.core.context import make_context
from mnc.lowering.onnx_to_graph import import_model

sys.path.insert(0, str(Path(__file__).parent))
from numpy_graph import evaluate


def _model(shape: tuple[int, ...], kind: int, **attributes: Any) -> onnx.ModelProto:
    node = helper.make_node("MaxPool", ["x"], ["y", "i"], **attributes)
    entry = helper.make_tensor_value_info("x", kind, shape)
    results = [
        helper.make_tensor_value_info(n, k, [None] * len(shape)) for n, k in (("y", kind), ("i", TensorProto.INT64))
    ]
    graph = helper.make_graph([node], "pool", [entry], results)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 22)], ir_version=10)


@pytest.mark.parametrize("order", [0, 1])
@pytest.mark.parametrize(
    ("shape", "attributes"),
    [
        ((2, 3, 7, 5), {"kernel_shape": [3, 2], "strides": [2, 1], "pads": [1, 0, 1, 1]}),
        ((1, 2, 9), {"kernel_shape": [3], "dilations": [2], "strides": [3], "ceil_mode": 1}),
        ((2, 1, 4, 3, 5), {"kernel_shape": [2, 2, 2], "auto_pad": "SAME_UPPER"}),
    ],
)
def test_indices_point_at_the_maxima(shape: tuple[int, ...], attributes: dict[str, Any], order: int) -> None:
    x = np.random.default_rng(1).permutation(int(np.prod(shape))).reshape(shape).astype(np.float32) - 20
    model = _model(shape, TensorProto.FLOAT, storage_order=order, **attributes)
    y, indices = evaluate(import_model(model, make_context(["graph"])), {"x": x})
    planes = x.reshape(shape[0] * shape[1], -1)
    columns = x.reshape(shape[0] * shape[1], *shape[2:]).transpose(0, *range(len(shape) - 2, 0, -1))
    flat = (columns if order else planes).reshape(-1)
    np.testing.assert_array_equal(flat[indices], y)


def test_padding_is_no_maximum_of_small_integers() -> None:
    x = np.full((1, 1, 3, 3), -128, np.int8)
    attributes = {"kernel_shape": [2, 2], "pads": [1, 1, 1, 1], "strides": [2, 2]}
    y, indices = evaluate(
        import_model(_model((1, 1, 3, 3), TensorProto.INT8, **attributes), make_context(["graph"])), {"x": x}
    )
    np.testing.assert_array_equal(y, np.full((1, 1, 2, 2), -128))
    assert ((indices >= 0) & (indices < 9)).all()
