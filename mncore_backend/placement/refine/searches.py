"""The searches over one problem: in which operations choose among policies, or all follow one; by several weights, and
with layouts that are wanted.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain

from mnc.mncore_backend.placement.candidates.policy import Policy
from mnc.mncore_backend.placement.cost.movements import Movements
from mnc.mncore_backend.placement.cost.product_prices import Counted
from mnc.mncore_backend.placement.cost.weights import ALL, WEIGHTS, Weights, with_price_of_room
from mnc.mncore_backend.placement.problem import Problem
from mnc.mncore_backend.placement.refine.pressure import price_of_room
from mnc.mncore_backend.placement.refine.wanted import wanted_layouts
from mnc.mncore_backend.placement.solve.search import NOWHERE, WIDTH, Pinned, Search, Wanted
from mnc.mncore_backend.placement.solve.state import State
from mnc.mncore_backend.placement.trace.trace import Traces

NARROW = 4
"""States that searches keep in which all follow one policy, and those with other weights, which are there to find
something else."""
BEST = 3
"""Solutions whose readers say where they want tensors."""

Both = Callable[[Callable[[], list[State]], Callable[[], list[State]]], tuple[list[State], list[State]]]
"""Does two pieces of work, in two processes perhaps."""


def in_turn(
    first: Callable[[], list[State]], second: Callable[[], list[State]]
) -> tuple[list[State], list[State]]:
    """Two pieces of work in this process."""
    return first(), second()


@dataclass(frozen=True, kw_only=True)
class Searches:
    """Searches over a problem, which share the steps of plans that they have counted. Operations choose among the
    `mixed` policies, or all follow one of the `pure` ones. Solutions are compared at `weights`."""

    problem: Problem
    mixed: Sequence[Policy]
    pure: Sequence[Policy]
    pinned: Pinned
    traces: Traces | None = None
    weights: Weights = field(default_factory=lambda: WEIGHTS)
    counted: Counted = field(default_factory=dict)

    def at_the_price_of_room(self, movements: Movements) -> "Searches":
        """The same where room on the chip costs as much as it takes for constants to find it."""

        def narrow(price: float) -> State:
            own = replace(self, traces=None)
            return own._search(movements, with_price_of_room(WEIGHTS, price)).run(self.mixed, NARROW)

        return replace(self, weights=with_price_of_room(WEIGHTS, price_of_room(self.problem, narrow)))

    def all(
        self, movements: Movements, weights: Weights | None = None, wanted: Wanted = NOWHERE, both: Both = in_turn
    ) -> list[State]:
        """Solutions of all kinds of searches, the cheapest first; by other `weights` with fewer states. Where something
        is `wanted`, one more search may choose it: states that do crowd out others, which may be better in the end."""
        own, width = self._search(movements, weights or self.weights), WIDTH if weights is None else NARROW

        def mixed() -> list[State]:
            return [own.run(self.mixed, width)]

        def where_wanted() -> list[State]:
            return [self._search(movements, self.weights, wanted).run(self.mixed)] if wanted else []

        def pure() -> list[State]:
            return [own.run([policy], NARROW) for policy in self.pure]

        runs = both(lambda: [*mixed(), *where_wanted()], pure) if self.pure else both(mixed, where_wanted)
        return self._in_order(chain(*runs))

    def by_all_weights(self, movements: Movements, both: Both = in_turn) -> list[State]:
        """Solutions by these weights, and by others that find something else."""
        others = [with_price_of_room(weights, self.weights["held"]) for weights in ALL[1:]]
        return [*chain(*both(
            lambda: self.all(movements), lambda: [state for own in others for state in self.all(movements, own)]
        ))]  # fmt: skip

    def where_wanted(self, movements: Movements, found: Sequence[State]) -> State:
        """The solution where operations may also choose what readers want in the best of those that were `found`."""
        own = self._search(movements, self.weights, self.wanted(found))
        (state,) = self._in_order([own.run(self.mixed)])
        return state

    def wanted(self, found: Sequence[State]) -> Wanted:
        """Where the best solutions read tensors, by their prices."""
        return wanted_layouts(self.problem, self._in_order(found)[:BEST])

    def _search(self, movements: Movements, weights: Weights, wanted: Wanted = NOWHERE) -> Search:
        return Search(
            self.problem, list(dict.fromkeys([*self.mixed, *self.pure])), movements, self.pinned, tracer=self.traces,
            weights=weights, counted=self.counted, wanted=wanted,
        )  # fmt: skip

    def _in_order(self, found: Iterable[State]) -> list[State]:
        """Solutions by their prices where all are at the same weights."""
        states = list(found)
        for state in states:
            state.weigh(self.weights)
        return sorted(states, key=lambda state: state.price)
