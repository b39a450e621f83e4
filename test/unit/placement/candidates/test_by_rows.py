"""With the rule `data-parallel` the L2Bs get rows or batches of their own, where there are any."""

import pytest

from mnc.mncore_backend.layout import Axis
from mnc.mncore_backend.placement.candidates import Contraction, Operand, policy_of
from mnc.mncore_backend.placement.candidates.candidates import general_plans
from mnc.mncore_backend.placement.candidates.policy import preferences_of

POLICY = policy_of(("data-parallel",))


def split_over_l2bs(problem: Contraction) -> set[int]:
    """The dimensions that some plan divides among the L2Bs."""
    plans = general_plans(problem)
    assert plans
    digits = [(d, x) for plan, _ in plans for d, own in plan.digits.items() for x in own]
    return {d for d, x in digits if x.axis is Axis.L2B and x.size > 1}


@pytest.mark.parametrize(
    ("extents", "left", "right", "result", "expected"),
    [
        ((64, 64, 64), (0, 2), (2, 1), (0, 1), {0}),
        ((16, 64, 64, 64), (0, 1, 3), (0, 3, 2), (0, 1, 2), {0, 1}),
        ((1, 64, 64), (0, 2), (2, 1), (0, 1), {1, 2}),  # one row: columns and what is contracted
    ],
)
def test_dimensions(
    extents: tuple[int, ...], left: tuple[int, ...], right: tuple[int, ...], result: tuple[int, ...], expected: set[int]
) -> None:
    assert split_over_l2bs(Contraction(extents, Operand(left), Operand(right), result, policy=POLICY)) == expected


def test_the_policy_has_its_name() -> None:
    assert preferences_of(POLICY) == ("data-parallel",)
