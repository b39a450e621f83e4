"""Running graph operations in numpy: one operation for constant folding, a function for tests."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from mnc.core.bindings import ir
from mnc.dialects.graph.attributes import numpy_dtype, to_numpy
from mnc.passes.graph.semantics import DEFINITIONS, structure

_TYPED = ("constant", "reshape", "broadcast_to", "cast", "bitcast")
_MOVING = frozenset(("constant", "reshape", "broadcast_to", *structure.DEFINITIONS))
"""What needs no precision: weights of half a gigabyte are transposed as they are."""


def is_defined(op: Any) -> bool:
    """Whether `evaluate_operation` knows the operation."""
    kind = op.operation.name.removeprefix("graph.")
    return op.operation.name.startswith("graph.") and (kind in _TYPED or kind in DEFINITIONS)


def python_attributes(op: Any) -> dict[str, Any]:
    """Attributes as Python values, without those of other dialects such as ``onnx.name``."""
    values = {}
    attributes = op.operation.attributes
    for entry in attributes:
        name = entry if isinstance(entry, str) else entry.name
        attribute = attributes[name]
        if "." not in name:
            values[name] = list(attribute) if isinstance(attribute, ir.DenseI64ArrayAttr) else attribute.value
    return values


def _in_own_type(value: np.ndarray, operand: Any) -> np.ndarray:
    """A value in the element type of the graph, which may be computed with in a wider one."""
    return value.astype(numpy_dtype(ir.RankedTensorType(operand.type).element_type), copy=False)


def _compute(op: Any, operands: Sequence[np.ndarray], dtype: np.dtype, shape: tuple[int, ...]) -> Any:
    kind = op.operation.name.removeprefix("graph.")
    if kind == "constant":
        return to_numpy(op.operation.attributes["value"])
    if kind == "reshape":
        return operands[0].reshape(shape)
    if kind == "broadcast_to":
        return np.broadcast_to(operands[0], shape)
    if kind == "cast":
        return operands[0] != 0 if dtype.kind == "b" else operands[0].astype(dtype)
    if kind == "bitcast":
        return _in_own_type(operands[0], op.operation.operands[0]).reshape(-1).view(dtype).reshape(shape)
    return DEFINITIONS[kind](*operands, **python_attributes(op))


def evaluate_operation(op: Any, operands: Sequence[np.ndarray], wide: bool = False) -> list[np.ndarray]:
    """Results of one graph operation.

    Float operands are computed with in double precision, so that a result is off by one rounding.

    Args:
        wide: leave float results in double precision instead of rounding them to their type.

    Raises:
        KeyError: the operation has no definition.
        ValueError: a constant that cannot be read.
    """
    moved = op.operation.name.removeprefix("graph.") in _MOVING
    wider = [
        v.astype(np.float64) if v.dtype.kind in "fV" and not moved else v for v in map(np.asarray, operands)
    ]
    types = [ir.RankedTensorType(result.type) for result in op.operation.results]
    with np.errstate(all="ignore"):
        out = _compute(op, wider, numpy_dtype(types[0].element_type), tuple(types[0].shape))
        results = []
        for value, type_ in zip(out if isinstance(out, tuple) else (out,), types, strict=True):
            dtype = numpy_dtype(type_.element_type)
            narrowed = np.asarray(value).astype(dtype, copy=False)
            if narrowed.shape != tuple(type_.shape):
                raise ValueError(f"{op.operation.name} gives shape {narrowed.shape} instead of {tuple(type_.shape)}")
            keep = wide and dtype.kind in "fV"
            results.append(np.asarray(value).astype(np.float64, copy=False) if keep else narrowed)
    return results


def evaluate(module: Any, inputs: Mapping[str, np.ndarray] | Sequence[np.ndarray], name: str = "main",
             wide: bool = False) -> list[np.ndarray]:  # fmt: skip
    """Run function `name` of a module of graph operations.

    Args:
        inputs: by position, or by the ``onnx.name`` of the arguments.
        wide: keep float values in double precision throughout, for a result without rounding errors.

    Raises:
        KeyError: there is no such function, input or definition.
    """
    functions = {ir.StringAttr(f.operation.attributes["sym_name"]).value: f for f in module.body.operations}
    block = functions[name].operation.regions[0].blocks[0]
    if isinstance(inputs, Mapping):
        attributes = functions[name].operation.attributes["arg_attrs"] if len(block.arguments) else []
        inputs = [inputs[ir.StringAttr(ir.DictAttr(entry)["onnx.name"]).value] for entry in attributes]
    values = dict(zip(block.arguments, map(np.asarray, inputs), strict=True))
    for view in block.operations:
        operands = [values[operand] for operand in view.operation.operands]
        if view.operation.name == "func.return":
            return operands
        values.update(zip(view.operation.results, evaluate_operation(view, operands, wide), strict=True))
    return []
