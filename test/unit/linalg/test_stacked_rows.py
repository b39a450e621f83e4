"""Rows that layers make for a concatenation, shortened by the last layers."""

import pytest

from mnc.core.bindings import ir
from mnc.core.context import make_context
from mnc.lowering.linalg_to_spmd.sequences import stack_apart, stacked

ROW, NAMES = "tensor<1x4xf32>", [f"%{name}" for name in "abcdef"]
TEXT = f"""
func.func @main({", ".join(f"{name}: {ROW}" for name in NAMES)}) -> tensor<6x4xf32> {{
  %y = tensor.concat dim(0) {", ".join(NAMES)} : ({", ".join([ROW] * len(NAMES))}) -> tensor<6x4xf32>
  return %y : tensor<6x4xf32>
}}
"""


@pytest.mark.parametrize(
    ("places", "before", "count", "start", "rows", "others"),
    [
        ([1, 2, 3, 4], {0}, 4, 0, (1, 2, 3, 4), (0,)),
        ([1, 2, 3, 4], {0, 5}, 4, 0, (1, 2, 3, 4), (0, 5)),
        ([1, 2, 3, 4], {0, 5}, 2, 0, (1, 2), (0,)),
        ([4, 3, 2, 1], {5}, 2, 3, (1, 0), (2,)),
        ([4, 3, 2, 1], {0, 5}, 3, 2, (2, 1, 0), (3,)),
        ([2, 3, 4], set(), 2, 2, (0, 1), ()),
    ],
)
def test_what_is_left_lies_together(
    places: list[int], before: set[int], count: int, start: int, rows: tuple[int, ...], others: tuple[int, ...]
) -> None:
    with make_context():
        module = ir.Module.parse(TEXT)
        (function,) = module.body.operations
        concat = next(iter(function.regions[0].blocks[0].operations)).operation
        values = list(concat.operands)
        known = [values[i] for i in before]
        found = stacked(concat, places, lambda value: value in known)
        assert found is not None
        short = found.shortened(count)
        assert (short.start, short.rows, tuple(row for row, _ in short.others)) == (start, rows, others)
        assert short.first == values[places[0]]
        kept = values[start : start + len(rows) + len(others)]
        assert short.values == kept
        apart = stack_apart(short)
        assert list(apart.whole.operands) == kept and apart.first == values[places[0]]
        assert module.operation.verify()


def test_rows_that_skip_one_are_none() -> None:
    with make_context():
        module = ir.Module.parse(TEXT)
        (function,) = module.body.operations
        concat = next(iter(function.regions[0].blocks[0].operations)).operation
        assert stacked(concat, [0, 2, 4], lambda _: False) is None
