"""The stages below linalg know every extent."""

from typing import Any

from mnc.core.bindings import ir
from mnc.core.context import error_at
from mnc.core.spelling import spelled


def check_static(function: Any) -> None:
    """Raise CompileError for the first argument or result of an operation in a function whose extents are open."""
    block = function.regions[0].blocks[0]
    for argument in block.arguments:
        if _is_open(argument.type):
            raise error_at(function, f"its argument {argument.arg_number} has the open shape {argument.type}", _hint())
    for view in block.operations:
        for result in view.operation.results:
            if _is_open(result.type):
                raise error_at(view.operation, f"its result has the open shape {result.type}", _hint())


def _hint() -> str:
    given = spelled("--shape NAME=N,N", 'shapes={"NAME": (N, N)}')
    return f"give the shapes of the inputs when the model is imported: {given}"


def _is_open(type_: Any) -> bool:
    """Whether a tensor has an extent that is not known, or no known rank."""
    if isinstance(type_, ir.UnrankedTensorType):
        return True
    return isinstance(type_, ir.RankedTensorType) and not type_.has_static_shape
