"""Reading linalg operations into plain data: extents, how operands are indexed, what kind of work it is."""

from dataclasses import dataclass
from math import prod
from typing import Any

from mnc.core.bindings import ir
from mnc.core.context import error_at
from mnc.lowering.linalg_to_spmd.words import word_type
from mnc.mncore_backend.kernels.vector.steps import steps_of
from mnc.mncore_backend.placement.candidates import Access

COMBINERS = {
    "arith.addf": "sum", "arith.maximumf": "max", "arith.maxnumf": "max", "arith.minimumf": "min",
    "arith.minnumf": "min", "arith.mulf": "prod", "arith.addi": "sum", "arith.maxsi": "max", "arith.minsi": "min",
    "arith.maxui": "umax", "arith.minui": "umin", "arith.muli": "prod", "arith.andi": "and", "arith.ori": "or",
}  # fmt: skip

DIFFERENCES = {"arith.subf": "addf", "arith.subi": "addi"}
"""What clean-ups make of the sum of an accumulator and a negated value, and the vector operation of that sum. Partial
results cannot be combined by differences: their parts are sums."""

HARDWARE_COMBINERS = ("sum", "max", "min")


@dataclass(frozen=True)
class Input:
    """A tensor operand. `access` is None when its map is more than a choice of dimensions (a window, a reversal);
    then `dims` are the iteration dimensions that occur in the map."""

    value: Any
    map: Any
    access: Access | None
    dims: tuple[int, ...]


@dataclass(frozen=True)
class Generic:
    """A `linalg.generic` with one result.

    kind: ``pointwise``, ``contraction`` (sum of products of the two inputs), ``reduction`` or ``view`` (a copy).
    `arguments` holds, per block argument, the index into `inputs`, or the scalar operand; the last is the accumulator.
    """

    op: Any
    extents: tuple[int, ...]
    parallel: tuple[bool, ...]
    inputs: tuple[Input, ...]
    arguments: tuple[Any, ...]
    init: Any
    result: Access
    kind: str
    combiner: str | None


def shape_of(value: Any) -> tuple[int, ...]:
    """Static shape of a tensor value."""
    return tuple(ir.RankedTensorType(value.type).shape)


def is_tensor(value: Any) -> bool:
    return isinstance(value.type, ir.RankedTensorType)


def maps_of(op: Any) -> list[Any]:
    """Indexing maps of a linalg operation."""
    return [ir.AffineMapAttr(attribute).value for attribute in ir.ArrayAttr(op.attributes["indexing_maps"])]


def dims_in(expression: Any) -> set[int]:
    """Iteration dimensions that occur in an affine expression."""
    if isinstance(expression, ir.AffineDimExpr):
        return {expression.position}
    if isinstance(expression, ir.AffineBinaryExpr):
        return dims_in(expression.lhs) | dims_in(expression.rhs)
    return set()


def linear_form(expression: Any) -> tuple[dict[int, int], int] | None:
    """Factors of the dimensions in an affine expression and its constant; None where it divides."""
    if isinstance(expression, ir.AffineDimExpr):
        return {expression.position: 1}, 0
    if isinstance(expression, ir.AffineConstantExpr):
        return {}, expression.value
    if not isinstance(expression, ir.AffineAddExpr | ir.AffineMulExpr):
        return None
    left, right = linear_form(expression.lhs), linear_form(expression.rhs)
    if left is None or right is None:
        return None
    if isinstance(expression, ir.AffineAddExpr):
        dims = {**left[0], **right[0]}
        return {d: left[0].get(d, 0) + right[0].get(d, 0) for d in dims}, left[1] + right[1]
    (factors, constant), (others, scale) = (left, right) if not right[0] else (right, left)
    return None if others else ({d: scale * factor for d, factor in factors.items()}, constant * scale)


def _access(map_: Any, shape: tuple[int, ...]) -> Access | None:
    """The choice of dimensions that a map is, or None. A dimension of extent 1 may be indexed by a constant 0."""
    access: list[int | None] = []
    for expression, extent in zip(map_.results, shape, strict=True):
        if isinstance(expression, ir.AffineDimExpr) and expression.position not in access:
            access.append(expression.position)
        elif extent == 1 and isinstance(expression, ir.AffineConstantExpr):
            access.append(None)
        else:
            return None
    return tuple(access)


