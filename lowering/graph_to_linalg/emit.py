"""Building blocks of the lowering: tensors, fills, and `linalg.generic` in its canonical forms.

Every function works at the current insertion point and location.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from mnc.core.bindings import arith, ir, linalg, tensor

Body = Callable[..., ir.Value]
Map = Sequence[Any]
"""Results of an indexing map: a loop number, or an affine expression over the loops."""


def shape_of(value: ir.Value) -> tuple[int, ...]:
    """Static shape of a tensor value."""
    return tuple(ir.RankedTensorType(value.type).shape)


def element_of(value: ir.Value) -> ir.Type:
    """Element type of a tensor value, signless: what scalars of it have after the lowering."""
    return signless(ir.RankedTensorType(value.type).element_type)


def is_float(element: ir.Type) -> bool:
    """True for f16, bf16, f32 and f64."""
    return isinstance(element, ir.FloatType)


def signless(element: ir.Type) -> ir.Type:
    """The type that arith works on: ``ui8`` becomes ``i8``, others stay."""
    if isinstance(element, ir.IntegerType) and not element.is_signless:
        return ir.IntegerType.get_signless(element.width)
    return element


def is_unsigned(element: ir.Type) -> bool:
    """True for ui8 ... ui64 and for i1, whose true is 1 and not -1."""
    return isinstance(element, ir.IntegerType) and (element.is_unsigned or element.width == 1)


def tensor_type(shape: Sequence[int], element: ir.Type) -> ir.RankedTensorType:
    """Ranked tensor type; unsigned element types become signless."""
    return ir.RankedTensorType.get(list(shape), signless(element))


def scalar(value: float, element: ir.Type) -> ir.Value:
    """`arith.constant` of a scalar; infinities are allowed for floats."""
    element = signless(element)
    if is_float(element):
        return arith.ConstantOp(element, ir.FloatAttr.get(element, float(value))).result
    return arith.ConstantOp(element, ir.IntegerAttr.get(element, _wrapped(int(value), element))).result


def _wrapped(value: int, element: ir.Type) -> int:
    """`value` as the signed integer of the same bits."""
    if isinstance(element, ir.IntegerType) and element.width > 1 and value >= 1 << (element.width - 1):
        return value - (1 << element.width)
    return value


def lowest(element: ir.Type) -> float:
    """Neutral value of a maximum."""
    if is_float(element):
        return -math.inf
    assert isinstance(element, ir.IntegerType)
    return 0 if is_unsigned(element) else -(1 << (element.width - 1))


def highest(element: ir.Type) -> float:
    """Neutral value of a minimum."""
    if is_float(element):
        return math.inf
    assert isinstance(element, ir.IntegerType)
    return (1 << element.width) - 1 if is_unsigned(element) else (1 << (element.width - 1)) - 1


def empty(shape: Sequence[int], element: ir.Type) -> ir.Value:
    """`tensor.empty`."""
    return tensor.EmptyOp(list(shape), signless(element)).result


def filled(shape: Sequence[int], element: ir.Type, value: float) -> ir.Value:
    """`linalg.fill` of a new tensor."""
    return linalg.fill(scalar(value, element), outs=[empty(shape, element)])


def constant(array: np.ndarray, element: ir.Type) -> ir.Value:
    """Dense `arith.constant` of an array whose dtype has the width of `element`."""
    element = signless(element)
    array = np.array(array, order="C", copy=None)
    if array.dtype.kind == "u":
        array = array.view(f"i{array.dtype.itemsize}")
    value = ir.DenseElementsAttr.get(array, shape=list(array.shape), type=element)
    return arith.ConstantOp(tensor_type(array.shape, element), value).result


def affine_map(loops: int, results: Map) -> ir.AffineMap:
    """Indexing map with `loops` dimensions; integers among `results` name loops."""
    exprs = [ir.AffineExpr.get_dim(r) if isinstance(r, int) else r for r in results]
    return ir.AffineMap.get(loops, 0, exprs)


def zero_index() -> ir.AffineExpr:
    """The map result that reads a broadcast dimension of extent 1."""
    return ir.AffineExpr.get_constant(0)


_ITERATOR = {"p": "parallel", "r": "reduction"}


def generic(
    inputs: Sequence[ir.Value],
    maps: Sequence[Map],
    inits: Sequence[ir.Value],
    iterators: str,
    body: Callable[..., Any],
) -> Any:
    """`linalg.generic`.

    Args:
        maps: one per input, then one per init.
        iterators: one letter per loop, ``p`` (parallel) or ``r`` (reduction).
        body: called with the scalar of every input and init; returns the value, or the list of
            values, to yield. It builds scalar operations at the insertion point.

    Returns:
        The result tensor, or the list of results when there are several inits.
    """
    kinds = [ir.Attribute.parse(f"#linalg.iterator_type<{_ITERATOR[letter]}>") for letter in iterators]
    op = linalg.GenericOp(
        [init.type for init in inits],
        list(inputs),
        list(inits),
        ir.ArrayAttr.get([ir.AffineMapAttr.get(affine_map(len(iterators), m)) for m in maps]),
        ir.ArrayAttr.get(kinds),
    )
    location = op.location
    elements = [element_of(value) for value in (*inputs, *inits)]
    block = op.regions[0].blocks.append(*elements, arg_locs=[location] * len(elements))
    with ir.InsertionPoint(block):
        yielded = body(*block.arguments)
        linalg.YieldOp(yielded if isinstance(yielded, list | tuple) else [yielded])
    return op.results[0] if len(inits) == 1 else list(op.results)


def broadcast_map(shape: Sequence[int], result: Sequence[int]) -> list[Any]:
    """Map of an operand that broadcasts to `result`: leading loops dropped, extent 1 read at 0."""
    offset = len(result) - len(shape)
    return [zero_index() if extent == 1 and result[offset + i] != 1 else offset + i for i, extent in enumerate(shape)]


def pointwise(inputs: Sequence[ir.Value], shape: Sequence[int], element: ir.Type, body: Body) -> ir.Value:
    """Element-wise `linalg.generic` over `shape`; inputs broadcast as in numpy.

    `body` gets the scalars of the inputs only.
    """
    maps = [broadcast_map(shape_of(value), shape) for value in inputs]
    identity = list(range(len(shape)))
    return generic(
        inputs, [*maps, identity], [empty(shape, element)], "p" * len(shape), lambda *scalars: body(*scalars[:-1])
    )


def reduction(source: ir.Value, axes: Sequence[int], neutral: float, combine: Body) -> ir.Value:
    """Reduce `axes` of `source` with one combining operation; the axes are dropped.

    `neutral` fills the accumulator; `combine(element, accumulator)` builds the operation.
    """
    shape, element = shape_of(source), element_of(source)
    kept = [i for i in range(len(shape)) if i not in axes]
    init = filled([shape[i] for i in kept], element, neutral)
    if not axes:
        # Nothing to combine, and linalg wants the accumulator used.
        return source
    iterators = "".join("r" if i in axes else "p" for i in range(len(shape)))
    return generic([source], [list(range(len(shape))), kept], [init], iterators, combine)
