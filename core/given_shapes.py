"""Shapes as a caller writes them, brought into one form."""

from collections.abc import Mapping, Set
from operator import index
from typing import Any

import numpy as np

from mnc.core.diagnostics import CompileError
from mnc.core.sequences import element_name


def read_shapes(given: Any) -> dict[str, tuple[int, ...] | None]:
    """Shapes by names of inputs, as tuples; a number is an extent by its name. A list of shapes becomes its length and
    the shapes of its elements. Raises CompileError."""
    if not isinstance(given, Mapping):
        message = f"the shapes are a value of type {type(given).__name__}"
        raise CompileError(message, hint='give a mapping such as {"x": (1, 64)}')
    shapes: dict[str, tuple[int, ...] | None] = {}
    for name, value in given.items():
        if isinstance(value, list | tuple) and value and all(isinstance(item, list | tuple) for item in value):
            shapes[str(name)] = (len(value),)
            shapes |= {element_name(str(name), i): _shape(name, item) for i, item in enumerate(value)}
        else:
            shapes[str(name)] = None if value is None else _shape(name, value)
    return shapes


def _shape(name: str, value: Any) -> tuple[int, ...]:
    try:
        extents = (value,) if np.ndim(value) == 0 else tuple(value)
        numbers = tuple(-1 if isinstance(extent, bool | np.bool_) else index(extent) for extent in extents)
    except (TypeError, ValueError):  # what numpy says of a ragged list
        numbers = (-1,)
    if isinstance(value, str | Set | Mapping) or min(numbers, default=0) < 0:
        hint = "write a shape as (1, 64), and an extent by its name as 64"
        raise CompileError(f"the shape of '{name}' cannot be {value!r}", hint=hint)
    return numbers


__all__ = ["read_shapes"]
