"""Models with smaller extents: one extent is replaced wherever it occurs."""

from collections.abc import Iterator

import numpy as np
import onnx
from onnx import numpy_helper

from mnc.reduction.cutting import is_static

_FEW = 64
"""Elements of an integer constant that may hold extents."""


def extents(model: onnx.ModelProto) -> list[int]:
    """Extents above 1 of inputs and weights, the largest first."""
    found = {extent for shape in _shapes(model) for extent in shape if extent > 1}
    return sorted(found, reverse=True)


def _shapes(model: onnx.ModelProto) -> Iterator[list[int]]:
    for value in model.graph.input:
        yield [dim.dim_value for dim in value.type.tensor_type.shape.dim]
    for tensor in model.graph.initializer:
        yield list(tensor.dims)


def smaller(extent: int) -> list[int]:
    """What to try in the place of an extent, the boldest first."""
    return list(dict.fromkeys(value for value in (1, 2, extent // 4, extent // 2, extent - 1) if 0 < value < extent))


def with_extent(model: onnx.ModelProto, old: int, new: int, only: str | None = None) -> onnx.ModelProto | None:
    """The model with `new` in the place of every extent `old` of inputs and weights, and of numbers that say shapes; of
    the input `only`, if given. None where ONNX finds that it no longer fits together."""
    made = onnx.ModelProto()
    made.CopyFrom(model)
    graph = made.graph
    del graph.value_info[:]
    for value in graph.input:
        if only in (None, value.name):
            for dim in value.type.tensor_type.shape.dim:
                dim.dim_value = new if dim.dim_value == old else dim.dim_value
    if only is None:
        for tensor in graph.initializer:
            tensor.CopyFrom(_smaller_tensor(tensor, old, new))
    fixed = {value.name for value in graph.output if is_static(value)}
    for value in graph.output:
        value.type.tensor_type.ClearField("shape")
    return _inferred(made, fixed)


def _smaller_tensor(tensor: onnx.TensorProto, old: int, new: int) -> onnx.TensorProto:
    array = numpy_helper.to_array(tensor)
    if array.dtype == np.int64 and array.size <= _FEW:
        array = np.where(array == old, new, array)
    kept = tuple(slice(new) if extent == old else slice(None) for extent in array.shape)
    return numpy_helper.from_array(np.ascontiguousarray(array[kept]).reshape(array[kept].shape), tensor.name)


def _inferred(model: onnx.ModelProto, fixed: set[str]) -> onnx.ModelProto | None:
    """The model with inferred shapes; outputs among `fixed` had static ones and must have them again."""
    try:
        made = onnx.shape_inference.infer_shapes(model, check_type=True, strict_mode=True, data_prop=True)
        onnx.checker.check_model(made)
    except Exception:  # onnx raises errors of several kinds for models that do not fit together
        return None
    return made if all(is_static(value) for value in made.graph.output if value.name in fixed) else None
