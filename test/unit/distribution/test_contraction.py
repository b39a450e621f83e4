"""The choice among distributions of a contraction."""

import hypothesis.strategies as st
from hypothesis import given, settings

from mnc.mncore_backend.distribution import Contraction, Operand, plan_contraction
from mnc.mncore_backend.distribution.space import LANES
from mnc.mncore_backend.layout import Axis

extents = st.integers(1, 400)


@settings(max_examples=40)
@given(extents, extents, extents)
def test_layouts_fit_the_tensors(m: int, n: int, k: int) -> None:
    plan = plan_contraction(Contraction((m, n, k), Operand((0, 2)), Operand((2, 1)), (0, 1)))
    assert (plan.left.shape, plan.right.shape, plan.result.shape) == ((m, k), (k, n), (m, n))


@settings(max_examples=40)
@given(extents, extents, extents)
def test_the_contracted_dimension_lies_alike_in_both_factors(m: int, n: int, k: int) -> None:
    plan = plan_contraction(Contraction((m, n, k), Operand((0, 2)), Operand((2, 1)), (0, 1)))
    left, right = plan.left.dims[1], plan.right.dims[0]
    assert [(d.size, d.axis) for d in left] == [(d.size, d.axis) for d in right]
    assert left[-len(LANES) :] == LANES


@settings(max_examples=40)
@given(extents, extents, extents)
def test_partial_sums_are_named(m: int, n: int, k: int) -> None:
    plan = plan_contraction(Contraction((m, n, k), Operand((0, 2)), Operand((2, 1)), (0, 1)))
    split = {d.axis for d in plan.left.dims[1] if d.size > 1} - {Axis.PE, Axis.W, Axis.ADDRESS}
    assert set(plan.partial) == split
    for axis in split:
        assert not plan.left.selected_bits(axis) & plan.right.selected_bits(axis) & plan.result.selected_bits(axis)


def test_second_layer_takes_the_first_one_where_it_is() -> None:
    first = plan_contraction(Contraction((256, 64, 512), Operand((0, 2)), Operand((2, 1)), (0, 1)))
    second = plan_contraction(Contraction((256, 16, 64), Operand((0, 2), first.result), Operand((2, 1)), (0, 1)))
    rows = [d for d in first.result.dims[0] if d.axis in (Axis.L2B, Axis.L1B)]
    assert rows == [d for d in second.left.dims[0] if d.axis in (Axis.L2B, Axis.L1B)]


def test_batch_dimensions_are_split_first_in_both_factors() -> None:
    problem = Contraction((8, 32, 32, 16), Operand((0, 1, 3)), Operand((0, 3, 2)), (0, 1, 2))
    plan = plan_contraction(problem)
    assert plan.left.dims[0] == plan.right.dims[0] or [(d.size, d.axis) for d in plan.left.dims[0]] == [
        (d.size, d.axis) for d in plan.right.dims[0]
    ]
