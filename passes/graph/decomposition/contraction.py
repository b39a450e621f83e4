"""Gemm; convolutions whose windows do not overlap; transposed convolutions."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mnc.core.bindings import ir
from mnc.core.rewrite import Refusal, refuse
from mnc.passes.graph.decomposition.build import Handler, flag, integer, real, value, zeros_around
from mnc.passes.graph.matching import constant, constant_of, reshaped, shape_of

PRODUCTS_PER_MOVE, WEIGHTS_PER_MOVE = 1024, 3
"""Multiplications, and weights from DRAM, that take as long as to cut one element of a result out, as measured for
transposed convolutions of 32 to 512 channels: results that are cut change their places."""


def gemm(op: Any) -> list[ir.Value]:
    """``alpha * (A' @ B') + beta * c``: transpositions and factors that do nothing are left out."""
    a, b, *rest = op.operation.operands
    a = value("transpose", a, permutation=[1, 0]) if flag(op, "transA") else a
    b = value("transpose", b, permutation=[1, 0]) if flag(op, "transB") else b
    alpha, beta = real(op, "alpha"), real(op, "beta")
    result = value("matmul", a, b)
    result = result if alpha == 1 else value("mul", result, alpha)
    for c in rest:
        result = value("add", result, c if beta == 1 else value("mul", c, beta))
    return [result]


def conv(op: Any) -> list[ir.Value] | Refusal | None:
    """Windows side by side are patches: one matrix product of the patches, as rows, with the kernels. Where windows of
    one element have gaps between them, only those elements are taken."""
    data, weight, *bias = op.operation.operands
    kernel = shape_of(weight)[2:]
    strides, pads, dilations = (tuple(op.operation.attributes[name]) for name in ("strides", "pads", "dilations"))
    if (steps := _gaps(kernel, strides, pads)) is not None:
        return [_of_some(op, steps)]
    if math.prod(kernel) == 1:
        return None
    if strides != kernel or any(pads) or set(dilations) != {1} or integer(op, "group") != 1:
        return refuse("its windows overlap, have gaps or groups, or read padding")
    batch, channels = shape_of(data)[:2]
    outputs, *places = shape_of(op.operation.results[0])[1:]
    covered = [batch, channels, *(n * k for n, k in zip(places, kernel, strict=True))]
    if covered != list(shape_of(data)):
        zeros, ones = [0] * len(covered), [1] * len(covered)
        data = value("slice", data, starts=zeros, limits=covered, steps=ones)
    cut = [batch, channels, *(extent for pair in zip(places, kernel, strict=True) for extent in pair)]
    order = [0, *range(2, len(cut), 2), 1, *range(3, len(cut), 2)]
    patches = value("transpose", reshaped(data, cut), permutation=order)
    size = channels * math.prod(kernel)
    rows = reshaped(patches, [batch, *places, size])
    kernels = value("transpose", reshaped(weight, [outputs, size]), permutation=[1, 0])
    product = value("matmul", rows, kernels)
    for shift in bias:
        product = value("add", product, shift)
    return [value("transpose", product, permutation=[0, len(places) + 1, *range(1, len(places) + 1)])]


def _gaps(kernel: Sequence[int], strides: Sequence[int], pads: Sequence[int]) -> list[int] | None:
    """Steps by which a convolution reads each dimension in which it skips elements; None if it skips none."""
    padded = [low or high for low, high in zip(pads[: len(kernel)], pads[len(kernel) :], strict=True)]
    skips = [k == 1 and not own for k, own in zip(kernel, padded, strict=True)]
    steps = [stride if skip else 1 for stride, skip in zip(strides, skips, strict=True)]
    return steps if max(steps) > 1 else None


def _of_some(op: Any, steps: Sequence[int]) -> ir.Value:
    """The convolution of the elements that it reads: those in between would be brought to where it is computed."""
    data, *others = op.operation.operands
    attributes = {name: list(op.operation.attributes[name]) for name in ("strides", "pads", "dilations")}
    attributes["strides"] = [own // step for own, step in zip(attributes["strides"], steps, strict=True)]
    limits = list(shape_of(data))
    some = value("slice", data, starts=[0] * len(limits), limits=limits, steps=[1, 1, *steps])
    return value("conv", some, *others, group=op.operation.attributes["group"], **attributes)


@dataclass(frozen=True)
class _Residues:
    """How the results of one dimension of a transposed convolution read the data: those at places o = stride * q + r,
    for every residue r, read elements q + first, ..., of which the last is `taps - 1` dilations on.

    Attributes:
        first: the first element, relative to q; negative where it lies before.
        taps: elements that some residue reads.
        low: zeros in front of the kernel, so that it is cut into `taps` pieces of one element per residue.
    """

    first: int
    taps: int
    low: int

    @staticmethod
    def of(kernel: int, stride: int, dilation: int, pad: int) -> "_Residues":
        """Of a dimension with zeros cut from its result: o = stride * i + dilation * k - pad."""
        reach = dilation * (kernel - 1)
        if stride == 1:
            return _Residues(pad - reach, kernel, 0)
        first, last = -((reach - pad) // stride), (stride - 1 + pad) // stride
        taps = last - first + 1
        return _Residues(first, taps, stride * (taps - 1 + first) - pad)


def _more_taps(channels: int, places: int, aligned: Sequence[_Residues], fewest: Sequence[_Residues]) -> bool:
    """Whether the elements that aligned residues read in vain take longer than to cut the result: they are multiplied,
    and their weights come from DRAM. `channels`: those of a group of the data, of so many `places`."""
    extra = math.prod(own.taps for own in aligned) - math.prod(own.taps for own in fewest)
    return extra * channels * (1 / PRODUCTS_PER_MOVE + 1 / (WEIGHTS_PER_MOVE * places)) > 1


def _kernels_by_residue(
    weight: ir.Value, groups: int, strides: Sequence[int], read: Sequence[_Residues], *, is_inner: bool
) -> ir.Value:
    """(C, M / groups, kernel...) as (groups * residues * M / groups, C / groups, taps...): results that lie a stride
    apart share a kernel, and what one does not read is zero. `is_inner`: as (groups * M / groups * residues, ...)."""
    channels, outputs, *kernel = shape_of(weight)
    rank, taps = len(kernel), [own.taps for own in read]
    low = [own.low for own in read]
    high = [t * s - before - k for t, s, before, k in zip(taps, strides, low, kernel, strict=True)]
    weight = zeros_around(weight, [0, 0, *low], [0, 0, *high])
    each = channels // groups
    cut = [groups, each, outputs, *(extent for pair in zip(taps, strides, strict=True) for extent in pair)]
    residues = range(4, 4 + 2 * rank, 2)
    order = [0, *([2, *residues] if is_inner else [*residues, 2]), 1, *range(3, 3 + 2 * rank, 2)]
    turned = value("transpose", reshaped(weight, cut), permutation=order)
    result = reshaped(turned, [groups * outputs * math.prod(strides), each, *taps])
    if max(taps) == 1:
        return result
    back = [-1 if t > 1 else 1 for t in taps]
    starts = [t - 1 if t > 1 else 0 for t in taps]
    limits = [-1 if t > 1 else t for t in taps]
    whole = list(shape_of(result))[:2]
    return value("slice", result, starts=[0, 0, *starts], limits=[*whole, *limits], steps=[1, 1, *back])


def _on_a_grid(
    op: Any, strides: Sequence[int], dilations: Sequence[int], steps: Sequence[int]
) -> list[ir.Value] | Refusal:
    """The places o + pad = stride * i + dilation * k are multiples of `steps`, which divide both: they are a transposed
    convolution by smaller steps, between whose results there is nothing but the bias."""
    data, weight, *bias = op.operation.operands
    rank, low = len(steps), list(op.operation.attributes["pads"])[: len(steps)]
    outer, places = shape_of(op.operation.results[0])[:2], shape_of(op.operation.results[0])[2:]
    strides, dilations = ([n // g for n, g in zip(own, steps, strict=True)] for own in (strides, dilations))
    first = [-(-p // g) for p, g in zip(low, steps, strict=True)]
    own = zip(shape_of(data)[2:], shape_of(weight)[2:], strides, dilations, first, strict=True)
    found = [(n - 1) * s + (k - 1) * d + 1 - u for n, k, s, d, u in own]
    counts = [min(-(-n // g), m) for n, g, m in zip(places, steps, found, strict=True)]
    if min(counts) < 1:
        return refuse("its pads cut all that it computes")
    high = [m - n for m, n in zip(found, counts, strict=True)]
    values = value(
        "conv_transpose", data, weight, strides=strides, dilations=dilations, pads=[*first, *high],
        output_padding=[0] * rank, group=integer(op, "group"),
    )  # fmt: skip
    before = [g * u - p for g, u, p in zip(steps, first, low, strict=True)]
    apart = reshaped(values, [*outer, *(extent for n in counts for extent in (n, 1))])
    ends = [[0, 0], [0, 0]]
    for g, zeros in zip(steps, before, strict=True):
        ends[0] += [0, zeros]
        ends[1] += [0, g - 1 - zeros]
    whole = [n * g for n, g in zip(counts, steps, strict=True)]
    after = [n - extent for n, extent in zip(places, whole, strict=True)]
    spread = reshaped(zeros_around(apart, *ends), [*outer, *whole])
    result = zeros_around(spread, [0] * (2 + rank), [0, 0, *after])
    for shift in bias:
        result = value("add", result, reshaped(shift, [outer[1], *[1] * rank]))
    return [result]


def _filled(weight: ir.Value, dilations: Sequence[int]) -> ir.Value:
    """A kernel with zeros in its gaps."""
    kernel = shape_of(weight)[2:]
    wide = [*shape_of(weight)[:2], *(d * (k - 1) + 1 for k, d in zip(kernel, dilations, strict=True))]
    if (known := constant_of(weight)) is not None:  # constants that grow are not folded where they are large
        array = np.zeros(wide, known.dtype)
        array[(..., *(slice(None, None, d) for d in dilations))] = known
        return constant(array)
    apart = [*wide[:2], *(extent for k in kernel for extent in (k, 1))]
    high = [0, 0, *(extent for d in dilations for extent in (0, d - 1))]
    spread = zeros_around(reshaped(weight, apart), [0] * len(apart), high)
    spread = reshaped(spread, [*wide[:2], *(k * d for k, d in zip(kernel, dilations, strict=True))])
    return zeros_around(spread, [0] * len(wide), [0, 0, *(1 - d for d in dilations)])


def _without_gaps(op: Any, strides: Sequence[int], dilations: Sequence[int]) -> list[ir.Value] | Refusal:
    """Steps and gaps without a common divisor: the gaps are filled with zeros, of which a residue reads its part."""
    data, weight, *bias = op.operation.operands
    low, kernel = list(op.operation.attributes["pads"])[: len(strides)], shape_of(weight)[2:]
    gaps = [d if s > 1 else 1 for s, d in zip(strides, dilations, strict=True)]
    wide = [g * (k - 1) + 1 for g, k in zip(gaps, kernel, strict=True)]
    others = [d // g for d, g in zip(dilations, gaps, strict=True)]
    read = [_Residues.of(*own) for own in zip(wide, strides, others, low, strict=True)]
    channels = shape_of(weight)[0] // integer(op, "group")
    if _more_taps(channels, math.prod(shape_of(data)[2:]), read, [_Residues(0, k, 0) for k in kernel]):
        return refuse("its elements are spread, and its kernel has gaps")
    attributes = {name: list(op.operation.attributes[name]) for name in ("pads", "output_padding")}
    attributes |= {"strides": list(strides), "dilations": others}
    return [value("conv_transpose", data, _filled(weight, gaps), *bias, group=integer(op, "group"), **attributes)]


def conv_transpose(op: Any) -> list[ir.Value] | Refusal:
    """Each residue of the place modulo the stride is a convolution of its own by steps of one: they are one convolution
    with as many times the outputs, whose results are interleaved. Nothing is multiplied by zeros between elements. The
    results begin where they are wanted, unless it takes less to cut them than to read what that needs.
    """
    data, weight, *bias = op.operation.operands
    strides, pads, dilations = (tuple(op.operation.attributes[name]) for name in ("strides", "pads", "dilations"))
    kernel, rank = shape_of(weight)[2:], len(strides)
    dilations = [1 if k == 1 else d for k, d in zip(kernel, dilations, strict=True)]
    # One element has no distance to the next: with steps as wide as the kernel it becomes a product.
    alone = [k if d == 1 else d for k, d in zip(kernel, dilations, strict=True)]
    strides = [own if n == 1 else s for n, own, s in zip(shape_of(data)[2:], alone, strides, strict=True)]
    if any(s > 1 and d > 1 for s, d in zip(strides, dilations, strict=True)):
        steps = [math.gcd(*own) for own in zip(strides, dilations, strict=True)]
        if max(steps) > 1:
            return _on_a_grid(op, strides, dilations, steps)
        return _without_gaps(op, strides, dilations)
    groups = integer(op, "group")
    batch, outputs, *places = shape_of(op.operation.results[0])
    aligned = [_Residues.of(*own) for own in zip(kernel, strides, dilations, pads[:rank], strict=True)]
    cut = [p if s > 1 else 0 for p, s in zip(pads[:rank], strides, strict=True)]
    inside = [p - c for p, c in zip(pads[:rank], cut, strict=True)]
    fewest = [_Residues.of(*own) for own in zip(kernel, strides, dilations, inside, strict=True)]
    is_cut = any(cut) and _more_taps(
        shape_of(weight)[0] // groups, math.prod(shape_of(data)[2:]), aligned, fewest
    )
    read, cut = (fewest, cut) if is_cut else (aligned, [0] * rank)
    counts = [-(-(n + c) // s) for n, c, s in zip(places, cut, strides, strict=True)]
    low = [-own.first for own in read]
    high = [
        count - n + (own.taps - 1) * d + own.first
        for count, n, own, d in zip(counts, shape_of(data)[2:], read, dilations, strict=True)
    ]
    some = zeros_around(data, [0, 0, *(min(n, 0) for n in low)], [0, 0, *(min(n, 0) for n in high)])
    around = [max(n, 0) for n in (*low, *high)]
    kernels = _kernels_by_residue(weight, groups, strides, read, is_inner=is_cut)
    residues = value("conv", some, kernels, strides=[1] * rank, dilations=dilations, pads=around, group=groups)
    result = _interleaved(residues, batch, groups, strides, is_inner=is_cut)
    ends = [n + c - count * s for n, c, count, s in zip(places, cut, counts, strides, strict=True)]
    result = zeros_around(result, [0, 0, *(-c for c in cut)], [0, 0, *ends])
    for shift in bias:
        result = value("add", result, reshaped(shift, [outputs, *[1] * rank]))
    return [result]


def _interleaved(
    residues: ir.Value, batch: int, groups: int, strides: Sequence[int], *, is_inner: bool
) -> ir.Value:
    """Results of all residues, which are channels of each group, in the order of their places. Where channels of one
    residue are neighbours, they fill vectors of the matrix unit, and residues may lie at addresses, as places do;
    residues that are neighbours (`is_inner`) are exchanged along with what is cut."""
    if math.prod(strides) == 1:
        return residues
    channels, *extents = shape_of(residues)[1:]
    rank, each = len(strides), channels // (groups * math.prod(strides))
    apart = reshaped(residues, [batch, groups, *([each, *strides] if is_inner else [*strides, each]), *extents])
    channel, first = (2, 3) if is_inner else (2 + rank, 2)
    order = [0, 1, channel, *(d for i in range(rank) for d in (3 + rank + i, first + i))]
    whole = [e * s for e, s in zip(extents, strides, strict=True)]
    return reshaped(value("transpose", apart, permutation=order), [batch, groups * each, *whole])


HANDLERS: Mapping[str, Handler] = {"gemm": gemm, "conv": conv, "conv_transpose": conv_transpose}
