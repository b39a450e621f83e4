"""The pass `narrow-unsigned`: words of the machine have 32 bits, and of unsigned integers all of them are used.

before:  %1 = "graph.add"(%x, %0) : (tensor<3xui64>, tensor<3xui64>) -> tensor<3xui64>
after:   %1 = "graph.add"(%x, %0) : (tensor<3xui32>, tensor<3xui32>) -> tensor<3xui32>
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from mnc.core.bindings import ir
from mnc.core.context import error_at
from mnc.core.diagnostics import CompileError
from mnc.core.modules import functions_of
from mnc.core.pass_base import Pass
from mnc.dialects import graph

WIDE, NARROW = np.iinfo(np.uint64).max, np.iinfo(np.uint32).max


@dataclass(frozen=True)
class NarrowUnsigned(Pass):
    """Make unsigned integers of 64 bits those of 32.

    Arithmetic without a sign is the same in the bits that are left; what is larger is cut off, as it is by a word. Only
    constants are known to be too large, and refused: but for the largest of all, which means that there is no limit.
    """

    name: ClassVar[str] = "narrow-unsigned"

    def run(self, module: ir.Module) -> None:
        """Raises CompileError for a constant that 32 bits do not hold."""
        with module.context, ir.Location.unknown():
            for function in functions_of(module):
                _narrow(function.operation)


def _narrow(function: ir.Operation) -> None:
    block = function.regions[0].blocks[0]
    for view in block.operations:
        op = view.operation
        if any(_narrowed(result.type) != result.type for result in op.results):
            if op.name == "graph.constant":
                op.attributes["value"] = graph.dense(_in_32_bits(op))
            _narrow_attributes(op)
            for result in op.results:
                result.set_type(_narrowed(result.type))
    for argument in block.arguments:
        argument.set_type(_narrowed(argument.type))
    type_ = ir.FunctionType(ir.TypeAttr(function.attributes["function_type"]).value)
    narrowed = ir.FunctionType.get(list(map(_narrowed, type_.inputs)), list(map(_narrowed, type_.results)))
    function.attributes["function_type"] = ir.TypeAttr.get(narrowed)


def _narrowed(type_: ir.Type) -> ir.Type:
    """The tensor type with elements of 32 bits where it has unsigned ones of 64."""
    if not isinstance(type_, ir.RankedTensorType) or str(type_.element_type) != "ui64":
        return type_
    return ir.RankedTensorType.get(type_.shape, ir.IntegerType.get_unsigned(32), type_.encoding)


def _narrow_attributes(op: Any) -> None:
    """A bound above all numbers of 32 bits is none; other numbers of the element type must fit."""
    for name in ("min", "max", "value"):
        if name not in op.attributes or not isinstance(op.attributes[name], ir.FloatAttr):
            continue
        value = ir.FloatAttr(op.attributes[name]).value
        if value > NARROW and name == "max":
            del op.attributes[name]
        elif value > NARROW:
            raise _too_large(op, int(value))


def _in_32_bits(op: Any) -> np.ndarray:
    values = graph.to_numpy(op.attributes["value"])
    if values.size and np.all(values == WIDE):
        return np.full(values.shape, NARROW, np.uint32)
    if np.any(large := values > NARROW):
        raise _too_large(op, int(values[large][0]))
    return values.astype(np.uint32)


def _too_large(op: Any, value: int) -> CompileError:
    hint = "the machine computes with 32-bit words: scale or shift the values to fit"
    return error_at(op, f"the constant {value} does not fit 32-bit integers", hint)
