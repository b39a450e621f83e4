"""Gemm; convolutions whose windows do not overlap; transposed convolutions."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from mnc.core.bindings import ir
from mnc.core.rewrite import Refusal, refuse
from mnc.passes.graph.decomposition.build import Handler, flag, integer, real, value
from mnc.passes.graph.matching import reshaped, shape_of


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


def _zeros_around(operand: ir.Value, low: Sequence[int], high: Sequence[int]) -> ir.Value:
    """Zeros on both sides of every dimension, which negative numbers cut instead."""
    shape = shape_of(operand)
    starts = [max(-n, 0) for n in low]
    limits = [extent - max(-n, 0) for extent, n in zip(shape, high, strict=True)]
    if any(starts) or limits != list(shape):
        operand = value("slice", operand, starts=starts, limits=limits, steps=[1] * len(shape))
    before, after = [max(n, 0) for n in low], [max(n, 0) for n in high]
    if not any(before) and not any(after):
        return operand
    return value("pad", operand, low=before, high=after, value=0.0, mode="constant")


def _kernels_by_phase(weight: ir.Value, groups: int, strides: Sequence[int], taps: Sequence[int]) -> ir.Value:
    """(C, M / groups, kernel...) as (M * phases, C / groups, taps...): results that lie a stride apart share a
    kernel."""
    channels, outputs, *kernel = shape_of(weight)
    rank = len(kernel)
    wide = [t * s for t, s in zip(taps, strides, strict=True)]
    weight = _zeros_around(weight, [0] * (2 + rank), [0, 0, *(w - k for w, k in zip(wide, kernel, strict=True))])
    each = channels // groups
    cut = [groups, each, outputs, *(extent for pair in zip(taps, strides, strict=True) for extent in pair)]
    order = [0, 2, *range(4, 4 + 2 * rank, 2), 1, *range(3, 3 + 2 * rank, 2)]
    turned = value("transpose", reshaped(weight, cut), permutation=order)
    result = reshaped(turned, [groups * outputs * math.prod(strides), each, *taps])
    if max(taps) == 1:
        return result
    back = [-1 if t > 1 else 1 for t in taps]
    starts = [t - 1 if t > 1 else 0 for t in taps]
    limits = [-1 if t > 1 else t for t in taps]
    whole = list(shape_of(result))[:2]
    return value("slice", result, starts=[0, 0, *starts], limits=[*whole, *limits], steps=[1, 1, *back])


def conv_transpose(op: Any) -> list[ir.Value] | Refusal:
    """Each residue of the place modulo the stride is a convolution of its own by steps of one: they are one convolution
    with as many times the outputs, whose results are interleaved. Nothing is multiplied by zeros between elements.
    """
    data, weight, *bias = op.operation.operands
    strides, pads, dilations = (tuple(op.operation.attributes[name]) for name in ("strides", "pads", "dilations"))
    kernel, rank = shape_of(weight)[2:], len(strides)
    dilations = [1 if k == 1 else d for k, d in zip(kernel, dilations, strict=True)]
    # One element has no distance to the next: with steps as wide as the kernel it becomes a product.
    single = [n == 1 and d == 1 for n, d in zip(shape_of(data)[2:], dilations, strict=True)]
    strides = [k if alone else s for k, alone, s in zip(kernel, single, strides, strict=True)]
    if any(s > 1 and d > 1 for s, d in zip(strides, dilations, strict=True)):
        return refuse("its elements are spread, and its kernel has gaps")
    groups = integer(op, "group")
    batch, outputs, *places = shape_of(op.operation.results[0])
    taps = [-(-k // s) for k, s in zip(kernel, strides, strict=True)]
    kernels = _kernels_by_phase(weight, groups, strides, taps)
    reach = [d * (t - 1) for t, d in zip(taps, dilations, strict=True)]
    # What is cut from the result of steps of one is not computed.
    cut = [min(p, r) if s == 1 else 0 for p, r, s in zip(pads, reach, strides, strict=False)]
    ends = [p + n - e for p, n, e in zip(pads, places, shape_of(data)[2:], strict=False)]
    after = [max(end, 0) if s == 1 else r for end, r, s in zip(ends, reach, strides, strict=True)]
    around = [*(r - c for r, c in zip(reach, cut, strict=True)), *after]
    phases = value("conv", data, kernels, strides=[1] * rank, dilations=dilations, pads=around, group=groups)
    result = _interleaved(phases, batch, outputs, strides)
    low = [c - p for c, p in zip(cut, pads, strict=False)]
    high = [n - w - first for n, w, first in zip(places, shape_of(result)[2:], low, strict=True)]
    result = _zeros_around(result, [0, 0, *low], [0, 0, *high])
    for shift in bias:
        result = value("add", result, reshaped(shift, [outputs, *[1] * rank]))
    return [result]


def _interleaved(phases: ir.Value, batch: int, outputs: int, strides: Sequence[int]) -> ir.Value:
    """Results of all phases, channel by channel, in the order of their places."""
    if math.prod(strides) == 1:
        return phases
    extents, rank = shape_of(phases)[2:], len(strides)
    apart = reshaped(phases, [batch, outputs, *strides, *extents])
    order = [0, 1, *(d for i in range(rank) for d in (2 + rank + i, 2 + i))]
    whole = [e * s for e, s in zip(extents, strides, strict=True)]
    return reshaped(value("transpose", apart, permutation=order), [batch, outputs, *whole])


HANDLERS: Mapping[str, Handler] = {"gemm": gemm, "conv": conv, "conv_transpose": conv_transpose}
