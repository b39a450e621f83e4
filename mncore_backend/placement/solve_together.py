"""All operations get their places together, at prices that are exact in the end where that decides.

The search goes by rough prices of movements. In a program of few movements each of them counts. So what the solution
would move is planned, and it searches again with what that really takes, until a solution moves nothing whose price is
rough. (Searching for shortest paths works the same way where the lengths of edges are dear to find out.) Over many
movements the errors of rough prices level out, and to plan them would take longer than all the rest.
"""

from collections.abc import Sequence

from mnc.mncore_backend.distribution.policy import Policy
from mnc.mncore_backend.placement.movements import Movements, Plan
from mnc.mncore_backend.placement.problem import Problem
from mnc.mncore_backend.placement.search import Pinned, Search
from mnc.mncore_backend.placement.state import State

FEW = 20
"""Movements of a solution up to which all of them are planned."""
ROUNDS = 4
"""Searches with planned movements at most. The best solution of all is taken, at the prices that are known in the
end."""
HOPE = 0.6
"""Part of a rough price that is taken for the exact one until that is known: what looks dear may be cheap."""


def solve_together(
    problem: Problem, policies: Sequence[Policy], pinned: Pinned | None = None, plan: Plan = list
) -> State:
    """A state in which every operation has a place. `plan` plans movements ahead, in several processes perhaps."""
    first = Search(problem, policies, Movements(), pinned or {}).run()
    if len(first.movements) > FEW:
        return first
    movements = Movements(hope=HOPE)
    found: list[State] = []
    for _ in range(ROUNDS):
        state = Search(problem, policies, movements, pinned or {}).run()
        found.append(state)
        unknown = [movement for movement in state.movements if movement not in movements.exact]
        if not unknown:
            break
        movements.learn(unknown, plan)
    return min(found, key=lambda state: state.price_at(movements.exact))
