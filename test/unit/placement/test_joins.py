"""Sources of joins go to the places of their parts first where plans say that this is cheaper."""

from mnc.mncore_backend.layout import parse
from mnc.mncore_backend.placement.candidates import Box, place_of_box, same_places
from mnc.mncore_backend.placement.cost.movements import Movement
from mnc.mncore_backend.placement.problem import Problem, Rearrangement, Tensor
from mnc.mncore_backend.placement.refine.joins import bring_parts
from mnc.mncore_backend.placement.solve.state import Placed, State

PART, WHOLE = (192, 13, 13), (384, 13, 13)
NEAR = parse("((16_MAB:1, 2:4, 4_PE:1, 2_W:1), (8_L2B:1, 2_L1B:4), (4_L1B:1, 4:1))", PART)
FAR = parse("((8_L2B:1, 3:7, 4_PE:1, 2_W:1), (8_MAB:2, 2_L1B:4), (2_MAB:1, 7:1))", PART)
"""Other L2Bs, and seven columns to a PE instead of four."""
RESULT = parse("((2:12, 8_MAB:1, 3:4, 4_PE:1, 2_W:1), (8_L2B:1, 2_L1B:4), (4_L1B:1, 4:1))", WHOLE)


def joined(second: Box | None) -> tuple[Problem, State]:
    """A join of two parts, the second of which lies elsewhere."""
    operation = Rearrangement("join", 2, (0, 1), (Box.at((0, 0, 0)), second))
    problem = Problem((Tensor(PART), Tensor(PART), Tensor(WHOLE, 0)), (operation,), 512, (2,))
    return problem, State(placed={0: Placed((NEAR, FAR), RESULT)})


def test_a_part_that_is_far_goes_to_its_place_first() -> None:
    box = Box.at((PART[0], 0, 0))
    problem, state = joined(box)
    bring_parts(problem, state)
    place = place_of_box(PART, RESULT, box)
    assert place is not None
    assert state.placed[0].operands[1] == place
    ways = [Movement(FAR, RESULT, box=box)], [Movement(FAR, place), Movement(place, RESULT, box=box)]
    direct, staged = (sum(r.cost().total_steps for movement in way for r in movement.requests()) for way in ways)
    assert staged < direct


def test_what_is_there_stays() -> None:
    problem, state = joined(Box.at((PART[0], 0, 0)))
    bring_parts(problem, state)
    place = place_of_box(PART, RESULT, Box.at((0, 0, 0)))
    assert place is not None
    assert same_places(place, NEAR) or state.placed[0].operands[0] in (NEAR, place)


def test_what_is_no_box_is_left_alone() -> None:
    problem, state = joined(None)
    bring_parts(problem, state)
    assert state.placed[0].operands[1] == FAR
