"""Which dimensions of tensors are the batches of products somewhere in a function.

The places of one L2B or L1B best have whole batches: products of other batches need nothing of theirs. Where rows of a
matrix are made of several dimensions, and the batch is not the first of them, as in sequences of batches, nobody
would think of that who sees one operation at a time.
"""

from collections.abc import Iterable
from typing import Any

from mnc.lowering.linalg_to_spmd.reading import Generic, is_tensor, read_generic, shape_of
from mnc.lowering.linalg_to_spmd.rearranging import RESHAPES
from mnc.lowering.linalg_to_spmd.strides import dims_before_reshape

Dim = tuple[Any, int]
"""A tensor and the number of one of its dimensions."""


class Batches:
    """Dimensions that are the same through all operations of a function are one set; a set is a batch if it is one
    anywhere."""

    def __init__(self, operations: Iterable[Any]) -> None:
        """`operations`: those of a function on tensors; what is neither ``linalg.generic`` nor a reshape parts sets."""
        self._above: dict[Dim, Dim] = {}
        self._batches: set[Dim] = set()
        for op in operations:
            if op.name == "linalg.generic":
                self._read_generic(read_generic(op.opview), op.results[0])
            elif op.name in RESHAPES:
                self._read_reshape(op.operands[0], op.results[0])
        self._batches = {self._set_of(dim) for dim in self._batches}

    def of_result(self, generic: Generic) -> frozenset[int]:
        """The iteration dimensions of an operation that are batches of products, of those that its result has."""
        value = generic.op.operation.results[0]
        return frozenset(
            d for dim, d in enumerate(generic.result)
            if d is not None and generic.extents[d] > 1 and self._set_of((value, dim)) in self._batches
        )  # fmt: skip

    def _set_of(self, dim: Dim) -> Dim:
        """The dimension that stands for all of a set."""
        while (above := self._above.get(dim, dim)) != dim:
            self._above[dim] = self._above.get(above, above)
            dim = above
        return dim

    def _join(self, one: Dim, other: Dim) -> None:
        first, second = self._set_of(one), self._set_of(other)
        if first != second:
            self._above[first] = second

    def _read_generic(self, generic: Generic, value: Any) -> None:
        ends = [(operand.value, operand.access) for operand in generic.inputs if operand.access is not None]
        along: dict[int, list[Dim]] = {}
        for tensor, access in (*ends, (value, generic.result)):
            for dim, d in enumerate(access):
                if d is not None and generic.parallel[d] and generic.extents[d] > 1:
                    along.setdefault(d, []).append((tensor, dim))
        for d, dims in along.items():
            for dim in dims[1:]:
                self._join(dims[0], dim)
            if generic.kind == "contraction" and all(d in operand.dims for operand in generic.inputs):
                self._batches.add(dims[0])

    def _read_reshape(self, source: Any, result: Any) -> None:
        if not (is_tensor(source) and is_tensor(result)):
            return
        for dim in range(len(shape_of(result))):
            for before in dims_before_reshape(shape_of(source), shape_of(result), frozenset([dim])):
                self._join((source, before), (result, dim))
