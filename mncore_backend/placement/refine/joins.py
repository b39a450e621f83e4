"""Sources of joins go to their places in the result first, where exact plans say that this is cheaper.

A source that joins others lies elsewhere than its part of the result. It can be picked from there element by element,
or go as a whole to the layout of that part, from where no element leaves its PE. Both are planned.
"""

from dataclasses import replace

from mnc.mncore_backend.layout import Layout
from mnc.mncore_backend.placement.candidates import place_of_box, same_places
from mnc.mncore_backend.placement.cost.movements import Movement, Movements, Plan
from mnc.mncore_backend.placement.problem import Problem, Rearrangement
from mnc.mncore_backend.placement.solve.state import State

NOTABLE = 100
"""Steps of a movement from which it is planned in two ways."""

Ways = tuple[list[Movement], list[Movement]]


def bring_parts(problem: Problem, state: State, plan: Plan = list) -> None:
    """Let sources of joins come by way of the layouts of their parts, where that takes fewer steps."""
    found: dict[tuple[int, int], tuple[Layout, Ways]] = {}
    for number, op in enumerate(problem.operations):
        if isinstance(op, Rearrangement) and number in state.placed:
            found |= {(number, i): own for i, own in _ways(op, problem, state, number).items()}
    movements = Movements()
    movements.learn([own for _, ways in found.values() for way in ways for own in way], plan)
    for (number, i), (place, ways) in found.items():
        direct, staged = (sum(movements.steps(own) for own in way) for way in ways)
        if staged < direct:
            placed = state.placed[number]
            state.placed[number] = replace(placed, operands=(*placed.operands[:i], place, *placed.operands[i + 1 :]))


def _ways(op: Rearrangement, problem: Problem, state: State, number: int) -> dict[int, tuple[Layout, Ways]]:
    """By number of the source the layout of its part, and what moves without it and with it."""
    placed, found = state.placed[number], {}
    for i, (source, box, held) in enumerate(zip(op.sources, op.boxes, placed.operands, strict=True)):
        if box is None or held is None or len(held.shape) != len(placed.result.shape):
            continue
        place = place_of_box(problem.tensors[source].shape, placed.result, box)
        direct = Movement(held, placed.result, box=box)
        if place is None or same_places(held, place) or direct.rough.total < NOTABLE:
            continue
        found[i] = place, ([direct], [Movement(held, place), Movement(place, placed.result, box=box)])
    return found
