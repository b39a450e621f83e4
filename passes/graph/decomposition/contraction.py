"""Gemm; convolutions whose windows do not overlap."""

import math
from collections.abc import Mapping
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
    """Windows side by side are patches: one matrix product of the patches, as rows, with the kernels."""
    data, weight, *bias = op.operation.operands
    kernel = shape_of(weight)[2:]
    strides, pads, dilations = (tuple(op.operation.attributes[name]) for name in ("strides", "pads", "dilations"))
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


HANDLERS: Mapping[str, Handler] = {"gemm": gemm, "conv": conv}
