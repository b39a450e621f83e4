"""Optional, OptionalGetElement, OptionalHasElement and SequenceMap as ONNX defines them.

The reference makes a list of an optional value, which OptionalGetElement then gives, and no result may be None. Of
SequenceMap it takes two sequences, or one with tensors, but not both, and no empty one.
"""

from typing import Any

import numpy as np
from onnx.reference.op_run import OpRun


class Nothing(dict[str, Any]):
    """An optional value that is not there, as a result that operators of the reference hand on."""

    def copy(self) -> "Nothing":
        """Itself: Identity copies."""
        return self


def plain(value: Any) -> Any:
    """A result of the reference as callers know it: None for what is not there."""
    return None if isinstance(value, Nothing) else value


class Optional(OpRun):
    """The value itself, if there is one."""

    def _run(self, x: Any = None, type: Any = None) -> Any:  # named as the attribute
        return (Nothing() if x is None else x,)


class OptionalGetElement(OpRun):
    """The value, which must be there."""

    def _run(self, x: Any) -> Any:
        if plain(x) is None:
            raise ValueError("the optional value is not there")
        return (x,)


class OptionalHasElement(OpRun):
    """Whether there is a value."""

    def _run(self, x: Any = None) -> Any:
        return (np.array(plain(x) is not None),)


class SequenceMap(OpRun):
    """The body for every element of a first sequence, and for those of other sequences; tensors stay the same."""

    body: Any

    def _run(self, first: list[Any], *others: Any, body: Any = None, attributes: Any = None) -> Any:
        names, count = body.input_names, len(body.output_names)
        found: list[list[Any]] = [[] for _ in range(count)]
        for i, element in enumerate(first):
            given = [element, *(other[i] if isinstance(other, list) else other for other in others)]
            results = body.run(None, dict(zip(names, given, strict=True)), attributes=attributes)
            for own, result in zip(found, results, strict=True):
                own.append(result)
        return tuple(found)
