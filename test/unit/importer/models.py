"""Small ONNX models for the tests of the importer."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper


def one_node(
    op_type: str,
    inputs: dict[str, np.ndarray],
    opset: int = 21,
    weights: Sequence[str] = (),
    name: str = "node",
    **attributes: Any,
) -> onnx.ModelProto:
    """A model of one node; `weights` names the inputs that are stored in the model."""
    results = ["y0"]
    node = helper.make_node(op_type, list(inputs), results, name=name, **attributes)
    arguments = [
        helper.make_tensor_value_info(key, helper.np_dtype_to_tensor_dtype(value.dtype), value.shape)
        for key, value in inputs.items()
        if key not in weights
    ]
    stored = [numpy_helper.from_array(inputs[key], key) for key in weights]
    infos = [onnx.ValueInfoProto(name=result) for result in results]
    graph = helper.make_graph([node], "test", arguments, infos, stored)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)
    inferred = onnx.shape_inference.infer_shapes(model)
    for info, found in zip(model.graph.output, inferred.graph.output, strict=True):
        info.CopyFrom(found)
    return model


def dynamic_batch(name: str = "x") -> onnx.ModelProto:
    """Relu of a tensor whose first extent is called ``batch``."""
    values = [helper.make_tensor_value_info(key, TensorProto.FLOAT, ["batch", 4]) for key in (name, "y")]
    graph = helper.make_graph([helper.make_node("Relu", [name], ["y"])], "dynamic", values[:1], values[1:])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
