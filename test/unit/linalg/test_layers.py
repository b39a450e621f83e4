"""Layers: what is found to be alike, and weights behind numbers of elements."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnc.core.bindings import arith, ir
from mnc.core.context import make_context
from mnc.core.diagnostics import InternalError
from mnc.lowering.linalg_to_spmd.numbered_weights import NumberedWeights, numbered, weights_attribute
from mnc.mncore_backend.placement.problem.twins import runs


def weights(values: list[list[np.ndarray]]) -> NumberedWeights:
    """`values[weight][layer]`."""
    with make_context(), ir.Location.unknown():
        module = ir.Module.create()
        with ir.InsertionPoint(module.body):
            made = [[arith.ConstantOp(ir.RankedTensorType.get(v.shape, ir.F32Type.get()), ir.DenseElementsAttr.get(v))
                     for v in own] for own in values]  # fmt: skip
        return NumberedWeights(weights_attribute([[op.operation for op in own] for own in made]))


@given(st.data())
def test_whatever_is_cut_and_rearranged_is_found_again(data: st.DataObject) -> None:
    rng = np.random.default_rng(data.draw(st.integers(0, 1000)))
    shapes = data.draw(st.lists(st.tuples(st.integers(1, 5), st.integers(1, 5)), min_size=1, max_size=3))
    values = [[rng.standard_normal(shape).astype(np.float32) for _ in range(3)] for shape in shapes]
    known, start = weights(values), 0
    for own, shape in zip(values, shapes, strict=True):
        body = numbered(shape, start)
        start += body.size
        rows, columns = rng.integers(0, shape[0], 4), rng.permutation(shape[1])
        for change in (lambda v: v, lambda v: v.T, lambda v, r=rows, c=columns: np.pad(v[r][:, c], ((0, 2), (1, 0)))):
            found = known.of("name", np.ascontiguousarray(change(body)))
            assert found is not None
            for (_, got), want in zip(found, own, strict=True):
                assert np.array_equal(got, change(want))
    known.check()


def test_arithmetic_on_numbers_is_noticed() -> None:
    rng = np.random.default_rng(0)
    known = weights([[rng.standard_normal(3).astype(np.float32) for _ in range(2)]])
    with pytest.raises(InternalError, match="does not appear"):
        known.check()
    assert known.of("name", 3 * numbered([3], 0)) is None
    with pytest.raises(InternalError, match="was changed"):
        known.of("name", numbered([3], 0) + np.array([0, 1, 0], np.float32))
    assert known.of("name", rng.standard_normal(5).astype(np.float32)) is None
    assert known.of("name", np.arange(5, dtype=np.int32)) is None


@given(st.lists(st.integers(0, 2), min_size=2, max_size=24))
def test_runs_are_all_that_repeat(ids: list[int]) -> None:
    found = list(runs(np.array(ids)))
    for start, length, period in found:
        assert ids[start : start + length] == ids[start + period : start + period + length]
    for period in range(1, len(ids) // 2 + 1):
        for start in range(len(ids) - 2 * period + 1):
            if ids[start : start + period] == ids[start + period : start + 2 * period]:
                assert any(p == period and s <= start and start + period <= s + n for s, n, p in found)
