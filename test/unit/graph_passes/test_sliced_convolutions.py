"""Slices of convolutions become convolutions of slices, with the numbers that they had."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mnc.core.bindings import ir
from mnc.core.context import make_context

from .random_graphs import check_unchanged


def extent_after(extent: int, kernel: int, stride: int, low: int, high: int, dilation: int) -> int:
    """Places that a window has along a dimension."""
    return (extent + low + high - (kernel - 1) * dilation - 1) // stride + 1


def module(window: tuple[int, ...], taken: range, channels: range, batch: range, group: int = 1) -> ir.Module:
    """A convolution along one dimension (extent, kernel, stride, pads below and above, dilation), and a slice of it."""
    extent, kernel, stride, low, high, dilation = window
    ranges = (batch, channels, taken)
    starts, limits, steps = (
        ", ".join(map(str, values))
        for values in ([r[0] for r in ranges], [r[-1] + 1 for r in ranges], [r.step for r in ranges])
    )
    types = f"tensor<2x2x{extent}xf32>", f"tensor<4x{2 // group}x{kernel}xf32>", "tensor<4xf32>"
    after = f"tensor<2x4x{extent_after(*window)}xf32>"
    result = f"tensor<{'x'.join(str(len(r)) for r in ranges)}xf32>"
    text = f"""func.func @main(%x: {types[0]}, %w: {types[1]}, %b: {types[2]}) -> {result} {{
      %0 = "graph.conv"(%x, %w, %b) {{strides = array<i64: {stride}>, pads = array<i64: {low}, {high}>,
        dilations = array<i64: {dilation}>, group = {group} : i64}} : ({", ".join(types)}) -> {after}
      %1 = "graph.slice"(%0) {{starts = array<i64: {starts}>, limits = array<i64: {limits}>,
        steps = array<i64: {steps}>}} : ({after}) -> {result}
      return %1 : {result} }}"""
    return ir.Module.parse(text, make_context(["graph"]))


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_numbers(data: Any) -> None:
    def draw(low: int, high: int) -> int:
        return data.draw(st.integers(low, high))

    window = draw(1, 7), draw(1, 3), draw(1, 3), draw(0, 4), draw(0, 4), draw(1, 3)
    places = extent_after(*window)
    if places < 1:
        return
    parts = [range(draw(0, n - 1), n)[: draw(1, n)] for n in (places, 4, 2)]
    first, *others = parts
    check_unchanged(module(window, first[:: draw(1, 3)], *others, group=draw(1, 2)), "simplify-tensors", 0, False, 0, 0)


def test_the_end_of_a_causal_convolution_is_not_computed() -> None:
    made = module((61, 3, 1, 8, 8, 4), range(61), range(4), range(2))
    check_unchanged(made, "simplify-tensors", 0, False, 0, 0)
    assert "slice" not in str(made) and "pads = array<i64: 8, 0>" in str(made)


@pytest.mark.parametrize(
    ("window", "taken", "channels", "group"),
    [((5, 3, 1, 9, 9, 1), range(3), range(4), 1), ((5, 3, 1, 0, 0, 1), range(2), range(3), 2)],
)
def test_what_stays(window: tuple[int, ...], taken: range, channels: range, group: int) -> None:
    """Padding only, and a part of the channels of groups."""
    made = module(window, taken, channels, range(2), group)
    check_unchanged(made, "simplify-tensors", 0, False, 0, 0)
    assert "slice" in str(made)
