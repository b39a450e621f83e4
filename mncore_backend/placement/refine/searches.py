"""The searches over one problem: in which operations choose among policies, or all follow one; by several weights, and
with layouts that are wanted.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain

from mnc.mncore_backend.placement.candidates.policy import Policy
from mnc.mncore_backend.placement.cost.movements import Movements
from mnc.mncore_backend.placement.cost.product_prices import Counted
from mnc.mncore_backend.placement.cost.weights import OTHERS, WEIGHTS, Weights, with_price_of_room
from mnc.mncore_backend.placement.problem import Problem
from mnc.mncore_backend.placement.refine.both import Both, in_turn
from mnc.mncore_backend.placement.refine.nearby import near_the_best
from mnc.mncore_backend.placement.refine.pressure import price_of_room
from mnc.mncore_backend.placement.refine.wanted import wanted_layouts
from mnc.mncore_backend.placement.solve.duration import LAW
from mnc.mncore_backend.placement.solve.plans import Pinned
from mnc.mncore_backend.placement.solve.search import NOWHERE, Search, Wanted
from mnc.mncore_backend.placement.solve.state import State
from mnc.mncore_backend.placement.trace.trace import Traces

NARROW = 16
"""States that searches keep which look for solutions to begin with."""
BEST = 3
"""Solutions whose readers say where they want tensors."""

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
    counted: Counted = field(default_factory=Counted)
    made: dict[object, Search] = field(default_factory=dict)

    def at_the_price_of_room(self, movements: Movements) -> "Searches":
        """The same where room on the chip costs as much as it takes for constants to find it."""

        def narrow(price: float) -> State:
            own = replace(self, traces=None, made={})
            return own._search(movements, with_price_of_room(WEIGHTS, price)).run(self.mixed, NARROW)

        return replace(self, made={}, weights=with_price_of_room(WEIGHTS, price_of_room(self.problem, narrow)))

    def narrow(self, movements: Movements, weights: Weights | None = None, both: Both = in_turn) -> list[State]:
        """Solutions of a search in which operations choose among the mixed policies, and of such in which all follow
        one; the cheapest first."""
        own = self._search(movements, weights or self.weights)
        return self._in_order(chain(*both(
            lambda: [own.run(self.mixed, NARROW)], lambda: [own.run([one], NARROW) for one in self.pure]
        )))  # fmt: skip

    def by_own_prices(self, movements: Movements) -> list[State]:
        """Solutions in which all operations follow one policy that divides products in another way than the mixed ones
        do, where what is paid later is that of products that follow it, too."""
        divided = {own.contraction_axes for own in self.mixed}
        own = self._search(movements, self.weights)
        others = [one for one in self.pure if one.contraction_axes not in divided]
        return self._in_order(own.run([one], NARROW, is_apart=True) for one in others)

    def by_other_weights(self, movements: Movements, both: Both = in_turn) -> list[State]:
        """Solutions by weights that find something else."""
        first, second = (with_price_of_room(weights, self.weights["held"]) for weights in OTHERS)
        return [*chain(*both(lambda: self.narrow(movements, first), lambda: self.narrow(movements, second)))]

    def wide(self, movements: Movements, wanted: Wanted = NOWHERE) -> State:
        """The cheapest solution that many states lead to. Operations may also choose what is `wanted`: such states
        crowd out others, which may be better in the end, so that it is worth while to search with it and without."""
        own = self._search(movements, self.weights)
        (state,) = self._in_order([own.run(self.mixed, wanted=wanted)])
        return state

    def nearby(self, movements: Movements, found: Sequence[State], both: Both = in_turn) -> list[State]:
        """Solutions that take less time than the best of those that were `found`, or than the cheapest that
        chooses what readers want in these: by their makespans, and by the law that searches near solutions go by."""
        own, wanted = self._search(movements, self.weights), self.wanted(found)
        cheapest = own.run(self.mixed, wanted=wanted)

        def near(known: State, by: Callable[[State], float]) -> State:
            return own.run(own.policies, wanted=wanted, near=known, law=LAW, by=by)

        better = near_the_best([*found, cheapest], near, own.makespan, own.duration, both)
        return self._in_order([cheapest, *better])

    def wanted(self, found: Sequence[State]) -> Wanted:
        """Where the best solutions read tensors, by their prices."""
        return wanted_layouts(self.problem, self._in_order(found)[:BEST])

    def _search(self, movements: Movements, weights: Weights) -> Search:
        """The search by these weights and the prices of movements that are known by now; it is made once."""
        key = id(movements), len(movements.exact), tuple(weights.values())
        if key not in self.made:
            self.made[key] = Search(
                self.problem, list(dict.fromkeys([*self.mixed, *self.pure])), movements, self.pinned,
                tracer=self.traces, weights=weights, counted=self.counted,
            )  # fmt: skip
        return self.made[key]

    def _in_order(self, found: Iterable[State]) -> list[State]:
        """Solutions by their prices where all are at the same weights."""
        states = list(found)
        for state in states:
            state.weigh(self.weights)
        return sorted(states, key=lambda state: state.price)
