"""Scales of Resize and Upsample by which ONNX's inference finds as many elements as exporters and runtimes do.

ONNX says ``floor(extent * scale)``. Frameworks and ONNX Runtime round the product to a single float, as the scale is
one: 7 times 9/7 is 9. ONNX's inference multiplies doubles, finds 8, and contradicts what the exporter declares. The
next larger scale gives the same number of elements either way.
"""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

import numpy as np
import onnx
import onnx.numpy_helper
import onnx.shape_inference

from mnc.lowering.onnx_to_graph.known_values import KnownValues
from mnc.lowering.onnx_to_graph.loaded_model import LoadedModel
from mnc.lowering.onnx_to_graph.reachable_scale import reachable
from mnc.lowering.onnx_to_graph.shape_inference import sample_of
from mnc.lowering.onnx_to_graph.types_left_out import static_shape, value_types

_OPERATORS = ("Resize", "Upsample")


def with_reachable_scales(loaded: LoadedModel) -> onnx.ModelProto:
    """The model with constant scales replaced where inference would find fewer elements; itself if there are none."""
    model, number = loaded.proto, 0
    while nodes := _resizing(model):  # what is resized may be resized again
        types = value_types(onnx.shape_inference.infer_shapes(model).graph)
        known = KnownValues(replace(loaded, proto=model), partial(sample_of, types))
        changed = next((own for node in nodes if (own := _changed(node, types, known)) is not None), None)
        if changed is None:
            break
        node, scales = changed
        copy = onnx.ModelProto()
        copy.CopyFrom(model)
        position = list(model.graph.node).index(node)
        name = f"{node.output[0]}_scales_{number}"
        copy.graph.initializer.append(onnx.numpy_helper.from_array(scales, name))
        copy.graph.node[position].input[_place_of_scales(node)] = name
        model, number = copy, number + 1
    return model


def _resizing(model: onnx.ModelProto) -> list[onnx.NodeProto]:
    """Nodes with scales that are an operand."""
    nodes = [node for node in model.graph.node if node.op_type in _OPERATORS and not node.domain]
    return [node for node in nodes if len(node.input) > _place_of_scales(node) and node.input[_place_of_scales(node)]]


def _place_of_scales(node: onnx.NodeProto) -> int:
    """Behind the region, which Upsample and the first Resize do not have."""
    return 1 if len(node.input) <= 2 else 2


def _changed(
    node: onnx.NodeProto, types: Mapping[str, onnx.TypeProto], known: KnownValues
) -> tuple[onnx.NodeProto, np.ndarray] | None:
    """A node and the scales that it should have; None where those it has will do, or are not known."""
    shape = static_shape(types[node.input[0]]) if node.input[0] in types else None
    scales = known.get(node.input[_place_of_scales(node)])
    if shape is None or scales is None or scales.dtype != np.float32:
        return None
    named = next((list(own.ints) for own in node.attribute if own.name == "axes"), list(range(len(shape))))
    if len(named) != scales.size or any(not -len(shape) <= axis < len(shape) for axis in named):
        return None  # whoever handles the node says what is wrong with it
    wanted = [reachable(scale, shape[axis]) for scale, axis in zip(scales.tolist(), named, strict=True)]
    changed = np.array(wanted, np.float32)
    return None if np.array_equal(changed, scales, equal_nan=True) else (node, changed)
