"""Averages move before pointwise convolutions, with the numbers that they had; and only where that saves work."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mnc.core.bindings import ir
from mnc.core.context import make_context
from mnc.dialects.graph.shapes import window

from .random_graphs import check_unchanged


def module(data: tuple[int, ...], channels: int, group: int, fold: str, folded: list[int], *, bias: bool) -> ir.Module:
    """A pointwise convolution of data (N, C, L), and `fold` (without operand and type) of it, with its extents."""
    n, before, extent = data
    types = [f"tensor<{n}x{before}x{extent}xf32>", f"tensor<{channels}x{before // group}x1xf32>"]
    names = ["%x", "%w"]
    if bias:
        types.append(f"tensor<{channels}xf32>")
        names.append("%b")
    middle, result = f"tensor<{n}x{channels}x{extent}xf32>", f"tensor<{'x'.join(map(str, folded))}xf32>"
    arguments = ", ".join(f"{name}: {type_}" for name, type_ in zip(names, types, strict=True))
    text = f"""func.func @main({arguments}) -> {result} {{
      %0 = "graph.conv"({", ".join(names)}) {{strides = array<i64: 1>, pads = array<i64: 0, 0>,
        dilations = array<i64: 1>, group = {group} : i64}} : ({", ".join(types)}) -> {middle}
      %1 = {fold.replace("%", "%0")} : ({middle}) -> {result}
      return %1 : {result} }}"""
    return ir.Module.parse(text, make_context(["graph"]))


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_numbers(data: Any) -> None:
    def draw(low: int, high: int) -> int:
        return data.draw(st.integers(low, high))

    group = draw(1, 2)
    n, before, channels, extent = draw(1, 2), group * draw(1, 4), group * draw(1, 20), draw(1, 9)
    if data.draw(st.booleans()):
        kept, kind = data.draw(st.booleans()), data.draw(st.sampled_from(["mean", "sum", "max"]))
        fold = f'"graph.reduce"(%) {{axes = array<i64: 2>, keepdims = {str(kept).lower()}, kind = "{kind}"}}'
        folded = [n, channels, 1] if kept else [n, channels]
    else:
        kernel = draw(1, extent)
        stride, low, high = draw(1, 3), draw(0, kernel - 1), draw(0, kernel - 1)
        ceil, count = data.draw(st.booleans()), data.draw(st.booleans())
        kind = data.draw(st.sampled_from(["average", "max"]))
        places = window([extent], [kernel], [stride], [low, high], [1], ceil)
        fold = f""""graph.pool"(%) {{kind = "{kind}", kernel = array<i64: {kernel}>, strides = array<i64: {stride}>,
          pads = array<i64: {low}, {high}>, dilations = array<i64: 1>, ceil_mode = {str(ceil).lower()},
          count_include_pad = {str(count).lower()}}}"""
        folded = [n, channels, *places]
    made = module((n, before, extent), channels, group, fold, folded, bias=data.draw(st.booleans()))
    check_unchanged(made, "simplify-algebra", 0, False, 1e-9, 1e-9)


@pytest.mark.parametrize(("channels", "moves"), [(16, True), (2, False)])
def test_it_moves_where_that_saves_work(channels: int, moves: bool) -> None:
    fold = '"graph.reduce"(%) {axes = array<i64: 2>, keepdims = true, kind = "mean"}'
    made = module((1, 16, 9), channels, 1, fold, [1, channels, 1], bias=False)
    check_unchanged(made, "simplify-algebra", 0, False, 1e-9, 1e-9)
    text = str(made)
    assert (text.index("graph.reduce") < text.index("graph.conv")) == moves
