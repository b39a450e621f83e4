"""Products whose columns are shared out are made in parts, and give the same numbers."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mnc.core.bindings import ir
from mnc.core.context import make_context
from mnc.mncore_backend.placement.candidates.space import LANE_COUNT
from mnc.passes.graph.split_products import SplitProducts

from .random_graphs import check_unchanged


def module(rows: int, widths: list[int], work: list[str], *, is_read: bool = False) -> ir.Module:
    """A product with a constant matrix and element-wise work with constants, and slices of the columns."""
    columns = sum(widths)
    whole, weight, row = f"tensor<{rows}x{columns}xf32>", f"tensor<4x{columns}xf32>", f"tensor<{columns}xf32>"
    constants = np.arange(4 * columns, dtype=np.float32).reshape(4, columns) % 7 - 3
    lines = [
        f'%w = "graph.constant"() {{value = dense<{constants.tolist()}> : {weight}, onnx.name = "w"}} : () -> {weight}',
        f'%b = "graph.constant"() {{value = dense<{constants[0].tolist()}> : {row}}} : () -> {row}',
        '%c = "graph.constant"() {value = dense<0.5> : tensor<f32>} : () -> tensor<f32>',
        f'%v0 = "graph.matmul"(%x, %w) : (tensor<{rows}x4xf32>, {weight}) -> {whole}',
    ]
    for number, kind in enumerate(work):
        other, types = {"add": (", %b", f"{whole}, {row}"), "mul": (", %c", f"{whole}, tensor<f32>")}.get(
            kind, ("", whole)
        )
        lines.append(f'%v{number + 1} = "graph.{kind}"(%v{number}{other}) : ({types}) -> {whole}')
    start, results = 0, []
    for number, width in enumerate(widths):
        part = f"tensor<{rows}x{width}xf32>"
        bounds = f"starts = array<i64: 0, {start}>, limits = array<i64: {rows}, {start + width}>"
        lines.append(
            f'%s{number} = "graph.slice"(%v{len(work)}) {{{bounds}, steps = array<i64: 1, 1>}} : ({whole}) -> {part}'
        )
        results.append((f"%s{number}", part))
        start += width
    results += [(f"%v{len(work)}", whole)] if is_read else []
    names, types = zip(*results, strict=True)
    text = f"""func.func @main(%x: tensor<{rows}x4xf32>) -> ({", ".join(types)}) {{
      {" ".join(lines)}
      return {", ".join(names)} : {", ".join(types)} }}"""
    return ir.Module.parse(text, make_context(["graph"]))


def products(made: ir.Module, lanes: int) -> list[str]:
    """The names of the matrices of all products after the pass."""
    with made.context:
        SplitProducts(lanes=lanes).run(made)
    function = next(iter(made.body.operations))
    operations = [op.operation for op in function.regions[0].blocks[0].operations]
    weights = [op.operands[1].owner for op in operations if op.name == "graph.matmul"]
    return [ir.StringAttr(weight.attributes["onnx.name"]).value for weight in weights]


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_numbers(data: Any) -> None:
    widths = data.draw(st.lists(st.integers(1, 4), min_size=1, max_size=5))
    work = data.draw(st.lists(st.sampled_from(["add", "mul", "relu"]), max_size=3))
    made = module(data.draw(st.integers(1, 3)), widths, work, is_read=data.draw(st.booleans()))
    check_unchanged(made, f"split-products{{lanes={data.draw(st.integers(1, 2))}}}", 0, False, 0, 0)


def test_every_part_has_a_matrix_of_its_own() -> None:
    assert products(module(3, [2, 4, 2], ["add", "mul"]), 2) == ["w.columns_0", "w.columns_2", "w.columns_6"]


@pytest.mark.parametrize(
    ("widths", "is_read", "lanes"),
    [([2, 4], True, 1), ([2, 4], False, 4), ([1] * 9, False, 1), ([6], False, 1)],
    ids=["read as a whole", "parts of vectors", "many parts", "one slice of everything"],
)
def test_others_stay(widths: list[int], is_read: bool, lanes: int) -> None:
    assert products(module(3, widths, ["add"], is_read=is_read), lanes) == ["w"]


def test_the_default_is_the_width_of_a_vector() -> None:
    assert SplitProducts().lanes == LANE_COUNT
