"""Through which windows a tensor is read after it has been made: tiles that are multiples of their strides spare an
exchange between all places."""

from collections.abc import Iterator, Sequence
from math import prod
from typing import Any

from mnc.lowering.linalg_to_spmd.reading import Generic, read_generic, shape_of
from mnc.lowering.linalg_to_spmd.rearranging import RESHAPES
from mnc.lowering.linalg_to_spmd.tiles import is_read_through, tiled_operands

Strides = dict[int, tuple[int, int]]
"""Per dimension of a tensor: the stride with which it is read, by others than contractions, which find out themselves
what they pay; and the product of it and all that follow."""
MOST = 16
"""Product of strides beyond which nobody looks: tiles are not that large."""


class StridesAfter:
    """Looks ahead, once for every tensor."""

    def __init__(self) -> None:
        self._known: dict[Any, Strides] = {}

    def of(self, value: Any) -> Strides:
        """The strides of the dimensions that are read with any, the largest where uses differ."""
        if value not in self._known:
            self._known[value] = {}
            found: Strides = {}
            for use in value.uses:
                for dim, strides in self._through(use.owner.operation, value).items():
                    found[dim] = max(found.get(dim, (1, 1)), strides)
            self._known[value] = found
        return self._known[value]

    def _through(self, op: Any, value: Any) -> Strides:
        if op.name == "tensor.pad":
            return self.of(op.results[0])
        if op.name != "linalg.generic":
            return {}
        generic = read_generic(op.opview)
        after = self.of(op.results[0])
        found: Strides = {}
        for dim, (d, stride) in _outputs(generic, value).items():
            later = after.get(generic.result.index(d), (1, 1)) if d in generic.result else (1, 1)
            every = min(MOST, stride * later[1])
            if every > 1:
                found[dim] = (1 if generic.kind == "contraction" else stride if stride > 1 else later[0], every)
        return found


def _outputs(generic: Generic, value: Any) -> dict[int, tuple[int, int]]:
    """For the dimensions of an input: the iteration dimension that moves along it, and by how much."""
    tiled = tiled_operands(generic)
    for number, operand in enumerate(generic.inputs):
        if number in tiled and value in (operand.value, tiled[number].source):
            windows = tiled[number].windows
            return {dim: (w.out, w.stride) for dim, w in enumerate(windows) if w.out is not None}
        if operand.value == value and operand.access is not None:
            return {dim: (d, 1) for dim, d in enumerate(operand.access) if d is not None}
    return {}


def strides_of_result(generic: Generic, after: Strides) -> Strides:
    """The same by iteration dimension of the operation that makes the tensor."""
    return {d: after[dim] for dim, d in enumerate(generic.result) if d is not None and dim in after}


def sliced_dims(value: Any, depth: int = 3) -> frozenset[int]:
    """Dimensions of a tensor, or of what reshapes and element-wise work with these dimensions make of it, of which
    slices are taken."""
    found: set[int] = set()
    for op in (use.owner.operation for use in value.uses):
        if op.name == "tensor.extract_slice":
            extents, kept = shape_of(value), shape_of(op.results[0])
            found.update(d for d, (whole, part) in enumerate(zip(extents, kept, strict=True)) if part < whole)
        elif depth and op.name in RESHAPES:
            after = op.results[0]
            found |= dims_before_reshape(shape_of(value), shape_of(after), sliced_dims(after, depth - 1))
        elif depth and op.name == "linalg.generic":
            found |= _before_loops(read_generic(op.opview), value, sliced_dims(op.results[0], depth - 1))
    return frozenset(found)


def dims_before_reshape(shape: Sequence[int], result: Sequence[int], dims: frozenset[int]) -> set[int]:
    """The dimensions of a tensor that are `dims` of what a reshape makes of it: as long, with as much behind them."""

    def known(own: Sequence[int], d: int) -> tuple[int, int]:
        return own[d], prod(own[d + 1 :])

    wanted = {known(result, d) for d in dims}
    return {d for d in range(len(shape)) if shape[d] > 1 and known(shape, d) in wanted}


def _before_loops(generic: Generic, value: Any, dims: frozenset[int]) -> set[int]:
    """The dimensions of an operand of element-wise work that are `dims` of its result."""
    if not all(generic.parallel):
        return set()
    along = {generic.result[d] for d in dims}
    accesses = [operand.access for operand in generic.inputs if operand.value == value and operand.access is not None]
    return {dim for access in accesses for dim, d in enumerate(access) if d is not None and d in along}


def sliced_of_result(generic: Generic, value: Any) -> frozenset[int]:
    """The same of the result `value` of an operation, by iteration dimension."""
    dims = sliced_dims(value)
    return frozenset(d for dim, d in enumerate(generic.result) if d is not None and dim in dims)


def contractions_that_read(value: Any, depth: int = 3) -> Iterator[tuple[Any, Any]]:
    """Contractions that read a tensor or what element-wise work with the same dimensions makes of it, with what they
    read."""
    for use in value.uses:
        op = use.owner.operation
        if op.name == "tensor.pad" and is_read_through(op):
            readers = [reader.owner.operation for reader in op.results[0].uses]
            yield from ((reader, value) for reader in readers if _contracts(reader, value))
        elif op.name == "linalg.generic":
            generic = read_generic(op.opview)
            if _contracts(op, value):
                yield op, value
            elif (
                depth
                and all(generic.parallel)
                and any(i.value == value and i.access == generic.result for i in generic.inputs)
            ):
                yield from contractions_that_read(op.results[0], depth - 1)


def _contracts(op: Any, value: Any) -> bool:
    """Whether an operation is a contraction with a factor that is `value`, as it is or in tiles."""
    if op.name != "linalg.generic":
        return False
    generic = read_generic(op.opview)
    if generic.kind != "contraction":
        return False
    tiled = tiled_operands(generic)
    direct = [operand.value for operand in generic.inputs if operand.access is not None]
    return value in [*direct, *(operand.source for operand in tiled.values())]
