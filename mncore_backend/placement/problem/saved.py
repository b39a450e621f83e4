"""Problems as JSON: saved, looked at, and solved again without the model that they come from.

Every record names its class and then its fields; sets and tables are records as well. Layouts are written as in the IR.
"""

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import Any

from mnc.mncore_backend.layout import Axis, Layout, parse
from mnc.mncore_backend.placement.candidates import Box, Contraction, Operand
from mnc.mncore_backend.placement.candidates.policy import Policy
from mnc.mncore_backend.placement.candidates.windows import Window
from mnc.mncore_backend.placement.problem import (
    Loops,
    Pinned,
    Problem,
    Product,
    Reader,
    Rearrangement,
    Reshape,
    Tensor,
    Transposition,
    Use,
)

_RECORDS = (Problem, Tensor, Use, Reader, Product, Loops, Transposition, Reshape, Rearrangement, Pinned)
_CLASSES: dict[str, Any] = {c.__name__: c for c in (*_RECORDS, Contraction, Operand, Box, Policy, Window)}


def to_json(value: Any) -> Any:
    """What `json.dump` takes for a problem, or for a part of one."""
    match value:
        case Layout():
            return {"is": "Layout", "text": str(value), "shape": list(value.shape)}
        case Enum():
            return {"is": type(value).__name__, "value": value.value}
        case tuple():
            return [to_json(item) for item in value]
        case frozenset():
            return {"is": "set", "items": [to_json(item) for item in sorted(value)]}
        case Mapping():
            return {"is": "table", "items": [[to_json(key), to_json(item)] for key, item in value.items()]}
        case None | bool() | int() | float() | str():
            return value
        case _ if is_dataclass(value) and type(value).__name__ in _CLASSES:
            noted = {field.name: to_json(getattr(value, field.name)) for field in fields(value) if field.init}
            return {"is": type(value).__name__, **noted}
        case _:
            raise TypeError(f"a problem holds no {type(value).__name__}")


def from_json(data: Any) -> Any:
    """The inverse of `to_json`.

    Raises:
        ValueError: this is no saved problem, or one of another version.
    """
    if isinstance(data, list):
        return tuple(from_json(item) for item in data)
    if not isinstance(data, dict):
        return data
    rest = {key: item for key, item in data.items() if key != "is"}
    try:
        match data["is"]:
            case "Layout":
                return parse(rest["text"], tuple(rest["shape"]))
            case "Axis":
                return Axis(rest["value"])
            case "set":
                return frozenset(from_json(item) for item in rest["items"])
            case "table":
                return {from_json(key): from_json(item) for key, item in rest["items"]}
            case name:
                return _CLASSES[name](**{key: from_json(item) for key, item in rest.items()})
    except (KeyError, TypeError) as error:
        raise ValueError(f"no saved problem of this version: {error}") from None
