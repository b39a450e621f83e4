"""Models of one node of ai.onnx.ml, and what the reference of ONNX makes of them."""

import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper

from mnc.core.context import make_context
from mnc.lowering.onnx_to_graph import import_model
from mnc.lowering.onnx_to_graph.evaluator import evaluator

sys.path.insert(0, str(Path(__file__).parent))
from numpy_graph import evaluate

DOMAIN = "ai.onnx.ml"


def open_float(name: str, rank: int = 2) -> onnx.ValueInfoProto:
    """A float output of open extents."""
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, [None] * rank)


def ml_model(
    operator: str, inputs: dict[str, np.ndarray], outputs: int = 1, version: int = 3, **attributes: Any
) -> onnx.ModelProto:
    """A model of one node; its outputs are declared as what it gives is: float [?, ?], labels int64 [?]."""
    names = [f"y{i}" for i in range(outputs)]
    node = helper.make_node(operator, list(inputs), names, name="node", domain=DOMAIN, **attributes)
    arguments = [
        helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(value.dtype), value.shape)
        for name, value in inputs.items()
    ]
    graph = helper.make_graph([node], "ml", arguments, [*map(open_float, names)])
    if outputs == 2:
        graph.output[0].CopyFrom(helper.make_tensor_value_info(names[0], TensorProto.INT64, [None]))
    opsets = [helper.make_opsetid("", 18), helper.make_opsetid(DOMAIN, version)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=9)


def check_ml(
    operator: str, inputs: dict[str, np.ndarray], outputs: int = 1, version: int = 3, **attributes: Any
) -> list[np.ndarray]:
    """Import a node, execute the graph with numpy, and compare with the reference; the results of the reference."""
    model = ml_model(operator, inputs, outputs, version, **attributes)
    want = [np.asarray(value) for value in evaluator(model).run(None, inputs)]
    for value, array in zip(model.graph.output, want, strict=True):
        kind = helper.np_dtype_to_tensor_dtype(array.dtype)
        value.CopyFrom(helper.make_tensor_value_info(value.name, kind, [None] * array.ndim))
    got = evaluate(import_model(model, make_context(["graph"])), inputs)
    for mine, given in zip(got, want, strict=True):
        assert mine.shape == given.shape
        assert mine.dtype == given.dtype
        np.testing.assert_allclose(mine, given, rtol=1e-5, atol=1e-6)
    return want