def extents_of(op: Any, maps: list[Any], values: list[Any], rank: int) -> tuple[int, ...]:
    """Size of each iteration dimension, from the operands that are indexed by it alone. Raises CompileError."""
    extents: list[int | None] = [None] * rank
    for map_, value in zip(maps, values, strict=True):
        if not is_tensor(value):
            continue
        for expression, extent in zip(map_.results, shape_of(value), strict=True):
            if isinstance(expression, ir.AffineDimExpr):
                extents[expression.position] = extent
    known = [extent for extent in extents if extent is not None]
    if len(known) != rank:
        raise error_at(op, "an iteration dimension has no operand that gives its extent")
    return tuple(known)


def _defining_name(value: Any) -> str | None:
    return None if isinstance(value.owner, ir.Block) else value.owner.name


def _kind(block: Any, inputs: int, parallel: tuple[bool, ...]) -> tuple[str, str | None]:
    operations = list(block.operations)
    yielded = operations[-1].operands[0]
    if all(parallel):
        arguments = list(block.arguments)
        is_copy = inputs == 1 and yielded == arguments[0] and len(operations) == 1
        return ("view" if is_copy else "pointwise"), None
    name = _defining_name(yielded)
    arguments = list(block.arguments)
    accumulator = arguments[-1]
    if name in DIFFERENCES and yielded.owner.operands[0] == accumulator:
        return "reduction", "sum"
    combiner = COMBINERS.get(name or "")
    if combiner is None:
        return "unsupported", None
    a, b = yielded.owner.operands
    other = b if a == accumulator else a if b == accumulator else None
    if other is None:
        return "unsupported", None
    if name == "arith.addf" and inputs == 2 and _defining_name(other) == "arith.mulf":
        factors = list(other.owner.operands)
        if factors in (arguments[:2], arguments[1::-1]):
            return "contraction", combiner
    return "reduction", combiner


def _used(block: Any, position: int) -> bool:
    return any(True for _ in block.arguments[position].uses)


MOST_RESULTS = 32
"""Results of every channel up to which convolutions of channels by themselves are work of the vector unit: a matrix has
few rows and columns then, and its factor would hold every window once more."""


def _is_depthwise(inputs: list[Input], result: Access, extents: tuple[int, ...]) -> bool:
    """Whether a product reads windows and contracts no other dimensions; it has no columns, or a few of every one of
    several channels."""
    left, right = inputs
    own = [d for d in result if d is not None and d in right.dims and extents[d] > 1]
    columns = prod(extents[d] for d in own if d not in left.dims)
    most = MOST_RESULTS if any(d in left.dims for d in own) else 1
    inner = {d for e in left.map.results if len(dims_in(e)) > 1 for d in dims_in(e)}
    contracted = [d for d in left.dims if d not in result and d not in inner and extents[d] > 1]
    return left.access is None and right.access is not None and columns <= most and not contracted


def _is_product(inputs: list[Input], result: Access, extents: tuple[int, ...]) -> bool:
    """Whether both factors have every contracted dimension, and one of them every dimension of the result.

    A broadcast factor that became the product's own operand may lack them.
    """
    left, right = ({d for d in operand.dims if extents[d] > 1} for operand in inputs)
    wide = {d for d, extent in enumerate(extents) if extent > 1}
    kept = {d for d in result if d is not None}
    return all(operand.dims for operand in inputs) and wide - kept <= left & right and wide & kept <= left | right


def _suits_matrices(inputs: list[Input], result: Access, extents: tuple[int, ...]) -> bool:
    """Whether a sum of products has rows or columns, and so something for a matrix unit."""
    if len(inputs) != 2 or not result:
        return False
    return _is_product(inputs, result, extents) and not _is_depthwise(inputs, result, extents)


