"""All operations together: a beam of states goes through the program, and what is cheapest at its end is taken.

States that agree in where everything lies that is still wanted are one: the cheaper of them is kept. As long as no
other state is dropped, the result is the cheapest of all combinations of choices. When states are compared, and the
plans of a product, what is paid later for where tensors are (`ahead.py`) is added.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from mnc.mncore_backend.distribution import Contraction, ContractionPlan
from mnc.mncore_backend.distribution.policy import Policy
from mnc.mncore_backend.distribution.space import scattered
from mnc.mncore_backend.placement.ahead import Ahead
from mnc.mncore_backend.placement.movements import Movements
from mnc.mncore_backend.placement.problem import Loops, Operation, Problem, Product, Rearrangement
from mnc.mncore_backend.placement.product_prices import PricedPlan, ProductPrices
from mnc.mncore_backend.placement.products import Products
from mnc.mncore_backend.placement.reads import last_reads
from mnc.mncore_backend.placement.rules import Rules
from mnc.mncore_backend.placement.solve_in_order import visit
from mnc.mncore_backend.placement.state import State

ALTERNATIVES = 6
"""Plans of a product that are followed from every state."""
WIDTH = 16
"""States that are kept from operation to operation."""
SHOWN = 8
"""Plans that are noted as what a chosen one was compared with."""

Pinned = Mapping[int, Callable[[ContractionPlan], bool]]
"""For products whose plan is fixed from outside: whether a plan is the one that is wanted."""
Way = Callable[[State], None]


@dataclass
class Search:
    """Searches over one problem, in which operations may follow any of the policies. `dropped` counts the states that
    were given up: without any the solution is the best one by its prices."""

    problem: Problem
    policies: Sequence[Policy]
    movements: Movements
    pinned: Pinned = field(default_factory=dict)
    dropped: int = 0

    def __post_init__(self) -> None:
        self._products = {own: Products(Rules(self.problem, own, self.movements)) for own in self.policies}
        self._followed = list(self._products.values())
        self._width = WIDTH
        self._prices = ProductPrices(self.movements)
        self._ahead = Ahead(self.problem, self.policies[0], self._prices)
        self._last = last_reads(self.problem)
        self._best: dict[tuple[int, Contraction], list[PricedPlan]] = {}

    def run(self, policies: Sequence[Policy] | None = None, width: int | None = None) -> State:
        """The cheapest state that was found in which everything has a place. `policies`: the only ones to follow;
        `width`: states that are kept from operation to operation."""
        self._followed = [self._products[policy] for policy in policies or self.policies]
        self._width = width or WIDTH
        beam = [State()]
        for number, op in enumerate(self.problem.operations):
            beam = self._pruned(number, (new for state in beam for new in self._successors(state, number, op)))
        rules = self._followed[0].rules
        for state in beam:
            rules.finish(state)
            rules.store(state)
        return min(beam, key=lambda state: state.price)

    def _successors(self, state: State, number: int, op: Operation) -> Iterator[State]:
        for way in self._ways(state, number, op):
            new = state.copy()
            new.current = number
            way(new)
            yield new

    def _ways(self, state: State, number: int, op: Operation) -> Iterator[Way]:
        """What may be done with an operation, each once, though several policies may lead to it."""
        seen: set[object] = set()
        for products in self._followed:
            rules = products.rules
            match op:
                case Product():
                    yield from self._product_ways(products, state, number, op, seen)
                    continue
                case Loops() if any(use.windows is not None for use in op.uses):
                    found, take = rules.tilings(state, op), rules.take_windows
                case Loops() if not (op.can_wait and not any(rules.known(state, op))):
                    found, take = rules.iterations(state, op), rules.take_loops
                case Rearrangement() if not rules.is_loaded_in_part(state, op):
                    found, take = rules.arrangements(state, op), rules.take_rearrangement
                case _:
                    yield lambda new, own=products: visit(own, new, number, op)
                    return
            for digits in found:
                if (key := tuple(digits)) not in seen:
                    seen.add(key)
                    yield partial(take, number=number, op=op, digits=digits)

    def _product_ways(
        self, products: Products, state: State, number: int, op: Product, seen: set[object]
    ) -> Iterator[Way]:
        known = products.known(state, op)
        kind = known.policy.contraction_axes, known.policy.cyclic
        if kind in seen:
            return
        seen.add(kind)
        plans = self._plans(number, op, known)
        for priced in plans[:ALTERNATIVES]:
            yield partial(_take, products, number=number, op=op, priced=priced, among=plans)

    def _plans(self, number: int, op: Product, known: Contraction) -> list[PricedPlan]:
        """The plans of a product that promise most, together with what windows pay later for its result."""

        def ahead(plan: ContractionPlan) -> float:
            return self._ahead.windows(op.result, scattered(plan.result) if plan.partial else plan.result, number)

        key = number, known
        if key not in self._best:
            self._best[key] = self._prices.best(known, SHOWN, ahead, self.pinned.get(number))
        return self._best[key]

    def _pruned(self, number: int, states: Iterator[State]) -> list[State]:
        """Of states that differ in nothing that matters later the cheapest, and of those the best few."""
        best: dict[object, State] = {}
        for state in states:
            live = frozenset((t, layout) for t, layout in state.layouts.items() if self._last[t] > number)
            key = live, tuple(state.waiting)
            if key not in best or state.price < best[key].price:
                best[key] = state
        self.dropped += max(0, len(best) - self._width)
        if len(best) <= self._width:
            return list(best.values())
        return sorted(best.values(), key=lambda state: state.price + self._least(state, number))[: self._width]

    def _least(self, state: State, number: int) -> float:
        """What is paid later for where tensors are."""
        live = ((t, layout) for t, layout in state.layouts.items() if self._last[t] > number)
        return sum(self._ahead.price(tensor, layout, number) for tensor, layout in live)


def _take(
    products: Products, state: State, *, number: int, op: Product, priced: PricedPlan, among: Sequence[PricedPlan]
) -> None:
    """Do a product as planned, and pay for it. What settles pays for its arrival."""
    for part in priced.parts:
        if part.kind not in ("arrival", "fetched"):
            state.pay(*part)
    others = [other for other in among[:SHOWN] if other is not priced]
    state.compared[number] = [(own.plan, own.steps) for own in (priced, *others)]
    products.take(state, number, op, priced.plan)
