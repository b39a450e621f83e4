"""Indices of data-dependent reads that are known when compiling: evaluating the scalar code of a body on arrays."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mnc.core.bindings import ir
from mnc.dialects.graph.attributes import to_numpy

_COMPARE = {0: np.equal, 1: np.not_equal, 2: np.less, 3: np.less_equal, 4: np.greater, 5: np.greater_equal}
_ARITHMETIC = {"arith.addi": np.add, "arith.subi": np.subtract, "arith.muli": np.multiply, "arith.maxsi": np.maximum,
               "arith.minsi": np.minimum}  # fmt: skip


def constant_array(value: Any) -> NDArray[Any] | None:
    """Elements of a constant tensor of integers, None for other values."""
    owner = value.owner
    if isinstance(owner, ir.Block) or owner.name != "arith.constant":
        return None
    attribute = owner.attributes["value"]
    is_integer = isinstance(ir.RankedTensorType(value.type).element_type, ir.IntegerType)
    return to_numpy(attribute).astype(np.int64) if is_integer else None


def evaluate_scalar(value: Any, known: Mapping[Any, NDArray[Any]]) -> NDArray[Any] | None:
    """The values a scalar of a body takes, where `known` gives those of arguments and loop indices as arrays that
    broadcast; None when it depends on anything else."""
    if value in known:
        return known[value]
    owner = value.owner
    if isinstance(owner, ir.Block):
        return None
    if owner.name == "arith.constant":
        attribute = owner.attributes["value"]
        return np.asarray(ir.IntegerAttr(attribute).value) if isinstance(attribute, ir.IntegerAttr) else None
    operands = [evaluate_scalar(operand, known) for operand in owner.operands]
    if any(operand is None for operand in operands):
        return None
    if owner.name in ("arith.index_cast", "arith.extsi"):
        return operands[0]
    if owner.name in _ARITHMETIC:
        return _ARITHMETIC[owner.name](*operands)
    if owner.name == "arith.select":
        return np.where(*operands)  # pyright: ignore[reportCallIssue, reportArgumentType]
    predicate = ir.IntegerAttr(owner.attributes["predicate"]).value if owner.name == "arith.cmpi" else -1
    return _COMPARE[predicate](*operands) if predicate in _COMPARE else None
