"""Transposed convolutions become convolutions by steps of one, with the numbers that they had."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mnc.core.bindings import ir
from mnc.core.context import make_context
from mnc.dialects.graph.shapes import transposed_window

from .random_graphs import check_unchanged

Dim = tuple[int, int, int, int, int, int, int]
"""Extent, kernel, stride, dilation, padding below and above, and how much wider the result is."""


def module(
    dims: list[Dim], channels: int, outputs: int, group: int = 1, has_constant: bool = False
) -> ir.Module:
    """A transposed convolution, with a bias; `has_constant`: the weight is known."""
    extents, kernel, strides, dilations, low, high, extra = (list(column) for column in zip(*dims, strict=True))
    places = transposed_window(extents, kernel, strides, low + high, dilations, extra)
    source, weight, result = (
        f"tensor<{'x'.join(map(str, shape))}xf32>"
        for shape in ((2, channels, *extents), (channels, outputs // group, *kernel), (2, outputs, *places))
    )
    bias = f"tensor<{outputs}xf32>"
    arrays = {"strides": strides, "dilations": dilations, "pads": low + high, "output_padding": extra}
    given = ", ".join(f"{name} = array<i64: {', '.join(map(str, own))}>" for name, own in arrays.items())
    count = channels * outputs // group * math.prod(kernel)
    numbers = np.random.default_rng(count).standard_normal(count).astype(np.float32)
    known = f'%w = "graph.constant"() {{value = dense<"0x{numbers.tobytes().hex()}"> : {weight}}} : () -> {weight}'
    given_weight, made_weight = ("", known) if has_constant else (f", %w: {weight}", "")
    text = f"""func.func @main(%x: {source}{given_weight}, %b: {bias}) -> {result} {{
      {made_weight}
      %0 = "graph.conv_transpose"(%x, %w, %b) {{{given}, group = {group} : i64}} :
        ({source}, {weight}, {bias}) -> {result}
      return %0 : {result} }}"""
    return ir.Module.parse(text, make_context(["graph"]))


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_numbers(data: Any) -> None:
    def draw(low: int, high: int) -> int:
        return data.draw(st.integers(low, high))

    dims: list[Dim] = []
    for _ in range(draw(1, 2)):
        extent, kernel, stride = draw(1, 4), draw(1, 6), draw(1, 4)
        dilation = draw(1, 4)
        whole = (extent - 1) * stride + dilation * (kernel - 1) + 1
        low = draw(0, min(kernel, whole - 1))
        high = draw(0, min(kernel, whole - 1 - low))
        dims.append((extent, kernel, stride, dilation, low, high, draw(0, max(stride, dilation) - 1)))
    group = draw(1, 2)
    made = module(dims, group * draw(1, 9), group * draw(1, 3), group)
    check_unchanged(made, "decompose", 0, False, 1e-9, 1e-9)


@pytest.mark.parametrize(
    ("kernel", "pad", "channels", "is_cut"),
    [
        (2, 0, 512, False),  # nothing to cut
        (3, 1, 512, False),  # as many taps where residues are aligned
        (4, 1, 32, False),  # more of them, but few channels
        (4, 1, 512, True),
    ],
)
def test_results_are_cut_where_that_takes_less_than_to_multiply_more(
    kernel: int, pad: int, channels: int, is_cut: bool
) -> None:
    made = module([(8, kernel, 2, 1, pad, pad, 0)] * 2, channels, 8)
    check_unchanged(made, "decompose,canonicalize", 0, False, 1e-9, 1e-9)
    behind = str(made).split("graph.conv")[1]
    assert ("starts = array<i64: 0, 0, 1, 1>" in behind) == is_cut


@pytest.mark.parametrize(
    ("dim", "channels", "group", "is_left"),
    [
        ((5, 3, 2, 2, 1, 1, 1), 8, 1, False),
        ((5, 3, 6, 4, 1, 0, 3), 4, 4, False),
        ((4, 2, 4, 2, 3, 2, 0), 3, 1, False),  # fewer results than steps at the end
        ((1, 3, 2, 3, 1, 1, 0), 3, 1, False),  # one element has no distance to the next
        ((6, 3, 2, 3, 2, 2, 0), 8, 4, False),  # no common divisor: zeros in the gaps
        ((6, 3, 2, 3, 2, 2, 0), 512, 1, True),  # which many channels multiply
        ((1, 1, 3, 3, 1, 0, 2), 2, 1, False),
        ((2, 2, 2, 2, 5, 0, 1), 2, 1, True),  # nothing is left between the pads
    ],
)
@pytest.mark.parametrize("is_constant", [True, False])
def test_kernels_with_gaps_over_elements_that_are_spread(
    dim: Dim, channels: int, group: int, is_left: bool, is_constant: bool
) -> None:
    made = module([dim, (3, 2, 1, 2, 0, 1, 0)], channels, 4, group, is_constant)
    check_unchanged(made, "decompose,canonicalize", 0, False, 1e-9, 1e-9)
    assert ("graph.conv_transpose" in str(made)) == is_left
