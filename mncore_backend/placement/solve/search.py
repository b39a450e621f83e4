"""All operations together: a beam of states goes through the program, and what is cheapest at its end is taken.

States that agree in where everything lies that is still wanted are one: the cheaper of them is kept. As long as no
other state is dropped, the result is the cheapest of all combinations of choices. When states are compared, and the
plans of a product, what is paid later for where tensors are (`ahead.py`) is added.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from types import MappingProxyType
from typing import NamedTuple

from mnc.mncore_backend.layout import Layout
from mnc.mncore_backend.placement.candidates import Digits, choose_iteration
from mnc.mncore_backend.placement.candidates.policy import Policy, of_contractions
from mnc.mncore_backend.placement.cost.ahead import Ahead
from mnc.mncore_backend.placement.cost.meetings import Meetings
from mnc.mncore_backend.placement.cost.movements import Movement, Movements
from mnc.mncore_backend.placement.cost.plan_table import PricedPlan
from mnc.mncore_backend.placement.cost.product_prices import Counted, ProductPrices
from mnc.mncore_backend.placement.cost.weights import WEIGHTS, Weights
from mnc.mncore_backend.placement.problem import Loops, Operation, Problem, Product, Rearrangement
from mnc.mncore_backend.placement.problem.reads import readers
from mnc.mncore_backend.placement.problem.twins import twins
from mnc.mncore_backend.placement.solve.beam import Beam, Known
from mnc.mncore_backend.placement.solve.borders import Borders
from mnc.mncore_backend.placement.solve.duration import LAW, Law, duration, lasts
from mnc.mncore_backend.placement.solve.guide import Guide
from mnc.mncore_backend.placement.solve.makespan import makespan
from mnc.mncore_backend.placement.solve.plans import ALTERNATIVES, SHOWN, Pinned, Plans
from mnc.mncore_backend.placement.solve.products import Products, wanted_of
from mnc.mncore_backend.placement.solve.reached import Reached, decided
from mnc.mncore_backend.placement.solve.rules import Rules
from mnc.mncore_backend.placement.solve.solve_in_order import visit
from mnc.mncore_backend.placement.solve.state import State
from mnc.mncore_backend.placement.solve.trail import Tracer, Trail
from mnc.mncore_backend.placement.solve.transitions import Transition
from mnc.mncore_backend.pricing import Resources

WIDTH = 128
"""States that are kept from operation to operation."""
WANTED = 2
"""Plans of a product whose layouts are thought of where what it reads is joined."""

Wanted = Mapping[int, Sequence[Layout]]
"""Per tensor, layouts that loops may choose besides where their operands are."""
NOWHERE: Wanted = MappingProxyType({})


class Way(NamedTuple):
    """One thing that an operation may do in a state, the policy that leads to it, and whether the search follows it."""

    policy: Policy
    take: Callable[[State], None]
    is_followed: bool = True


@dataclass
class Search:
    """Searches over one problem, in which operations may follow any of the policies. `dropped` counts the states that
    were given up: without any the solution is the best one by its prices. A `tracer` is told what becomes of all.
    `weights`: what a step of each kind counts; `counted`: steps of plans, which searches of one problem share."""

    problem: Problem
    policies: Sequence[Policy]
    movements: Movements
    pinned: Pinned = field(default_factory=dict)
    dropped: int = 0
    tracer: Tracer | None = None
    weights: Weights = field(default_factory=lambda: WEIGHTS)
    counted: Counted | None = None

    def __post_init__(self) -> None:
        self._products = {
            own: Products(Rules(self.problem, own, self.movements), policy=of_contractions(own))
            for own in self.policies
        }
        self.followed = list(self._products.values())
        self.width = WIDTH
        self.law: Law | None = None
        self._prices = ProductPrices(self.movements, self.weights, self.counted)
        self._aheads: dict[Policy, Ahead] = {}
        meetings = Meetings(self.problem, self.movements, self.weights["moves"])
        self.borders = Borders(self.problem, self._ahead_of(self.policies[0]), meetings)
        self._readers = readers(self.problem)
        self._readers_want: dict[tuple[int, Policy, Policy], list[list[Digits]]] = {}
        self._wanted = NOWHERE
        self._at_wanted: dict[int, list[list[Digits]]] = {}
        self._plans = Plans(self._prices, self.pinned)
        self._known: Known = {}
        self._known_like: object = None
        self._twins = twins(self.problem)

    def run(
        self,
        policies: Sequence[Policy] | None = None,
        width: int | None = None,
        wanted: Wanted = NOWHERE,
        *,
        near: State | None = None,
        law: Law | None = None,
        by: Callable[[State], float] | None = None,
        is_apart: bool = False,
    ) -> State:
        """The cheapest state that was found in which everything has a place. `policies`: the only ones to follow, of
        which the first says what products pay later if the search `is_apart` from those that may follow others;
        `width`: states that are kept from operation to operation; `wanted`: layouts that loops may choose besides;
        `near`: a solution from which states are looked for that are not far; `law`: states are compared by how long
        operations take by it, and not by prices; `by`: by what those at the end are, if by something else."""
        self.among(policies or self.policies, wanted)
        self.borders.ahead = self._ahead_of(policies[0] if is_apart and policies else self.policies[0])
        self.width = width or WIDTH
        trail = None if self.tracer is None else Trail()
        self.law = law
        guide = None if near is None else Guide(near, self.borders, self.movements, self.weights["moves"])
        time = None if law is None else partial(lasts, resources=self.movements.resources, law=law)
        known = self._transitions()
        steps = Beam(self.problem, self.borders, self._followers, guide, time, known=known, twins=self._twins)
        reached = [Reached(dict(self.problem.placed), weights=self.weights)]
        for number in range(len(self.problem.operations)):
            reached = steps.step(reached, number, self.width, trail)
        self.dropped += steps.dropped
        beam = decided(self.problem, reached)
        for state in beam:
            self.complete(state)
        best = min(beam, key=by or (lambda state: state.price if law is None else self.duration(state, law)))
        if trail is not None and self.tracer is not None:
            self.tracer.searched(self, trail, beam, best)
        return best

    def _transitions(self) -> Known:
        """What operations do, as far as searches know that differed in no more than what they were near to."""
        policies = tuple(own.rules.policy for own in self.followed)
        like = policies, self.borders.ahead.policy, self.law, id(self._wanted), len(self.movements.exact)
        if self._known_like != like:
            self._known, self._known_like = {}, like
        return self._known

    def duration(self, state: State, law: Law = LAW) -> float:
        """Steps of a solution by a law, as far as prices of movements are known."""
        return duration(state, self._taken(state), law)

    def makespan(self, state: State) -> float:
        """Steps of a solution by a schedule of its operations, as far as prices of movements are known."""
        return makespan(self.problem, state, self._taken(state))

    def _taken(self, state: State) -> dict[Movement, Resources]:
        return {movement: self.movements.resources(movement) for movement in state.movements}

    def among(self, policies: Sequence[Policy], wanted: Wanted = NOWHERE) -> None:
        """Let operations choose among these policies from now on, and loops among layouts that are `wanted`."""
        self.followed = [self._products[policy] for policy in policies]
        if wanted is not self._wanted:
            self._wanted, self._at_wanted = wanted, {}

    def _ahead_of(self, policy: Policy) -> Ahead:
        if policy not in self._aheads:
            self._aheads[policy] = Ahead(self.problem, policy, self._prices)
        return self._aheads[policy]

    def complete(self, state: State) -> None:
        """Place what nobody wanted anywhere, and pay for the results."""
        rules = self.followed[0].rules
        rules.finish(state)
        rules.store(state)

    def added(self, before: State, after: State) -> float:
        """What an operation adds to the price of a state, or to its duration."""
        change = Transition.between(before, after)
        return change.price if self.law is None else lasts(change.paid, self.movements.resources, self.law)

    def _followers(self, state: State, number: int) -> Iterator[State]:
        """The states to which an operation leads."""
        for way in self.ways(state, number, self.problem.operations[number]):
            yield self.follow(state, number, way)

    @staticmethod
    def follow(state: State, number: int, way: Way) -> State:
        """The state to which something leads that an operation may do."""
        new = state.copy()
        new.current = number
        way.take(new)
        return new

    def ways(self, state: State, number: int, op: Operation, plans: int = ALTERNATIVES) -> Iterator[Way]:
        """What may be done with an operation, each once, though several policies may lead to it; of products so many
        `plans` of each policy."""
        if isinstance(op, Product):
            yield from self._product_ways(state, number, op, plans)
            return
        seen: set[object] = set()
        for products in self.followed:
            rules = products.rules
            match op:
                case Loops() if any(use.windows is not None for use in op.uses):
                    found, take = rules.tilings(state, op), rules.take_windows
                case Loops() if not (op.can_wait and not any(rules.known(state, op))):
                    found, take = [*rules.iterations(state, op), *self._where_wanted(number, op)], rules.take_loops
                case Rearrangement() if not rules.is_loaded_in_part(state, op):
                    found = [*rules.arrangements(state, op), *self._for_readers(number, op, products)]
                    take = rules.take_rearrangement
                    if rules.may_be_loaded_again(state, op):
                        yield Way(rules.policy, lambda _: None)
                case _:
                    yield Way(rules.policy, lambda new, own=products: visit(own, new, number, op))
                    return
            for digits in found:
                if (key := tuple(digits)) not in seen:
                    seen.add(key)
                    yield Way(rules.policy, partial(take, number=number, op=op, digits=digits))

    def _where_wanted(self, number: int, op: Loops) -> list[list[Digits]]:
        """Digits of loops whose result, or an operand that has all their dimensions, is where it is wanted. Where parts
        cannot be combined, reductions are inside the PEs, and nobody is asked."""
        if number not in self._at_wanted:
            wide = {d for d, extent in enumerate(op.extents) if extent > 1}
            ends = [(op.result, op.access), *((use.tensor, use.access) for use in op.uses if use.is_direct)]
            self._at_wanted[number] = [
                choose_iteration(op.extents, [(layout, access)])
                for tensor, access in (ends if all(op.parallel) or op.combines else ())
                if wide <= {d for d in access if d is not None}
                for layout in self._wanted.get(tensor, ())
            ]
        return self._at_wanted[number]

    def _product_ways(self, state: State, number: int, op: Product, count: int) -> Iterator[Way]:
        """Those that are followed first: what one policy only shows may be what another one follows."""
        seen: set[object] = set()
        shown: list[tuple[object, Way]] = []
        for products in self.followed:
            known = products.known(state, op)
            if known.policy in seen:
                continue
            seen.add(known.policy)
            plans, followed = self._plans.of(number, op, known, self.borders.ahead)
            for i, priced in enumerate(plans[: max(count, followed)]):
                take = partial(_take, products, number=number, op=op, priced=priced, among=plans)
                way = Way(products.rules.policy, take, i < followed)
                if i >= followed:
                    shown.append((priced.plan.done, way))
                elif priced.plan.done not in seen:
                    seen.add(priced.plan.done)
                    yield way
        for done, way in shown:
            if done not in seen:
                seen.add(done)
                yield way

    def _for_readers(self, number: int, op: Rearrangement, products: Products) -> list[list[Digits]]:
        """Digits of the result with which the products that read it would have it, were it theirs to say."""
        later = self.borders.ahead
        key = number, products.rules.policy, later.policy
        if key not in self._readers_want:
            layouts = [
                wanted
                for reader in self._readers.get(op.result, ())
                if reader > number and isinstance(product := self.problem.operations[reader], Product)
                for priced in self._plans.of(reader, product, products.known(State(), product), later)[0][:WANTED]
                for use, own in ((product.left, priced.plan.left), (product.right, priced.plan.right))
                if (wanted := wanted_of(op.result, use, own, priced.plan, self.problem)) is not None
            ]
            self._readers_want[key] = [list(own.dims) for own in dict.fromkeys(layouts)]
        return self._readers_want[key]

    def priced(self, state: State, number: int) -> list[PricedPlan]:
        """All plans that were priced for an operation, with what they cost wherever factors are; none unless it is a
        product."""
        op = self.problem.operations[number]
        if not isinstance(op, Product):
            return []
        known = (products.known(state, op) for products in self.followed)
        kinds = {own.policy: own for own in known}
        return [plan for own in kinds.values() for table in self._prices.tables(own) for plan in table.priced]

    def key(self, number: int, state: State) -> object:
        """What matters later of a state in which an operation has its place."""
        return self.borders.key(number, state)


def _take(
    products: Products, state: State, *, number: int, op: Product, priced: PricedPlan, among: Sequence[PricedPlan]
) -> None:
    """Do a product as planned, and pay for it. What settles pays for its arrival."""
    for part in priced.parts:
        if part.kind not in ("arrival", "fetched", "held"):
            state.pay(*part)
    others = [other for other in among[:SHOWN] if other is not priced]
    state.compared[number] = [(own.plan, own.steps) for own in (priced, *others)]
    products.take(state, number, op, priced.plan)
