"""How many operands and results an operation declares, said before its own verifier unpacks them."""

from functools import cache
from typing import Any

from mnc.core.bindings import ext


def check_counts(op: Any) -> None:
    """Raise ValueError unless the operation has as many operands and results as its class declares."""
    operation = op.operation
    for what, found in (("operand", len(operation.operands)), ("result", len(operation.results))):
        least, most = _limits(type(op), what)
        if found < least or (most is not None and found > most):
            raise ValueError(f"expects {_text(least, most)} {what}s, found {found}")


@cache
def _limits(declared: Any, what: str) -> tuple[int, int | None]:
    """The least and the largest number; None: no limit."""
    kind = ext.OperandDef if what == "operand" else ext.ResultDef
    kinds = [field.variadicity for field in declared._fields if isinstance(field, kind)]
    most = None if ext.Variadicity.variadic in kinds else len(kinds)
    return kinds.count(ext.Variadicity.single), most


def _text(least: int, most: int | None) -> str:
    if most is None:
        return f"at least {least}"
    return str(least) if least == most else f"{least} to {most}"
