"""Strided convolutions of inputs become convolutions of blocks, with the numbers that they had."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mnc.core.bindings import ir
from mnc.core.context import make_context
from mnc.dialects.graph.shapes import window

from .random_graphs import check_unchanged

Dim = tuple[int, int, int, int, int]
"""Extent, kernel, stride, padding below and above."""


def module(
    dims: list[Dim], channels: int, before: str = "", *, bias: bool = False, read_twice: bool = False
) -> ir.Module:
    """A convolution of an input with a constant weight; `before`: an operation of one operand that stands in front."""
    extents, kernel, strides, low, high = (list(column) for column in zip(*dims, strict=True))
    ones = ", ".join(["1"] * len(dims))
    places = window(extents, kernel, strides, low + high, [1] * len(dims))
    source, weight, result = (
        f"tensor<{'x'.join(map(str, shape))}xf32>"
        for shape in ((2, channels, *extents), (3, channels, *kernel), (2, 3, *places))
    )
    shapes = [source, weight, *["tensor<3xf32>"] * bias]
    values = f"dense<{_numbers([3, channels, *kernel])}>"
    results = f"{result}, {source}" if read_twice else result
    text = f"""func.func @main(%x: {source}, %b: tensor<3xf32>) -> ({results}) {{
      %w = "graph.constant"() {{value = {values} : {weight}}} : () -> {weight}
      %y = {before.replace("@", source) or f'"graph.reshape"(%x) : ({source}) -> {source}'}
      %r = "graph.conv"(%y, %w{", %b" * bias}) {{strides = array<i64: {", ".join(map(str, strides))}>,
        pads = array<i64: {", ".join(map(str, low + high))}>, dilations = array<i64: {ones}>,
        group = 1 : i64}} : ({", ".join(shapes)}) -> {result}
      return %r{", %x" * read_twice} : {results} }}"""
    return ir.Module.parse(text, make_context(["graph"]))


def _numbers(shape: list[int], first: int = 1) -> str:
    """Different numbers of a shape as text: 1, 2, ..."""
    if not shape:
        return f"{first % 89}.0"
    each = 1
    for extent in shape[1:]:
        each *= extent
    return "[" + ", ".join(_numbers(shape[1:], first + i * each) for i in range(shape[0])) + "]"


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_numbers(data: Any) -> None:
    def draw(low: int, high: int) -> int:
        return data.draw(st.integers(low, high))

    dims: list[Dim] = []
    for _ in range(draw(1, 2)):
        kernel, low, high = draw(1, 5), draw(0, 3), draw(0, 3)
        dims.append((draw(max(1, kernel - low - high), 9), kernel, draw(1, 4), low, high))
    made = module(dims, draw(1, 9), bias=data.draw(st.booleans()))
    check_unchanged(made, "space-to-depth,canonicalize", 0, False, 1e-9, 1e-9)


IMAGE: list[Dim] = [(8, 3, 2, 1, 1), (8, 3, 2, 1, 1)]


@pytest.mark.parametrize(
    ("made", "is_taken"),
    [
        (lambda: module(IMAGE, 3), True),
        (lambda: module(IMAGE, 8), False),  # fills vectors as it is
        (lambda: module(IMAGE, 3, '"graph.exp"(%x) : (@) -> @'), False),  # would have to be moved on the chip
        (lambda: module(IMAGE, 3, read_twice=True), False),  # would come in two orders
        (lambda: module([(8, 1, 2, 0, 0), (8, 1, 2, 0, 0)], 3), False),  # skips what blocks would bring
    ],
)
def test_it_is_done_where_that_fills_vectors(made: Any, is_taken: bool) -> None:
    one = made()
    check_unchanged(one, "space-to-depth", 0, False, 1e-9, 1e-9)
    assert ("graph.transpose" in str(one)) == is_taken
