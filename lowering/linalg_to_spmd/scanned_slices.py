"""Slices of rows become rows of slices, so that a step of a sequence reads what it needs where it is, and cuts nothing.

before:  %row = extract_slice %x[7, 0, 0] [1, 3, 64]; %part = extract_slice %row[0, 2, 0] [1, 1, 64]
after:   %parts = extract_slice %x[0, 2, 0] [80, 1, 64]; %part = extract_slice %parts[7, 0, 0] [1, 1, 64]
"""

from dataclasses import dataclass
from typing import Any

from mnc.core.bindings import ir, tensor
from mnc.lowering.linalg_to_spmd.reading import shape_of
from mnc.lowering.linalg_to_spmd.sequences import Row, row_taken
from mnc.lowering.linalg_to_spmd.slices import Ranges, range_of, slice_of


@dataclass(frozen=True)
class _Taken:
    """A row of a tensor, the operations that take it, the second without its dimension, and the slices of it."""

    row: Row
    chain: tuple[Any, ...]
    slices: tuple[Any, ...]

    @property
    def is_dropped(self) -> bool:
        """Whether slices are of the row without its dimension."""
        return len(self.chain) > 1


def slice_before(source: Any, dim: int) -> bool:
    """Let slices of the rows of a tensor, along a dimension, be rows of slices; whether that changed anything. It does
    not where a row is read otherwise."""
    taken = [_taken(use.owner.operation, dim) for use in source.uses]
    if not taken or any(own is None for own in taken):
        return False
    made: dict[Ranges, Any] = {}
    for own in [own for own in taken if own is not None]:
        for op in own.slices:
            ranges = list(range_of(op) or ())
            if own.is_dropped:
                ranges.insert(dim, (0, 0))
            ranges[dim] = (0, shape_of(source)[dim])
            box = tuple(ranges)
            if box not in made:
                made[box] = _after(source, box)
            _replace(op, made[box], own.row)
    for op in reversed([op for own in taken if own is not None for op in own.chain]):
        op.erase()
    return True


def _taken(op: Any, dim: int) -> _Taken | None:
    """What an operation takes of a tensor, if it is a row of which only slices are read."""
    row = row_taken(op)
    if row is None or row.dim != dim:
        return None
    chain, users, whole = [op], _users(op.results[0]), shape_of(op.results[0])
    if len(users) == 1 and users[0].name == "tensor.collapse_shape":
        if shape_of(users[0].results[0]) != (*whole[:dim], *whole[dim + 1 :]):
            return None
        chain, users = [op, users[0]], _users(users[0].results[0])
    is_cut = all(own.name == "tensor.extract_slice" and range_of(own) is not None for own in users)
    return _Taken(row, tuple(chain), tuple(users)) if users and is_cut else None


def _users(value: Any) -> list[Any]:
    return [use.owner.operation for use in value.uses]


def _after(source: Any, box: Ranges) -> Any:
    """A slice of a tensor, made as soon as that is there."""
    if isinstance(source.owner, ir.Block):
        with ir.InsertionPoint.at_block_begin(source.owner), ir.Location.unknown():
            return slice_of(source, box)
    with ir.InsertionPoint.after(source.owner), source.owner.location:
        return slice_of(source, box)


def _replace(op: Any, whole: Any, row: Row) -> None:
    """Let a row of slices stand for a slice of a row."""
    ranges = [(0, extent) for extent in shape_of(whole)]
    ranges[row.dim] = (row.index, 1)
    with ir.InsertionPoint(op), op.location:
        made = slice_of(whole, ranges)
        if made.type != op.results[0].type:
            rest = [[d] for d in range(len(ranges))]
            groups = rest[: row.dim] + rest[row.dim + 1 :]
            groups[min(row.dim, len(groups) - 1)].append(row.dim)
            i64 = ir.IntegerType.get_signless(64)
            written = [ir.ArrayAttr.get([ir.IntegerAttr.get(i64, d) for d in sorted(own)]) for own in groups]
            made = tensor.CollapseShapeOp(op.results[0].type, made, ir.ArrayAttr.get(written)).result
    op.results[0].replace_all_uses_with(made)
    op.erase()
