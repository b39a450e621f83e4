"""Groups of convolutions that are merged leave the numbers as they are, and fill vectors."""

import re

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from mnc.core.bindings import ir
from mnc.core.context import make_context
from mnc.mncore_backend.placement.candidates.space import LANE_COUNT
from mnc.passes.graph.merge_groups import MergeGroups

from .random_graphs import check_unchanged

EXTENT, KERNEL = 5, 3


def module(groups: int, inputs: int, outputs: int, *, with_bias: bool) -> ir.Module:
    """A convolution of so many groups of so many channels with random kernels."""
    channels, made = groups * inputs, groups * outputs
    kernels = np.random.default_rng(0).integers(-9, 10, (made, inputs, KERNEL)).tolist()
    types = [f"tensor<2x{channels}x{EXTENT}xf32>", f"tensor<{made}x{inputs}x{KERNEL}xf32>", f"tensor<{made}xf32>"]
    names = "%x, %w, %b" if with_bias else "%x, %w"
    result = f"tensor<2x{made}x{EXTENT}xf32>"
    text = f"""func.func @main(%x: {types[0]}, %b: {types[2]}) -> {result} {{
      %w = "graph.constant"() {{value = dense<{kernels}> : tensor<{made}x{inputs}x{KERNEL}xi32>}}
        : () -> tensor<{made}x{inputs}x{KERNEL}xi32>
      %f = "graph.cast"(%w) : (tensor<{made}x{inputs}x{KERNEL}xi32>) -> {types[1]}
      %0 = "graph.conv"({names.replace("%w", "%f")}) {{strides = array<i64: 1>, pads = array<i64: 1, 1>,
        dilations = array<i64: 1>, group = {groups} : i64}} : ({", ".join(types[: 2 + with_bias])}) -> {result}
      return %0 : {result} }}"""
    return ir.Module.parse(text, make_context(["graph"]))


def groups_of(made: ir.Module) -> int:
    found = re.search(r"group = (\d+)", str(made))
    assert found is not None
    return int(found[1])


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 8), st.integers(1, 6), st.integers(1, 6), st.sampled_from([2, 4, 8]), st.booleans())
def test_numbers(groups: int, inputs: int, outputs: int, lanes: int, with_bias: bool) -> None:
    made = module(groups, inputs, outputs, with_bias=with_bias)
    check_unchanged(made, "fold-constants", 0, False, 0, 0)
    check_unchanged(made, f"merge-groups{{lanes={lanes} most=8.0}}", 0, False, 0, 0)
    merged = groups // groups_of(made)
    if merged > 1:
        assert merged * inputs % lanes == merged * outputs % lanes == 0


def test_no_more_is_multiplied_than_with_padding() -> None:
    """Groups of four fill vectors of eight in pairs; groups of six would do so in fours, with more zeros than now."""
    for channels, left in ((4, 4), (6, 8)):
        made = module(8, channels, channels, with_bias=True)
        check_unchanged(made, "fold-constants", 0, False, 0, 0)
        check_unchanged(made, "merge-groups", 0, False, 0, 0)
        assert groups_of(made) == left


def test_lanes_are_those_of_a_vector_of_the_matrix_unit() -> None:
    assert MergeGroups().lanes == LANE_COUNT