def read_generic(op: Any) -> Generic:
    """Read a `linalg.generic`; raises CompileError where it has a form that this level does not handle."""
    operation = op.operation
    if len(operation.results) != 1:
        raise error_at(op, f"has {len(operation.results)} results, one is supported")
    maps = maps_of(operation)
    iterators = [str(item) for item in ir.ArrayAttr(operation.attributes["iterator_types"])]
    parallel = tuple("parallel" in text for text in iterators)
    values = list(operation.operands)
    block = operation.regions[0].blocks[0]
    extents = extents_of(op, maps, values, len(iterators))
    inputs: list[Input] = []
    arguments: list[Any] = []
    for i, (value, map_) in enumerate(zip(values[:-1], maps[:-1], strict=True)):
        if not is_tensor(value):
            arguments.append(value)
        elif not _used(block, i):
            arguments.append(None)  # gives extents only, as the window of a pooling
        else:
            dims = tuple(sorted(set().union(*(dims_in(e) for e in map_.results))))
            arguments.append(len(inputs))
            inputs.append(Input(value, map_, _access(map_, shape_of(value)), dims))
    result = _access(maps[-1], shape_of(values[-1]))
    if result is None:
        raise error_at(op, f"writes its result through the map {maps[-1]}, which is not a choice of dimensions")
    kind, combiner = _kind(block, len(arguments), parallel)
    if kind == "unsupported":
        raise error_at(op, "combines values over a reduction dimension in a way that is not supported")
    if kind == "view" and (not inputs or inputs[0].access is None):
        kind = "pointwise"
    if kind == "contraction" and not _suits_matrices(inputs, result, extents):
        kind = "reduction"
    return Generic(op, extents, parallel, tuple(inputs), tuple(arguments), values[-1], result, kind, combiner)


def combines_across_pes(generic: Generic) -> bool:
    """Whether partial results of a reduction can be combined by the reduction network: floats, sum, max, min."""
    element = ir.RankedTensorType(generic.op.operation.results[0].type).element_type
    return generic.combiner in HARDWARE_COMBINERS and isinstance(word_type(element), ir.F32Type)


def is_transposition(generic: Generic) -> bool:
    """Whether the result is the only input with its dimensions in another order."""
    access = generic.inputs[0].access if generic.kind == "view" else None
    return access is not None and None not in access and sorted(map(str, generic.result)) == sorted(map(str, access))


def transposition_order(generic: Generic) -> list[int]:
    """Dimension of the source for each dimension of the result of a transposition."""
    access = generic.inputs[0].access
    assert access is not None  # see is_transposition
    return [access.index(d) for d in generic.result]


def _scalar_attribute(value: Any) -> Any | None:
    owner = value.owner
    return owner.attributes["value"] if not isinstance(owner, ir.Block) and owner.name == "arith.constant" else None


def _is_factor(value: Any) -> bool:
    """Whether a value is a factor of a product that suits matrices."""
    users = [use.owner.operation for use in value.uses if use.operand_number < 2]
    products = (op.opview for op in users if op.name == "linalg.generic" and len(op.operands) == 3)
    return any(read_generic(op).kind == "contraction" for op in products)


def splat_value(value: Any) -> Any | None:
    """The scalar attribute of a tensor that is the same everywhere: a splat constant or a filled tensor; else None.

    A constant that is a factor of a product is a tensor like any other: it lies in DRAM and arrives in tiles.
    """
    owner = value.owner
    if isinstance(owner, ir.Block):
        return None
    if owner.name == "arith.constant" and isinstance(owner.attributes["value"], ir.DenseElementsAttr):
        attribute = owner.attributes["value"]
        return attribute.get_splat_value() if attribute.is_splat and not _is_factor(value) else None
    if owner.name == "linalg.fill":
        return _scalar_attribute(owner.operands[0])
    if owner.name != "linalg.generic":
        return None
    block = owner.regions[0].blocks[0]
    yielded = list(block.operations)[-1].operands[0]
    for argument, operand in zip(block.arguments, owner.operands, strict=True):
        if argument == yielded and not is_tensor(operand):
            return _scalar_attribute(operand)
    return _scalar_attribute(yielded)


def body_work(op: Any) -> int:
    """Instructions of an element-wise body, roughly: as if every operation were alone."""
    *work, _ = [inner.operation for inner in op.regions[0].blocks[0].operations]
    return sum(_steps(inner) for inner in work if inner.name != "arith.constant")


def _steps(op: Any) -> int:
    operands = list(op.operands)
    of_one = op.name == "arith.divf" and _is_one(operands[0].owner)
    return steps_of(str(op.name).partition(".")[2], len(operands), of_one)


def _is_one(owner: Any) -> bool:
    is_constant = not isinstance(owner, ir.Block) and owner.name == "arith.constant"
    return is_constant and isinstance(own := owner.attributes["value"], ir.FloatAttr) and own.value == 1.0
