"""With the rule `whole-axes` an axis may be left to one of two dimensions that would share it."""

from mnc.mncore_backend.layout import Axis
from mnc.mncore_backend.placement.candidates import Contraction, Operand, policy_of
from mnc.mncore_backend.placement.candidates.candidates import general_plans
from mnc.mncore_backend.placement.candidates.policy import PLAIN, SPLIT_AXES, Policy, preferences_of

POLICY = policy_of(("whole-axes",))
Places = dict[Axis, int]


def ways(images: int, policy: Policy) -> list[tuple[Places, Places]]:
    """Over how many places of each axis plans divide images, and 16 rows of them."""
    problem = Contraction((images, 16, 8, 8), Operand((0, 1, 3)), Operand((3, 2)), (0, 1, 2), policy=policy)
    found = []
    for plan, _ in general_plans(problem):
        first, rows = (
            {x.axis: x.size for x in plan.digits[d] if x.axis in SPLIT_AXES and x.size > 1} for d in (0, 1)
        )
        found.append((first, rows))
    return found


def test_an_axis_that_two_would_share_may_be_for_the_second() -> None:
    """128 images take all L2Bs and L1Bs, and two of 16 places in the MABs of an L1B."""
    shared = {Axis.L2B: 8, Axis.L1B: 8, Axis.MAB: 2}, {Axis.MAB: 8}
    apart = {Axis.L2B: 8, Axis.L1B: 8}, {Axis.MAB: 16}
    assert shared in ways(128, PLAIN)
    assert apart not in ways(128, PLAIN)
    assert shared in ways(128, POLICY)
    assert apart in ways(128, POLICY)


def test_places_of_an_axis_may_stay_empty_beside_the_first() -> None:
    """4 images take half of the L2Bs, and their rows might have the other half."""
    shared = {Axis.L2B: 4}, {Axis.L2B: 2, Axis.L1B: 8}
    alone = {Axis.L2B: 4}, {Axis.L1B: 8, Axis.MAB: 2}
    assert shared in ways(4, PLAIN)
    assert alone not in ways(4, PLAIN)
    assert alone in ways(4, POLICY)


def test_the_policy_has_its_name() -> None:
    assert preferences_of(POLICY) == ("whole-axes",)
