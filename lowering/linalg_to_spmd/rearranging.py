"""Operations that only move elements: which source element each result element is, as arrays.

One description serves slices, padding, concatenation, reshapes, reversals and sliding windows alike.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mnc.core.bindings import ir
from mnc.core.context import error_at
from mnc.dialects.graph.attributes import to_numpy
from mnc.lowering.linalg_to_spmd.homes import Homes
from mnc.lowering.linalg_to_spmd.reading import Input, is_transposition, linear_form, read_generic, shape_of
from mnc.lowering.linalg_to_spmd.words import word_bits
from mnc.mncore_backend.placement.candidates import Box

RESHAPES = ("tensor.expand_shape", "tensor.collapse_shape")
PARTS = ("tensor.gather", "tensor.extract_slice", "tensor.insert_slice", "tensor.pad", "tensor.concat")
REARRANGEMENTS = (*PARTS, *RESHAPES)


@dataclass(frozen=True)
class Piece:
    """Part of a result. `numbers` makes its index map, which is as large as the result: many want to know the `box`
    only, the same if it is a box of the source."""

    source: Any
    numbers: Callable[[], NDArray[np.int64]]
    box: Box | None = None

    @cached_property
    def index_map(self) -> NDArray[np.int64]:
        """Flat source element per result element, -1 where this source gives nothing."""
        return self.numbers()


def _boxed(source: Any, result: Any, box: Box) -> Piece:
    return Piece(source, lambda: box.index_map(shape_of(source), shape_of(result)), box)


def _numbers(op: Any, name: str) -> list[int]:
    return list(ir.DenseI64ArrayAttr(op.attributes[name]))


def _flat(value: Any) -> NDArray[np.int64]:
    shape = shape_of(value)
    return np.arange(int(np.prod(shape, dtype=np.int64)), dtype=np.int64).reshape(shape)


def _slices(op: Any) -> tuple[slice, ...]:
    if any(n == ir.ShapedType.get_dynamic_size() for n in _numbers(op, "static_offsets")):
        raise error_at(op, "takes a slice whose place is known only when it runs")
    parts = zip(*(_numbers(op, f"static_{n}") for n in ("offsets", "sizes", "strides")), strict=True)
    return tuple(slice(start, start + (size - 1) * step + 1, step) for start, size, step in parts)


def _extract(op: Any) -> list[Piece]:
    source, result, taken = op.operands[0], op.results[0], _slices(op)
    if len(shape_of(result)) == len(taken):
        return [_boxed(source, result, Box(tuple(s.start for s in taken), tuple(s.step for s in taken)))]
    return [Piece(source, lambda: _flat(source)[taken].reshape(shape_of(result)))]


def _insert(op: Any) -> list[Piece]:
    source, target = op.operands[0], op.operands[1]
    place = _slices(op)

    def inner() -> NDArray[np.int64]:
        found = np.full(shape_of(target), -1, np.int64)
        found[place] = _flat(source).reshape(found[place].shape)
        return found

    def outer() -> NDArray[np.int64]:
        found = _flat(target)
        found[place] = -1
        return found

    whole = Box.at([0] * len(place))  # but for what the source replaces
    is_box = all(s.step == 1 for s in place) and len(shape_of(source)) == len(place)
    return [Piece(target, outer, whole), Piece(source, inner, Box.at([s.start for s in place]) if is_box else None)]


def _pad(op: Any) -> list[Piece]:
    return [_boxed(op.operands[0], op.results[0], Box.at(_numbers(op, "static_low")))]


def _concat(op: Any) -> list[Piece]:
    axis = ir.IntegerAttr(op.attributes["dim"]).value
    pieces, start = [], 0
    for value in op.operands:
        place = [0] * len(shape_of(value))
        place[axis] = start
        pieces.append(_boxed(value, op.results[0], Box.at(place)))
        start += shape_of(value)[axis]
    return pieces


def _reshape(op: Any) -> list[Piece]:
    return [Piece(op.operands[0], lambda: _flat(op.results[0]))]


def _gather(op: Any) -> list[Piece]:
    """Slices that constant indices choose along some dimensions; the dimensions of the indices come first."""
    source, indices = op.operands
    axes = _numbers(op, "gather_dims")

    def numbers() -> NDArray[np.int64]:
        chosen = np.moveaxis(to_numpy(indices.owner.attributes["value"]), -1, 0)
        moved = np.moveaxis(_flat(source), axes, range(len(axes)))
        return moved[tuple(chosen)].reshape(shape_of(op.results[0]))

    return [Piece(source, numbers)]


def is_reversal(op: Any) -> bool:
    """Whether an operation is its only input, read backwards along some dimensions."""
    if op.name != "linalg.generic" or len(op.operands) != 2 or len(list(op.regions[0].blocks[0].operations)) != 1:
        return False
    generic = read_generic(op.opview)
    if len(generic.inputs) != 1 or generic.inputs[0].access is not None:
        return False
    forms = [linear_form(expression) for expression in generic.inputs[0].map.results]
    in_order = [form is not None and form[0] in ({i: 1}, {i: -1}) for i, form in enumerate(forms)]
    return all(in_order) and generic.result == tuple(range(len(forms)))


def _reversal(op: Any) -> list[Piece]:
    generic = read_generic(op.opview)
    return [Piece(op.operands[0], lambda: window_map(generic.inputs[0], generic.extents))]


_HANDLERS = {
    "linalg.generic": _reversal,
    "tensor.gather": _gather,
    "tensor.extract_slice": _extract,
    "tensor.insert_slice": _insert,
    "tensor.pad": _pad,
    "tensor.concat": _concat,
    "tensor.expand_shape": _reshape,
    "tensor.collapse_shape": _reshape,
}


def pieces_of(op: Any) -> list[Piece]:
    """Pieces of the result of one of `REARRANGEMENTS`, or a reversal. Their index maps have the shape of the result."""
    return _HANDLERS[op.name](op)


def is_part_of_dram(op: Any) -> bool:
    """Whether an operation takes a slice of an argument or a constant, or chosen ones that are less than the whole, or
    reverses it, or puts zeros around it: the host arranges such parts, nobody needs the whole for them."""
    if op.name == "tensor.pad":
        return _puts_zeros(op) and _is_for_products(op.results[0]) and is_in_dram(op.operands[0])
    if op.name not in ("tensor.extract_slice", "tensor.gather") and not is_reversal(op):
        return False
    source = op.operands[0]
    if op.name == "tensor.gather" and prod(shape_of(op.results[0])) > prod(shape_of(source)):
        return False
    return is_in_dram(source)


def _puts_zeros(op: Any) -> bool:
    return has_constant_padding(op) and word_bits(padding_of(op)) == 0


def _is_for_products(value: Any) -> bool:
    """Whether only products read a value, or views and reversals of it: they get windows of it, with the same zeros, or
    have it in their layout."""
    users = [use.owner.operation for use in value.uses]
    return all(_is_for_products(op.results[0]) if _is_passed(op) else _is_product(op) for op in users)


def _is_product(op: Any) -> bool:
    return op.name == "linalg.generic" and read_generic(op.opview).kind == "contraction"


def _is_view(op: Any) -> bool:
    return op.name in RESHAPES or (op.name == "linalg.generic" and is_transposition(read_generic(op.opview)))


def _is_passed(op: Any) -> bool:
    return _is_view(op) or is_reversal(op)


def is_in_dram(value: Any) -> bool:
    """Whether a value is an argument, a constant, a part of one, or one of these under other dimensions."""
    owner = value.owner
    if isinstance(owner, ir.Block) or owner.name == "arith.constant":
        return True
    return is_in_dram(owner.operands[0]) if _is_view(owner) else is_part_of_dram(owner)


def before_reshapes(value: Any) -> Any:
    """The value that this one is another shape of."""
    while not isinstance(value.owner, ir.Block) and value.owner.name in RESHAPES:
        value = value.owner.operands[0]
    return value


LARGE = 1 << 15
"""Elements of a result from which its parts are stored one by one: four long words in every PE."""


def is_stored_in_parts(op: Any) -> bool:
    """Whether an operation only joins the parts of a large result, or gives a result another shape, and nobody but the
    host reads that: the parts are stored where they are, and the whole is never on the chip."""
    if op.name not in RESHAPES and (op.name != "tensor.concat" or prod(shape_of(op.results[0])) < LARGE):
        return False
    return all(_is_for_the_host(use) or is_stored_in_parts(use.owner.operation) for use in op.results[0].uses)


def _is_for_the_host(use: Any) -> bool:
    """Whether a value is returned here, and does not stay on the chip."""
    user = use.owner.operation
    return user.name == "func.return" and not Homes.has_home(user.parent, use.operand_number)


def stored_parts(value: Any) -> list[Piece]:
    """The parts of a result and the elements of the whole that they are; the value itself if it is stored whole. The
    `index_map` of a part has one entry per element of the part."""
    owner = value.owner
    if isinstance(owner, ir.Block) or not is_stored_in_parts(owner):
        return [Piece(value, lambda: _flat(value).reshape(-1))]
    if owner.name in RESHAPES:  # the host counts elements in their order
        return stored_parts(owner.operands[0])
    start, found = 0, []
    axis = ir.IntegerAttr(owner.attributes["dim"]).value
    for operand in owner.operands:
        taken = range(start, start + shape_of(operand)[axis])
        found += [Piece(own.source, _part_of(value, axis, taken, own)) for own in stored_parts(operand)]
        start = taken.stop
    return found


def _part_of(value: Any, axis: int, taken: range, part: Piece) -> Callable[[], NDArray[np.int64]]:
    """The elements of the whole that a part of what is `taken` of it is."""
    return lambda: _flat(value).take(taken, axis=axis).reshape(-1)[part.index_map]


def padding_value(op: Any) -> Any:
    """The scalar that `tensor.pad` fills with."""
    return list(op.regions[0].blocks[0].operations)[-1].operands[0]


def padding_of(op: Any) -> Any:
    """Scalar attribute that `tensor.pad` fills with; raises CompileError when it is not a constant."""
    yielded = padding_value(op)
    if isinstance(yielded.owner, ir.Block) or yielded.owner.name != "arith.constant":
        raise error_at(op, "pads with a value that is known only when it runs")
    return yielded.owner.attributes["value"]


def has_constant_padding(op: Any) -> bool:
    """Whether the scalar that `tensor.pad` fills with is known."""
    owner = padding_value(op).owner
    return not isinstance(owner, ir.Block) and owner.name == "arith.constant"


def padding_low(op: Any) -> list[int]:
    """Elements that `tensor.pad` puts before those of its operand, per dimension."""
    return _numbers(op, "static_low")


def evaluate(expression: Any, grid: Mapping[int, NDArray[np.int64]]) -> NDArray[np.int64]:
    """Value of an affine expression where dimension i takes the values grid[i]."""
    if isinstance(expression, ir.AffineDimExpr):
        return grid[expression.position]
    if isinstance(expression, ir.AffineConstantExpr):
        return np.int64(expression.value)  # pyright: ignore[reportReturnType]
    left, right = evaluate(expression.lhs, grid), evaluate(expression.rhs, grid)
    if isinstance(expression, ir.AffineAddExpr):
        return left + right
    if isinstance(expression, ir.AffineMulExpr):
        return left * right
    if isinstance(expression, ir.AffineModExpr):
        return left % right
    if isinstance(expression, ir.AffineFloorDivExpr):
        return left // right
    return -(-left // right)


def window_map(operand: Input, extents: tuple[int, ...]) -> NDArray[np.int64]:
    """Flat element of an operand for every point of the iteration dimensions that its map mentions."""
    shape = [extents[d] for d in operand.dims]
    grid = dict(zip(operand.dims, np.indices(shape, dtype=np.int64), strict=True))
    source = shape_of(operand.value)
    index = np.zeros(shape, np.int64)
    for expression, extent in zip(operand.map.results, source, strict=True):
        index = index * extent + evaluate(expression, grid)
    return index
