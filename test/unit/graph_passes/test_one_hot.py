"""Sums of one-hot rows become comparisons of the labels with the range."""

import numpy as np
import pytest

from mnc.core.bindings import ir
from mnc.core.context import make_context
from mnc.passes.graph.evaluate import evaluate

from .random_graphs import run_passes

TEXT = """
func.func @main(%labels: tensor<{shape}xi32>) -> tensor<{result}xf32> {{
  %row = "graph.constant"() {{value = dense<{row}> : tensor<{row_shape}xi32>}} : () -> tensor<{row_shape}xi32>
  %one = "graph.constant"() {{value = dense<0.25> : tensor<f32>}} : () -> tensor<f32>
  %zero = "graph.constant"() {{value = dense<0.0> : tensor<f32>}} : () -> tensor<f32>
  %0 = "graph.equal"({sides}) : ({types}) -> tensor<{full}xi1>
  %1 = "graph.where"(%0, %one, %zero) : (tensor<{full}xi1>, tensor<f32>, tensor<f32>) -> tensor<{full}xf32>
  %2 = "graph.reduce"(%1) {{axes = array<i64: {axis}>, keepdims = {keep}, kind = "sum"}}
    : (tensor<{full}xf32>) -> tensor<{result}xf32>
  return %2 : tensor<{result}xf32>
}}
"""
CASES = [
    ("5x1", "1x3", "[[2, 3, 4]]", "5x3", 1, "true", "5x1", True),
    ("5x1", "3", "[4, 2, 3]", "5x3", 1, "false", "5", True),
    ("1x5", "3x1", "[[2], [3], [4]]", "3x5", 0, "false", "5", True),
    ("5x1", "1x3", "[[2, 3, 5]]", "5x3", 1, "true", "5x1", False),  # 4 is missing
    ("5x1", "1x3", "[[2, 3, 3]]", "5x3", 1, "true", "5x1", False),  # 3 counts twice
    ("1x5", "3x1", "[[2], [3], [4]]", "3x5", 1, "false", "3", False),  # along the labels
]


@pytest.mark.parametrize("exchanged", [False, True])
@pytest.mark.parametrize(("shape", "row_shape", "row", "full", "axis", "keep", "result", "rewritten"), CASES)
def test_sum_of_one_hot(shape, row_shape, row, full, axis, keep, result, rewritten, exchanged) -> None:
    sides, types = ["%labels", "%row"], [f"tensor<{shape}xi32>", f"tensor<{row_shape}xi32>"]
    if exchanged:
        sides, types = sides[::-1], types[::-1]
    text = TEXT.format(
        shape=shape, row_shape=row_shape, row=row, full=full, axis=axis, keep=keep, result=result,
        sides=", ".join(sides), types=", ".join(types),
    )  # fmt: skip
    labels = np.array([1, 2, 3, 4, 5], np.int32).reshape([int(n) for n in shape.split("x")])
    with make_context(["graph"]), ir.Location.unknown():
        module = ir.Module.parse(text)
        (before,) = evaluate(module, [labels])
        run_passes(module, "simplify-algebra")
        assert ("graph.reduce" not in str(module)) == rewritten
        (after,) = evaluate(module, [labels])
    np.testing.assert_array_equal(after, before)
