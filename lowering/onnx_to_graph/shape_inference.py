"""Shape inference of ONNX without its propagation of values, which is done here.

ONNX's own propagation runs in native code over values that a file chooses freely, and some of them end the process.
Here, where inference leaves the shape of a node's result open, the operands that are known when compiling are evaluated
as for constants, and the inference of that one node is given their values.
"""

import math
import re
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import onnx
import onnx.numpy_helper
import onnx.shape_inference

from mnc.core.diagnostics import CompileError
from mnc.lowering.onnx_to_graph.ml_types import check_inferable
from mnc.lowering.onnx_to_graph.size_limits import check_tensor_size
from mnc.lowering.onnx_to_graph.types_left_out import static_shape, with_types_left_out

_HINT = "the onnx package refuses the model, too: correct the node, or export the model again"
_SMALL = 1024
"""Elements of a value that may say something about a shape."""


def inferred(model: onnx.ModelProto, file_name: str, strict: bool = False) -> onnx.ModelProto:
    """The model with the types that follow from those of its inputs alone.

    Raises:
        CompileError: shapes or types contradict one another (only if `strict`), or cannot exist; or an operator has
            none that inference can be asked about.
    """
    check_inferable(model, file_name)
    try:
        typed, has_unknown = with_types_left_out(model)
        # Strict inference names the reader of what has no type; the importer refuses the operator that makes it.
        return onnx.shape_inference.infer_shapes(typed, strict_mode=strict and not has_unknown)
    except (onnx.shape_inference.InferenceError, RuntimeError, ValueError, MemoryError) as error:
        text = _causes(str(error)) or type(error).__name__
        raise CompileError(f"shape inference failed: {text}", location=file_name, hint=_HINT) from None


def _causes(text: str) -> str:
    """What inference says in one line, without the nodes that only read what others could not give a type."""
    text = " ".join(text.replace("==> Context:", "").split())
    text = text.replace("[ShapeInferenceError] ", "").replace("[TypeInferenceError] ", "")
    front, *entries = re.split(r"(?=\(op_type:)", text)
    causes = [entry for entry in entries if not re.search(r"expected to have type but instead is null\s*$", entry)]
    readers = [entry for entry in causes if not re.search(r"Inference error\(s\):\s*$", entry)]
    return "".join([front, *(readers or entries)]).strip()


def sample_of(types: Mapping[str, onnx.TypeProto], name: str) -> np.ndarray | None:
    """Zeros of the type of a value, without storage of their own; None where its shape is open."""
    shape = static_shape(types[name]) if name in types else None
    if shape is None or min(shape, default=0) < 0 or math.prod(shape) >= 2**60:
        return None
    dtype = onnx.helper.tensor_dtype_to_np_dtype(types[name].tensor_type.elem_type)
    return np.broadcast_to(np.zeros((), dtype), tuple(shape))


def result_types(
    node: onnx.NodeProto, opsets: Mapping[str, int], types: Mapping[str, onnx.TypeProto],
    value_of: Callable[[str], np.ndarray | None],
) -> dict[str, onnx.TypeProto]:  # fmt: skip
    """Types of the results of one node by name, as far as ONNX infers them from the types of its operands and the
    values of the small ones."""
    domain = "" if node.domain == "ai.onnx" else node.domain
    version = opsets.get(domain, 0)
    operands = [name for name in node.input if name]
    if not onnx.defs.has(node.op_type, version, domain) or any(name not in types for name in operands):
        return {}
    data = {name: onnx.numpy_helper.from_array(value, name)
            for name in operands if _may_say(types[name]) and (value := value_of(name)) is not None
            and value.size <= _SMALL}  # fmt: skip
    schema = onnx.defs.get_schema(node.op_type, version, domain)
    imports = [onnx.helper.make_opsetid(name, number) for name, number in opsets.items()]
    own: Any = {name: types[name] for name in operands}
    try:
        found = onnx.shape_inference.infer_node_outputs(schema, node, own, data, opset_imports=imports)
        return _with_whole_extents(node, types, found, value_of) if node.op_type == "Slice" else found
    except (onnx.shape_inference.InferenceError, onnx.checker.ValidationError, RuntimeError, ValueError, MemoryError,
            KeyError, TypeError):  # fmt: skip
        return {}  # whoever handles the node says what is wrong with it


def _with_whole_extents(
    node: onnx.NodeProto, types: Mapping[str, onnx.TypeProto], found: dict[str, onnx.TypeProto],
    value_of: Callable[[str], np.ndarray | None],
) -> dict[str, onnx.TypeProto]:  # fmt: skip
    """Types of the results of a Slice whose bounds are not known, which ONNX leaves open in all dimensions: those that
    are not sliced keep their extents."""
    (data, *bounds), result = node.input, found.get(node.output[0])
    whole, count = static_shape(types[data]), static_shape(types[bounds[0]]) if bounds else None
    if whole is None or not count or result is None or len(result.tensor_type.shape.dim) != len(whole):
        return found
    axes: Any = value_of(bounds[2]) if len(bounds) > 2 and bounds[2] else np.arange(count[0])
    if axes is None:
        return found
    sliced = {int(axis) % len(whole) for axis in np.reshape(axes, -1)}
    for i, extent in enumerate(whole):
        if i not in sliced:
            result.tensor_type.shape.dim[i].dim_value = extent
    return found


def _may_say(type_: onnx.TypeProto) -> bool:
    """Whether a value of this type may be small and decide a shape: vectors and scalars are."""
    shape = static_shape(type_)
    return shape is None or (len(shape) <= 1 and math.prod(shape) <= _SMALL)


def complete(
    model: onnx.ModelProto, value_of: Callable[[str], np.ndarray | None], types: dict[str, onnx.TypeProto]
) -> None:
    """Find the shapes that inference left open, node by node; in the model and in `types`, which `value_of` may use."""
    opsets = {"" if entry.domain == "ai.onnx" else entry.domain: entry.version for entry in model.opset_import}
    declared = {value.name: value for value in (*model.graph.value_info, *model.graph.output)}
    for node in model.graph.node:
        if all(not name or (name in types and static_shape(types[name]) is not None) for name in node.output):
            continue
        for name, type_ in result_types(node, opsets, types, value_of).items():
            if not name or not type_.HasField("tensor_type") or static_shape(type_) is None:
                continue
            types[name] = type_
            value = declared.get(name) or model.graph.value_info.add(name=name)
            value.type.CopyFrom(type_)


def check_sizes(model: onnx.ModelProto, file_name: str) -> None:
    """Raise CompileError where a value of the main graph is larger than DRAM."""
    producers = {name: node for node in model.graph.node for name in node.output}
    for value in (*model.graph.input, *model.graph.value_info, *model.graph.output):
        shape = static_shape(value.type)
        if shape is not None:
            check_tensor_size(shape, f"'{value.name}'", file_name, producers.get(value.name))
