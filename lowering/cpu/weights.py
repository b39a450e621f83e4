"""Large constants become arguments: compiling megabytes of data into machine code is slow."""

from typing import Any

import numpy as np

from mnc.core.bindings import ir

_DTYPES = {
    "f64": np.float64, "f32": np.float32, "f16": np.float16, "i64": np.int64, "i32": np.int32,
    "i16": np.int16, "i8": np.int8, "i1": np.bool_, "index": np.int64,
}  # fmt: skip


def dtype_of(element: ir.Type) -> np.dtype:
    """numpy dtype of a signless element type; bf16 is the one of ml_dtypes.

    Raises:
        ValueError: a type without numpy counterpart.
    """
    if str(element) == "bf16":
        import ml_dtypes

        return np.dtype(ml_dtypes.bfloat16)
    if str(element) not in _DTYPES:
        raise ValueError(f"no numpy dtype for element type {element}")
    return np.dtype(_DTYPES[str(element)])


def hoist_constants(function: ir.Operation, smallest: int) -> list[np.ndarray]:
    """Turn dense tensor constants of at least `smallest` elements into trailing arguments.

    Returns their arrays in order. The function must still work on tensors.
    """
    block = function.regions[0].blocks[0]
    arrays: list[np.ndarray] = []
    for view in list(block.operations):
        op = view.operation
        if op.name != "arith.constant" or not isinstance(op.results[0].type, ir.RankedTensorType):
            continue
        array = _array(op.attributes["value"], smallest)
        if array is None:
            continue
        argument = block.add_argument(op.results[0].type, op.location)
        op.results[0].replace_all_uses_with(argument)
        op.erase()
        arrays.append(array)
    if arrays:
        _extend_signature(function, block, len(arrays))
    return arrays


def _array(attribute: Any, smallest: int) -> np.ndarray | None:
    type_ = ir.RankedTensorType(attribute.type)
    if isinstance(attribute, ir.DenseResourceElementsAttr):
        raise ValueError("resource constants cannot be read back; import the model with dense constants")
    if not isinstance(attribute, ir.DenseElementsAttr) or attribute.is_splat or np.prod(type_.shape) < smallest:
        return None
    if str(type_.element_type) == "bf16":
        return None
    return np.array(attribute).view(dtype_of(type_.element_type)).reshape(tuple(type_.shape))


def _extend_signature(function: ir.Operation, block: ir.Block, added: int) -> None:
    old = ir.FunctionType(ir.TypeAttr(function.attributes["function_type"]).value)
    inputs = [argument.type for argument in block.arguments]
    function.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get(inputs, old.results))
    if "arg_attrs" in function.attributes:
        given = list(function.attributes["arg_attrs"])
        function.attributes["arg_attrs"] = ir.ArrayAttr.get([*given, *[ir.DictAttr.get({})] * added])
