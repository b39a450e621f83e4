"""Pooling with `ceil_mode` whose last window would start behind the tensor and its low padding.

Frameworks, ONNX Runtime and the reference drop that window, and from operator set 22 on ONNX says so. Its inference of
earlier sets counts the window, and contradicts what exporters declare. Such a node gets less padding, or rounds down,
which gives the same windows either way.
"""

import onnx
import onnx.shape_inference

from mnc.lowering.onnx_to_graph.types_left_out import Types, static_shape, value_types

_OPERATORS = ("MaxPool", "AveragePool", "LpPool")
COUNTED_RIGHT = 22
"""Operator set from which inference drops the window."""


def without_dropped_windows(model: onnx.ModelProto, opset: int) -> onnx.ModelProto:
    """The model with the attributes of such nodes replaced; itself if there are none."""
    while opset < COUNTED_RIGHT and any(_rounds_up(node) for node in model.graph.node):
        types = value_types(onnx.shape_inference.infer_shapes(model).graph)
        changed = next(((i, own) for i, node in enumerate(model.graph.node)
                        if _rounds_up(node) and (own := _changed(node, types)) is not None), None)  # fmt: skip
        if changed is None:
            break
        copy = onnx.ModelProto()
        copy.CopyFrom(model)
        copy.graph.node[changed[0]].CopyFrom(changed[1])
        _forget_shapes(copy.graph, changed[0])
        model = copy
    return model


def _rounds_up(node: onnx.NodeProto) -> bool:
    return (
        node.op_type in _OPERATORS
        and node.domain in ("", "ai.onnx")
        and any(entry.name == "ceil_mode" and entry.i for entry in node.attribute)
    )


def _changed(node: onnx.NodeProto, types: Types) -> onnx.NodeProto | None:
    """The node with other pads, or without `ceil_mode`; None where no window is dropped, or it cannot be said so."""
    given = {entry.name: onnx.helper.get_attribute_value(entry) for entry in node.attribute}
    shape = static_shape(types[node.input[0]]) if node.input[0] in types else None
    rank = len(given.get("kernel_shape", ()))
    if shape is None or len(shape) != rank + 2 or given.get("auto_pad", b"NOTSET") not in (b"NOTSET", b"VALID"):
        return None
    ones, extents = [1] * rank, shape[2:]
    strides, dilations = (list(given.get(name, ones)) for name in ("strides", "dilations"))
    pads = list(given["pads"]) if "pads" in given and given.get("auto_pad") != b"VALID" else [0] * (2 * rank)
    if not len(strides) == len(dilations) == rank or len(pads) != 2 * rank or min(strides, default=1) < 1:
        return None  # whoever handles the node says what is wrong with it
    less, rests = [0] * rank, [0] * rank
    for i in range(rank):
        room = extents[i] + pads[i] + pads[rank + i] - dilations[i] * (given["kernel_shape"][i] - 1) - 1
        last = -(-room // strides[i]) * strides[i]
        rests[i] = room % strides[i]
        if room >= 0 and last >= extents[i] + pads[i]:
            less[i] = room - (last - strides[i])
    if not any(less):
        return None
    if all((rest > 0) == (own > 0) for rest, own in zip(rests, less, strict=True)):
        return _with(node, ceil_mode=0)
    high = [pad - own for pad, own in zip(pads[rank:], less, strict=True)]
    return _with(node, auto_pad="NOTSET", pads=[*pads[:rank], *high]) if min(high) >= 0 else None


def _with(node: onnx.NodeProto, **attributes: object) -> onnx.NodeProto:
    copy = onnx.NodeProto()
    copy.CopyFrom(node)
    kept = [entry for entry in node.attribute if entry.name not in attributes]
    del copy.attribute[:]
    copy.attribute.extend([*kept, *(onnx.helper.make_attribute(name, value) for name, value in attributes.items())])
    return copy


def _forget_shapes(graph: onnx.GraphProto, first: int) -> None:
    """Of what is behind a node: ONNX may have inferred what is declared there."""
    behind = set(graph.node[first].output)
    for node in graph.node[first + 1 :]:
        if behind.intersection(node.input):
            behind.update(node.output)
    for value in [value for value in graph.value_info if value.name in behind]:
        graph.value_info.remove(value)
    for value in graph.output:
        if value.name in behind and value.type.HasField("tensor_type"):
            value.type.tensor_type.ClearField("shape")
