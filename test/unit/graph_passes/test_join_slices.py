"""Functions of slices become slices of functions, with the numbers that they had."""

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mnc.core.bindings import ir
from mnc.core.context import make_context
from mnc.mncore_backend.target import chip

from .random_graphs import check_unchanged

TAKEN = ("sigmoid", "tanh", "add")
"""Functions of a slice; a sum is of two slices."""


def module(shape: tuple[int, ...], slices: list[tuple[int, int, int, str]]) -> ir.Module:
    """Functions of slices of two tensors of one shape; of each its dimension, its ends and the function of it."""
    whole = f"tensor<{'x'.join(map(str, shape))}xf32>"
    lines, types = [], []
    for i, (dim, low, high, function) in enumerate(slices):
        own = f"tensor<{'x'.join(str(high - low if d == dim else n) for d, n in enumerate(shape))}xf32>"
        starts, limits, steps = (
            ", ".join(str(at if d == dim else rest) for d, rest in enumerate(others))
            for at, others in ((low, [0] * len(shape)), (high, shape), (1, [1] * len(shape)))
        )
        taken = f"{{starts = array<i64: {starts}>, limits = array<i64: {limits}>, steps = array<i64: {steps}>}}"
        lines += [f'%{name}{i} = "graph.slice"(%{name}) {taken} : ({whole}) -> {own}' for name in "xy"]
        operands = [f"%x{i}", f"%y{i}"] if function == "add" else [f"%x{i}"]
        lines.append(
            f'%r{i} = "graph.{function}"({", ".join(operands)}) : ({", ".join([own] * len(operands))}) -> {own}'
        )
        types.append(own)
    results = ", ".join(f"%r{i}" for i in range(len(slices)))
    text = f"""func.func @main(%x: {whole}, %y: {whole}) -> ({", ".join(types)}) {{
      {" ".join(lines)}
      return {results} : {", ".join(types)} }}"""
    return ir.Module.parse(text, make_context(["graph"]))


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_numbers(data: Any) -> None:
    shape = data.draw(st.tuples(*[st.integers(1, 7)] * data.draw(st.integers(1, 3))))
    slices = []
    for _ in range(data.draw(st.integers(1, 6))):
        dim = data.draw(st.integers(0, len(shape) - 1))
        low = data.draw(st.integers(0, shape[dim] - 1))
        slices.append((dim, low, data.draw(st.integers(low + 1, shape[dim])), data.draw(st.sampled_from(TAKEN))))
    check_unchanged(module(shape, slices), "join-slices,canonicalize,cse", 0, False, 0, 0)


@pytest.mark.parametrize("function", TAKEN)
def test_parts_of_one_tensor_are_computed_once(function: str) -> None:
    made = module((3, 12), [(1, *ends, function) for ends in pairwise((0, 3, 5, 12))])
    check_unchanged(made, "join-slices,canonicalize", 0, False, 0, 0)
    assert str(made).count(f'"graph.{function}"') == 1


@pytest.mark.parametrize(("extent", "count"), [(chip().tiny_elements // 2, 1), (chip().tiny_elements, 2)])
def test_tensors_that_fill_instructions_stay_apart(extent: int, count: int) -> None:
    made = module((2, extent), [(0, *ends, "tanh") for ends in pairwise(range(3))])
    check_unchanged(made, "join-slices", 0, False, 0, 0)
    assert str(made).count('"graph.tanh"') == count


def test_slices_of_what_is_joined() -> None:
    ranges = "starts = array<i64: {0}>, limits = array<i64: {1}>, steps = array<i64: 1>"
    cut = f"{{{{{ranges}}}}} : (tensor<{{2}}xf32>) -> tensor<{{3}}xf32>"
    text = f"""func.func @main(%x: tensor<8xf32>) -> (tensor<2xf32>, tensor<2xf32>, tensor<4xf32>) {{
      %0 = "graph.slice"(%x) {cut.format(0, 4, 8, 4)}
      %1 = "graph.slice"(%x) {cut.format(4, 8, 8, 4)}
      %2 = "graph.tanh"(%0) : (tensor<4xf32>) -> tensor<4xf32>
      %3 = "graph.tanh"(%1) : (tensor<4xf32>) -> tensor<4xf32>
      %4 = "graph.slice"(%2) {cut.format(0, 2, 4, 2)}
      %5 = "graph.slice"(%2) {cut.format(2, 4, 4, 2)}
      %6 = "graph.exp"(%4) : (tensor<2xf32>) -> tensor<2xf32>
      %7 = "graph.exp"(%5) : (tensor<2xf32>) -> tensor<2xf32>
      return %6, %7, %3 : tensor<2xf32>, tensor<2xf32>, tensor<4xf32> }}"""
    made = ir.Module.parse(text, make_context(["graph"]))
    check_unchanged(made, "join-slices,canonicalize", 0, False, 0, 0)
    assert str(made).count("graph.tanh") == str(made).count("graph.exp") == 1
