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
from mnc.passes.graph.no_limit import means_no_limit


@dataclass(frozen=True)
class _Range:
    """Numbers of a type of 64 bits, and those of them that a word holds."""

    wide: Any
    word: Any

    @property
    def signed(self) -> bool:
        return self.wide.min < 0

    def is_limit(self, value: float) -> bool:
        return value in (self.wide.min, self.wide.max)

    def is_outside(self, value: float) -> bool:
        return not self.word.min <= value <= self.word.max


_RANGES = {
    "i64": _Range(np.iinfo(np.int64), np.iinfo(np.int32)), "ui64": _Range(np.iinfo(np.uint64), np.iinfo(np.uint32))
}  # fmt: skip


@dataclass(frozen=True)
class NarrowUnsigned(Pass):
    """Make unsigned integers of 64 bits those of 32.

    Arithmetic without a sign is the same in the bits that are left; what is larger is cut off, as it is by a word. Only
    constants are known to be too large, and refused: but for the limits of the type, of signed integers too, where they
    mean that there is no limit.
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
        numbers = _range_of(op.results[0].type) if len(op.results) else None
        if numbers is not None:
            if op.name == "graph.constant":
                _narrow_constant(op, numbers)
            _narrow_attributes(op, numbers)
        for result in op.results:
            result.set_type(_narrowed(result.type))
    for argument in block.arguments:
        argument.set_type(_narrowed(argument.type))
    type_ = ir.FunctionType(ir.TypeAttr(function.attributes["function_type"]).value)
    narrowed = ir.FunctionType.get(list(map(_narrowed, type_.inputs)), list(map(_narrowed, type_.results)))
    function.attributes["function_type"] = ir.TypeAttr.get(narrowed)


def _range_of(type_: ir.Type) -> _Range | None:
    """The range of a tensor's elements if they are integers of 64 bits."""
    return _RANGES.get(str(type_.element_type)) if isinstance(type_, ir.RankedTensorType) else None


def _narrowed(type_: ir.Type) -> ir.Type:
    """The tensor type with elements of 32 bits where it has unsigned ones of 64."""
    if not isinstance(type_, ir.RankedTensorType) or str(type_.element_type) != "ui64":
        return type_
    return ir.RankedTensorType.get(type_.shape, ir.IntegerType.get_unsigned(32), type_.encoding)


def _narrow_attributes(op: Any, numbers: _Range) -> None:
    """A bound beyond all numbers of 32 bits is none; other numbers of the element type must fit."""
    for name in ("min", "max", "value"):
        if name not in op.attributes or not isinstance(op.attributes[name], ir.FloatAttr):
            continue
        value = ir.FloatAttr(op.attributes[name]).value
        if not numbers.is_outside(value):
            continue
        if name == ("max" if value > 0 else "min"):
            del op.attributes[name]
        elif name == "value" and _is_no_limit(op, numbers, value):
            limit = numbers.word.max if value > 0 else numbers.word.min
            op.attributes[name] = ir.FloatAttr.get(op.attributes[name].type, float(limit))
        else:
            raise _too_large(op, int(value))


def _narrow_constant(op: Any, numbers: _Range) -> None:
    values = graph.to_numpy(op.attributes["value"])
    if values.size and np.all(values == values.flat[0]) and numbers.is_limit(values.flat[0]):
        if not _is_no_limit(op, numbers, values.flat[0]):
            raise _too_large(op, int(values.flat[0]))
        values = np.clip(values, numbers.word.min, numbers.word.max)
    if numbers.signed:
        return  # its type stays, and so do its limits: a word saturates
    if np.any(large := values > numbers.word.max):
        raise _too_large(op, int(values[large][0]))
    op.attributes["value"] = graph.dense(values.astype(np.uint32))


def _is_no_limit(op: Any, numbers: _Range, value: float) -> bool:
    """Whether a limit of the type that an operation brings is one to all who read it; 0 is a number like others."""
    if value == 0:
        return True
    largest = value > 0
    is_limit = value >= numbers.wide.max if largest else value <= numbers.wide.min
    return is_limit and means_no_limit(op.results[0], largest=largest, signed=numbers.signed)


def _too_large(op: Any, value: int) -> CompileError:
    hint = "the machine computes with 32-bit words: scale or shift the values to fit"
    return error_at(op, f"the constant {value} does not fit 32-bit integers", hint)
