"""What a beam keeps of a state while it goes through a program: its front, and the way to it.

What was decided about each operation grows with the program, and nothing that comes next depends on it. So states do
not carry it along: it is looked up at the end, on the way of each.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import takewhile

from mnc.mncore_backend.placement.problem import Problem
from mnc.mncore_backend.placement.solve.state import Front, State
from mnc.mncore_backend.placement.solve.transitions import Transition

Way = tuple[tuple[Transition, int], "Way"] | None
"""What operations did that led to a state, the last first, and their numbers."""


@dataclass
class Reached(Front):
    """The front of a state, without tensors that nobody reads later, and the way to it."""

    way: Way = None

    def steps(self) -> list[tuple[Transition, int]]:
        """What the operations did on the way, and their numbers."""
        found, way = list[tuple[Transition, int]](), self.way
        while way is not None:
            found.append(way[0])
            way = way[1]
        return found[::-1]

    def done(self, back: int) -> Transition:
        """What the operation did that is so many before the last."""
        way = self.way
        for _ in range(back):
            assert way is not None
            way = way[1]
        assert way is not None
        return way[0][0]

    def after(self, transition: Transition, number: int, over: Iterable[int]) -> "Reached":
        """The front of the state to which an operation leads. `over`: tensors that nobody reads any more, unless it is
        work that waits."""
        way = (transition, number), self.way
        new = Reached(dict(self.layouts), dict(self.waiting), self.price, self.weights, way)
        transition.change(new)
        if not new.waiting:
            for tensor in over:
                new.layouts.pop(tensor, None)
        return new


def decided(problem: Problem, reached: Sequence[Reached]) -> list[State]:
    """All that was decided on the ways of a beam. The ways of most beams are one for the most part, which is gone
    once."""
    ways = [own.steps() for own in reached]
    steps = zip(*ways, strict=True)
    common = sum(1 for _ in takewhile(lambda own: all(step is own[0] for step in own), steps))
    state = State(dict(problem.placed), weights=reached[0].weights)
    _go(state, ways[0][:common])
    found = [state.copy() for _ in ways]
    for own, way in zip(found, ways, strict=True):
        _go(own, way[common:])
    return found


def _go(state: State, way: Iterable[tuple[Transition, int]]) -> None:
    for transition, number in way:
        transition.take(state, number)
