"""Attributes of a program for one of several equal layers, whose weights differ.

The body is compiled once. Where the first layer has weights it has numbers of elements, written as very small floats:
passes may cut, pad and rearrange them, and what they leave says for every word which element of which weight it is.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mnc.core.bindings import ir
from mnc.core.diagnostics import InternalError
from mnc.dialects.graph.attributes import to_numpy

FIRST = 0x1000_0000
"""Bits of the float that stands for element 0: 2.5e-29. Larger numbers are larger floats, all of them finite."""
MOST = 0x6000_0000
"""Elements that have numbers."""


def numbered(shape: Sequence[int], first: int) -> NDArray[np.float32]:
    """A tensor whose elements are numbered from `first` on."""
    count = int(np.prod(shape, dtype=np.int64))
    return (np.arange(FIRST + first, FIRST + first + count, dtype=np.uint32)).view(np.float32).reshape(shape)


def weights_attribute(weights: Sequence[Sequence[Any]]) -> Any:
    """The attribute ``mncore.weights``: of every weight the names and values in all layers, given as constants."""
    unnamed = ir.StringAttr.get("")
    names = [[op.attributes.get("onnx.name", unnamed) for op in own] for own in weights]
    values = [[op.attributes["value"] for op in own] for own in weights]
    pairs = zip(names, values, strict=True)
    entries = [{"names": ir.ArrayAttr.get(own), "values": ir.ArrayAttr.get(given)} for own, given in pairs]
    return ir.ArrayAttr.get([ir.DictAttr.get(entry) for entry in entries])


class NumberedWeights:
    """The weights behind numbers of elements, layer by layer."""

    def __init__(self, weights: Any) -> None:
        """`weights`: what `weights_attribute` makes."""
        entries = [ir.DictAttr(entry) for entry in weights]
        self._values = [[to_numpy(value).reshape(-1) for value in ir.ArrayAttr(entry["values"])] for entry in entries]
        self._names = [[ir.StringAttr(name).value for name in ir.ArrayAttr(entry["names"])] for entry in entries]
        self._starts = np.cumsum([0, *(own[0].size for own in self._values)])
        self._seen = np.zeros(len(entries), bool)

    def of(self, name: str, words: NDArray[Any]) -> list[tuple[str, NDArray[np.float32]]] | None:
        """Name and value of a constant in each layer; None if it is no weight.

        Raises InternalError for words that are numbers of another weight or none, as arithmetic on them would leave.
        """
        if words.dtype != np.float32 or not words.size:
            return None
        bits = words.view(np.uint32)
        given = (bits >= FIRST) & (bits < FIRST + int(self._starts[-1]))
        if not given.any():
            return None
        number = int(np.searchsorted(self._starts, int(bits[given][0]) - FIRST, side="right")) - 1
        first, end = (FIRST + int(self._starts[i]) for i in (number, number + 1))
        if not ((bits >= first) & (bits < end) | (bits == 0)).all():
            raise InternalError("a weight of several layers was changed while numbers stood for its elements")
        self._seen[number] = True
        places = np.where(given, bits - np.uint32(first), 0)
        names, values = self._names[number], self._values[number]
        return [
            (name.replace(names[0], own, 1) if names[0] else own, np.where(given, value[places], np.float32(0)))
            for own, value in zip(names, values, strict=True)
        ]

    def check(self) -> None:
        """Raise InternalError unless every weight has been seen: what is left of it was changed."""
        if not self._seen.all():
            raise InternalError("a weight of several layers does not appear in their program")
