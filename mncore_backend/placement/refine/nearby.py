"""Solutions near others: what a search finds that knows of one to begin with.

A search from the front gives up what pays off late. Among few choices it keeps more of that than among many, so that
one rule for all operations may lead to a much better solution than all rules together. But in a solution by one rule
there is much that another rule would do better here and there. A search that knows the solution does not lose it
(`solve/guide.py`), and has all choices besides. What it finds is where the next one starts.
"""

from collections.abc import Callable, Sequence, Set
from functools import partial
from itertools import chain

from mnc.mncore_backend.placement.refine.both import Both, in_turn
from mnc.mncore_backend.placement.solve.state import Placed, State

TRIALS = 6
"""Solutions from one start at most; there are fewer where a search finds nothing better."""
Steps = Callable[[State], float]
"""How long a solution takes, by some estimate."""
_Key = tuple[tuple[int, Placed], ...]
"""What is decided about all operations."""


def near_the_best(
    found: Sequence[State], near: Callable[[State, Steps], State], first: Steps, second: Steps, both: Both = in_turn
) -> list[State]:
    """Solutions that take less time than the best of those that were `found`, by two estimates: each is a way of its
    own, because neither is right about all programs. `near` finds one near another that takes little time by an
    estimate; `both` goes two ways at once."""
    known = {_key(state) for state in found}
    one, other = (partial(_on_from, min(found, key=steps), known, near, steps) for steps in (first, second))
    return distinct([*chain(*both(one, other))])


def _on_from(best: State, known: Set[_Key], near: Callable[[State, Steps], State], steps: Steps) -> list[State]:
    """Better and better solutions from a start, as long as they are not `known`."""
    better: list[State] = []
    while len(better) < TRIALS:
        state = near(best, steps)
        if steps(state) >= steps(best) or _key(state) in known:
            break
        better.append(state)
        best = state
    return better


def _key(state: State) -> _Key:
    return tuple((number, state.placed[number]) for number in sorted(state.placed))


def distinct(found: Sequence[State]) -> list[State]:
    """Solutions that differ, of equal ones the first."""
    different: dict[_Key, State] = {}
    for state in found:
        different.setdefault(_key(state), state)
    return list(different.values())
