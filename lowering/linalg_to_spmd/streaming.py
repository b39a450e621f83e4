"""Constant factors that are too large for local memory come in parts: each arrives when it is wanted and leaves when it
has been used.

A part is a range of one or more address digits of the layout that the whole would have. So all parts are where the
whole would be, nothing else of the product changes its place, and what they contribute to one result is added there.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from math import ceil, prod
from typing import Any

import numpy as np

from mnc.core.bindings import ir
from mnc.dialects.graph.attributes import to_numpy
from mnc.dialects.mncore import Constant
from mnc.lowering.linalg_to_spmd.reading import splat_value
from mnc.mncore_backend.layout import Axis, Digit, Layout
from mnc.mncore_backend.placement.candidates import Access, Digits, project
from mnc.mncore_backend.placement.candidates.halves import whole_matrices
from mnc.mncore_backend.placement.candidates.space import LANES
from mnc.mncore_backend.target import Precision

PARTS = "mncore.parts"
"""On a contraction: number of the factor that comes in parts, and the long words per PE that a part may take."""


def may_come_in_parts(value: Any) -> bool:
    """Whether a factor is a constant with different elements that nobody else uses."""
    owner = value.owner
    if isinstance(owner, ir.Block) or owner.name != "arith.constant" or splat_value(value) is not None:
        return False
    return len(list(value.uses)) == 1


def streamed_factor(op: Any) -> tuple[int | None, int]:
    """Which factor of a contraction comes in parts, and how large they may be, as `PARTS` says."""
    attributes = op.operation.attributes
    if PARTS not in attributes:
        return None, 0
    number, longs = ir.DenseI64ArrayAttr(attributes[PARTS])
    return number, longs


def lane_dimension(factor: Layout, access: Access, result: Layout, result_access: Access) -> int | None:
    """The dimension of a factor whose last eight values are addresses where the result has lanes: it is the matrix."""
    lanes = [d for d, own in zip(result_access, result.dims, strict=True) if _ends_in_lanes(own)]
    return next((i for i, d in enumerate(access) if d in lanes and not _ends_in_lanes(factor.dims[i])), None)


def _ends_in_lanes(digits: Digits) -> bool:
    return tuple(d for d in digits if d.size > 1)[-len(LANES) :] == LANES


@dataclass(frozen=True)
class Range:
    """Values `start` .. `start + size - 1` of a digit: number `digit` among the address digits of dimension `dim`."""

    dim: int
    digit: int
    start: int
    size: int


def _address_digits(digits: Digits) -> list[int]:
    return [i for i, d in enumerate(digits) if d.axis is Axis.ADDRESS and d.size > 1]


def parts_of(
    layout: Layout, dims: Sequence[int], longs: int, lanes: int | None = None, precision: Precision = "pseudo-single"
) -> list[tuple[Range, ...]]:
    """Cut a tensor into parts of about `longs` long words per PE, or as near to that as digits allow.

    `dims` are the dimensions that may be cut, the first preferred. The last address digit of dimension `lanes` stays
    whole: the columns of a matrix. Blocks of one matrix of halves stay together.
    """
    wanted, cuts = round(layout.local_size / longs), []
    for dim in dims:
        places = _address_digits(layout.dims[dim])
        for digit, place in enumerate(places[:-1] if dim == lanes else places):
            size = layout.dims[dim][place].size
            each = whole_matrices(ceil(size / max(1, min(size, wanted))), precision)
            if each < size:
                cuts.append([Range(dim, digit, i, min(each, size - i)) for i in range(0, size, each)])
                wanted = round(wanted / len(cuts[-1]))
    return list(product(*reversed(cuts)))


def part_layout(layout: Layout, part: Sequence[Range]) -> Layout:
    """Where a part is; dimensions that are cut have no padding, since what is beyond their end counts as zeros."""
    shape, digits = list(layout.shape), [list(own) for own in layout.dims]
    for item in part:
        place = _address_digits(layout.dims[item.dim])[item.digit]
        digits[item.dim][place] = Digit(item.size)
        shape[item.dim] = prod(d.size for d in digits[item.dim])
    return project(shape, [tuple(own) for own in digits], tuple(range(len(shape))))


def contracted_first(
    layout: Layout, access: Sequence[int | None], parallel: Sequence[bool], precision: Precision
) -> Layout:
    """The same places, with addresses in the order in which a kernel wants the elements: one index of the contracted
    dimensions after the other. What comes to it can be used before all has come. Halves want pairs of blocks of lanes
    side by side, for which the dimension with the lanes comes last."""
    contracted = [i for i, d in enumerate(access) if d is not None and not parallel[d]]
    others = [i for i in range(len(access)) if i not in contracted]
    if precision == "half":
        paired = [i for i in contracted if any(d.axis is Axis.PE for d in layout.dims[i])]
        others, contracted = others + paired, [i for i in contracted if i not in paired]
    dims = [list(own) for own in layout.dims]
    stride = 1
    for i in reversed([*contracted, *others]):
        for place in reversed(_address_digits(layout.dims[i])):
            dims[i][place] = Digit(dims[i][place].size, Axis.ADDRESS, stride)
            stride *= dims[i][place].size
    return Layout(layout.shape, tuple(map(tuple, dims)))


def elements_of(layout: Layout, dim: int, part: Sequence[Range]) -> np.ndarray:
    """Indices of a dimension that belong to a part, in order; those beyond the end of the tensor too."""
    own = layout.dims[dim]
    index = np.arange(prod(d.size for d in own)).reshape([d.size for d in own])
    for item in part:
        if item.dim == dim:
            axis = _address_digits(own)[item.digit]
            index = index.take(range(item.start, item.start + item.size), axis=axis)
    return index.reshape(-1)


def part_constant(op: Any, layout: Layout, part: Sequence[Range], type_: Any, number: int) -> Any:
    """The constant tensor in DRAM that holds a part of the value of `op`, an `arith.constant`."""
    value = to_numpy(op.attributes["value"])
    for dim in sorted({item.dim for item in part}):
        index = elements_of(layout, dim, part)
        extent = value.shape[dim]
        value = value.take(np.minimum(index, extent - 1), axis=dim)
        value[(slice(None),) * dim + (index >= extent,)] = 0
    memory = ir.MemRefType.get(list(value.shape), type_.element_type, memory_space=type_.memory_space)
    tensor = ir.RankedTensorType.get(list(value.shape), ir.RankedTensorType(op.results[0].type).element_type)
    made = Constant(memory, ir.DenseElementsAttr.get(np.ascontiguousarray(value), type=tensor))
    if "onnx.name" in op.attributes:
        name = ir.StringAttr(op.attributes["onnx.name"]).value
        made.operation.attributes["onnx.name"] = ir.StringAttr.get(f"{name}[part {number}]")
    return made.result


def ranges_attribute(part: Sequence[Range], names: Sequence[str]) -> Any:
    """The attribute `part` of a matrix product: per name of a dimension of the cut factor number of the digit,
    start and size of every range."""
    numbers: dict[str, list[int]] = {}
    for item in part:
        numbers.setdefault(names[item.dim], []).extend((item.digit, item.start, item.size))
    return ir.DictAttr.get({name: ir.DenseI64ArrayAttr.get(own) for name, own in numbers.items()})


def in_parts(
    layout: Layout,
    access: Sequence[int | None],
    parallel: Sequence[bool],
    longs: int,
    lanes: int | None,
    precision: Precision,
) -> Iterator[tuple[Layout, tuple[Range, ...], bool]]:
    """Parts of a factor that is indexed by `access`, with their layouts, and whether a part adds to what an earlier one
    has left. Contracted dimensions are cut first: that costs nothing, as sums stay where they are."""
    contracted = [i for i, d in enumerate(access) if d is not None and not parallel[d]]
    others = [i for i, d in enumerate(access) if d is not None and parallel[d]]
    for part in parts_of(layout, [*contracted, *others], longs, lanes, precision):
        adds = any(item.start > 0 for item in part if item.dim in contracted)
        yield contracted_first(part_layout(layout, part), access, parallel, precision), part, adds
