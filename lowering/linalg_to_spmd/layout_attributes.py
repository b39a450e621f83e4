"""The attributes in which decisions about layouts stand on operations, and on a module what was preferred."""

from typing import Any, cast

from mnc.core.bindings import ir
from mnc.mncore_backend.target import Precision

OPERANDS, RESULT, PRECISION = "mncore.operands", "mncore.result", "mncore.precision"
PARTIAL = "mncore.partial"
"""Layout of the partial sums of a contraction, where it differs from the layout of the result."""
MATRIX = "mncore.matrix"
"""Of a contraction: which factor is the matrix, ``left`` or ``right``."""
PRICE = "mncore.price"
"""Steps of a function in these layouts, by the prices the decisions went by: what compares one policy with another."""
IS_PART = "mncore.is_part"
"""On a contraction that is a part of one, or of a function: its factors are not cut once more to come in parts."""
PREFERENCES = "mnc.preferences"
"""On a module: what decisions about layouts preferred beyond prices."""


def note_preferences(module: Any, preferences: tuple[str, ...]) -> None:
    """Note on a module what was preferred."""
    with module.context:
        names = [ir.StringAttr.get(name) for name in preferences]
        module.operation.attributes[PREFERENCES] = ir.ArrayAttr.get(names)


def preferences_of(module: Any) -> tuple[str, ...]:
    """What was preferred in a module, as far as it was noted."""
    attributes = module.operation.attributes
    return tuple(ir.StringAttr(name).value for name in attributes[PREFERENCES]) if PREFERENCES in attributes else ()


def precision_of(op: Any, default: Precision = "pseudo-single") -> Precision:
    """Of a contraction: what the model or a pass chose for it, or the default."""
    given = op.attributes.get(PRECISION)
    return default if given is None else cast(Precision, ir.StringAttr(given).value)
