"""Contractions of which both factors come from DRAM in parts."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from mnc.mncore_backend.placement.candidates import Contraction, Operand, Window
from mnc.mncore_backend.placement.candidates.candidates import possible_plans
from mnc.mncore_backend.placement.candidates.joint import joint_cut_of
from mnc.mncore_backend.placement.candidates.problem import half_memory


def convolution(batch: int, channels: int, side: int, results: int) -> Contraction:
    """Of 3 x 3, whose factors nobody else reads."""
    windows = (Window(0), Window(4), Window(2, 1, 5, 1, 1), Window(3, 1, 6, 1, 1))
    left = Operand((0, 2, 3, 4, 5, 6), None, windows, (batch, channels, side, side), alone=True)
    right = Operand((1, 4, 5, 6), in_parts=True, alone=True)
    return Contraction((batch, results, side, side, channels, 3, 3), left, right, (0, 1, 2, 3))


@given(st.integers(1, 8), st.integers(1, 130), st.integers(4, 40), st.integers(1, 130))
def test_parts_fit_and_cover_both_factors_alike(batch: int, channels: int, side: int, results: int) -> None:
    problem = convolution(batch, channels, side, results)
    for plan, _ in possible_plans(problem):
        cut = joint_cut_of(problem, plan)
        if cut is not None:
            assert problem.roles()[cut.dim] == "k"
            assert cut.held <= half_memory()
            assert 2 <= cut.parts <= cut.size
            assert (cut.parts - 1) * cut.each < cut.size <= cut.parts * cut.each


def test_small_factors_come_half_memory() -> None:
    problem = convolution(1, 16, 8, 16)
    assert all(joint_cut_of(problem, plan) is None for plan, _ in possible_plans(problem))


def test_factors_that_others_read_come_half_memory() -> None:
    problem = convolution(8, 64, 56, 64)
    assert any(joint_cut_of(problem, plan) is not None for plan, _ in possible_plans(problem))
    for side in ("left", "right"):
        shared = replace(problem, **{side: replace(getattr(problem, side), alone=False)})
        assert all(joint_cut_of(shared, plan) is None for plan, _ in possible_plans(shared))
