"""Scales of Resize and Upsample by which ONNX's inference finds as many elements as exporters and runtimes do.

ONNX says ``floor(extent * scale)``. Frameworks and ONNX Runtime round the product to a single float, as the scale is
one: 7 times 9/7 is 9. ONNX's inference multiplies doubles, finds 8, and contradicts what the exporter declares. The
next larger scale gives the same number of elements either way.
"""

import math
from collections.abc import Mapping

import numpy as np
import onnx
import onnx.numpy_helper
import onnx.shape_inference

from mnc.lowering.onnx_to_graph.types_left_out import static_shape, value_types

_OPERATORS = ("Resize", "Upsample")
_MOST = 2 / float(np.finfo(np.float32).eps)
"""Elements up to which single floats are exact numbers of them."""


def reachable(scale: float, extent: int) -> np.float32:
    """A scale that gives ``floor(extent * scale)`` elements of the product of single floats, whatever multiplies."""
    found = np.float32(scale)
    if not 0 < found * np.float32(extent) < _MOST:
        return found  # whoever handles the node says what is wrong with it
    wanted = math.floor(found * np.float32(extent))
    while math.floor(float(found) * extent) < wanted:
        found = np.nextafter(found, np.float32(np.inf))
    return found


def with_reachable_scales(model: onnx.ModelProto) -> onnx.ModelProto:
    """The model with constant scales replaced where inference would find fewer elements; itself if there are none."""
    number = 0
    while True:  # what is resized may be resized again
        types = _types(model)
        changed = next((own for node in _resizing(model) if (own := _changed(model, node, types)) is not None), None)
        if changed is None:
            return model
        node, scales = changed
        copy = onnx.ModelProto()
        copy.CopyFrom(model)
        position = list(model.graph.node).index(node)
        name = f"{node.output[0]}_scales_{number}"
        copy.graph.initializer.append(onnx.numpy_helper.from_array(scales, name))
        copy.graph.node[position].input[_place_of_scales(node)] = name
        model, number = copy, number + 1


def _resizing(model: onnx.ModelProto) -> list[onnx.NodeProto]:
    """Nodes with scales that are an operand."""
    nodes = [node for node in model.graph.node if node.op_type in _OPERATORS and not node.domain]
    return [node for node in nodes if len(node.input) > _place_of_scales(node) and node.input[_place_of_scales(node)]]


def _place_of_scales(node: onnx.NodeProto) -> int:
    """Behind the region, which Upsample and the first Resize do not have."""
    return 1 if len(node.input) <= 2 else 2


def _types(model: onnx.ModelProto) -> Mapping[str, onnx.TypeProto]:
    return value_types(onnx.shape_inference.infer_shapes(model).graph) if _resizing(model) else {}


def _changed(
    model: onnx.ModelProto, node: onnx.NodeProto, types: Mapping[str, onnx.TypeProto]
) -> tuple[onnx.NodeProto, np.ndarray] | None:
    """A node and the scales that it should have; None where those it has will do, or are not known."""
    shape = static_shape(types[node.input[0]]) if node.input[0] in types else None
    scales = _constant(model, node.input[_place_of_scales(node)])
    if shape is None or scales is None or scales.dtype != np.float32:
        return None
    named = next((list(own.ints) for own in node.attribute if own.name == "axes"), list(range(len(shape))))
    if len(named) != scales.size or any(not -len(shape) <= axis < len(shape) for axis in named):
        return None  # whoever handles the node says what is wrong with it
    wanted = [reachable(scale, shape[axis]) for scale, axis in zip(scales.tolist(), named, strict=True)]
    changed = np.array(wanted, np.float32)
    return None if np.array_equal(changed, scales, equal_nan=True) else (node, changed)


def _constant(model: onnx.ModelProto, name: str) -> np.ndarray | None:
    """The value of an initializer or of a Constant."""
    for tensor in model.graph.initializer:
        if tensor.name == name:
            return onnx.numpy_helper.to_array(tensor).reshape(-1)
    for node in model.graph.node:
        if node.op_type == "Constant" and name in node.output:
            tensors = [attribute.t for attribute in node.attribute if attribute.name == "value"]
            floats = [list(attribute.floats) for attribute in node.attribute if attribute.name == "value_floats"]
            if tensors:
                return onnx.numpy_helper.to_array(tensors[0]).reshape(-1)
            return np.array(floats[0], np.float32) if floats else None
    return None
