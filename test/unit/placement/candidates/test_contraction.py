"""The choice among distributions of a contraction."""

from math import prod

import hypothesis.strategies as st
from hypothesis import given, settings

from mnc.mncore_backend.layout import Axis, parse
from mnc.mncore_backend.placement.candidates import Contraction, ContractionPlan, Operand, plan_contraction
from mnc.mncore_backend.placement.candidates.candidates import partial_bits, possible_plans
from mnc.mncore_backend.placement.candidates.space import LANES

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


@given(st.integers(1, 4).map(lambda n: 2 * n + 1), st.sampled_from([2, 4]))
@settings(max_examples=8)
def test_heads_fill_the_l2bs_that_they_can_share_evenly(odd: int, even: int) -> None:
    problem = Contraction((odd * even, 512, 512, 64), Operand((0, 1, 3)), Operand((0, 2, 3)), (0, 1, 2))
    plans = [plan for plan, _ in possible_plans(problem)]
    without_padding = [plan for plan in plans if prod(plan.result.padded_shape) == odd * even * 512 * 512]
    assert any(plan.result.selected_bits(Axis.L2B) == 7 and not plan.partial for plan in without_padding)
    shared = [{d.size for d in plan.result.dims[0] if d.axis is Axis.L2B} for plan in without_padding]
    assert {even} in shared


def test_kept_weights_are_not_spread_under_the_batch() -> None:
    """Weights that arrive every time are copied to all L2Bs; the gradient of such copies would be a sum over L2Bs, so
    weights that stay are divided among them instead."""
    wide = (256, 16, 1024)
    loaded = plan_contraction(Contraction(wide, Operand((0, 2)), Operand((1, 2)), (0, 1)))
    kept = plan_contraction(Contraction(wide, Operand((0, 2)), Operand((1, 2), kept=True), (0, 1)))
    assert loaded.right.selected_bits(Axis.L2B) == 0 and loaded.left.dims[0][0].axis is Axis.L2B
    assert kept.right.selected_bits(Axis.L2B) == 7


def test_kept_weights_of_a_small_layer_lie_in_all_l2bs() -> None:
    """The same work in every L2B costs less than an exchange of results or gradients."""
    plan = plan_contraction(Contraction((256, 16, 16), Operand((0, 2)), Operand((1, 2), kept=True), (0, 1)))
    assert [layout.selected_bits(Axis.L2B) for layout in (plan.left, plan.right, plan.result)] == [0, 0, 0]


def test_factors_lie_where_others_want_them() -> None:
    problem = Contraction((50, 16, 784), Operand((0, 2)), Operand((1, 2), kept=True), (0, 1))
    greedy = plan_contraction(problem)

    def surcharge(price: float) -> ContractionPlan:
        alike = (greedy.left, greedy.right)
        return plan_contraction(problem, others=lambda plan: price if (plan.left, plan.right) == alike else 0.0)

    assert (surcharge(1e6).left, surcharge(1e6).right) != (greedy.left, greedy.right)
    assert surcharge(1.0).left == greedy.left  # not notably better


@settings(max_examples=40)
@given(st.integers(40, 400), st.integers(17, 400))
def test_rows_that_are_contracted_elsewhere_stay_where_they_are(rows: int, features: int) -> None:
    """What a row is now and a contracted index in the gradient lies in the same place for both, whatever number of rows
    a place has, if it has more than half a block."""
    forward = plan_contraction(
        Contraction((rows, 16, features), Operand((0, 2)), Operand((1, 2)), (0, 1), blocks=frozenset({0}))
    )
    digits = forward.left.dims[0]
    local = prod(d.size for d in digits if d.axis is Axis.ADDRESS)
    in_blocks = local % 8 == 0 or any(d.axis is Axis.W for d in digits)
    assert in_blocks or local <= 4 or all(d.axis is Axis.ADDRESS for d in digits)


def test_a_result_with_a_home_is_not_spread_over_what_the_home_is_not() -> None:
    """A gradient whose columns all L2Bs share out would have to come to all of them again."""
    left, right = Operand((2, 0)), Operand((2, 1))
    home = parse("((16:1,), (8_L1B:1, 16_MAB:1, 4_PE:1, 2_W:1))")
    plan = plan_contraction(Contraction((16, 1024, 64), left, right, (0, 1), home=home))
    assert plan.result.selected_bits(Axis.L2B) == 0


def test_parts_of_a_sum_differ_only_where_the_contracted_dimension_is() -> None:
    """32 contracted elements fill four L2Bs with lanes: the other coordinate bit of L2Bs holds replicas."""
    problem = Contraction((48, 16, 32), Operand((0, 2)), Operand((2, 1)), (0, 1))
    found = {
        partial_bits(problem, plan)[Axis.L2B]
        for plan, _ in possible_plans(problem)
        if plan.partial == (Axis.L2B,) and plan.result.replicated_bits(Axis.L2B) == 7
    }
    assert found == {6}
