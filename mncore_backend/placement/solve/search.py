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

from mnc.mncore_backend.layout import Axis, Layout
from mnc.mncore_backend.placement.candidates import Contraction, ContractionPlan, Digits, choose_iteration
from mnc.mncore_backend.placement.candidates.policy import Policy, of_contractions
from mnc.mncore_backend.placement.candidates.space import scattered
from mnc.mncore_backend.placement.cost.ahead import Ahead
from mnc.mncore_backend.placement.cost.meetings import Meetings
from mnc.mncore_backend.placement.cost.movements import Movements
from mnc.mncore_backend.placement.cost.product_prices import Counted, PricedPlan, ProductPrices
from mnc.mncore_backend.placement.cost.weights import WEIGHTS, Weights
from mnc.mncore_backend.placement.problem import Loops, Operation, Problem, Product, Rearrangement
from mnc.mncore_backend.placement.problem.reads import last_reads, readers
from mnc.mncore_backend.placement.solve.products import Products, wanted_of
from mnc.mncore_backend.placement.solve.rules import Rules
from mnc.mncore_backend.placement.solve.solve_in_order import visit
from mnc.mncore_backend.placement.solve.state import State
from mnc.mncore_backend.placement.solve.trail import Tracer, Trail

ALTERNATIVES = 6
"""Plans of a product that are followed from every state."""
WIDTH = 16
"""States that are kept from operation to operation."""
MUCH = 2.0
"""Factor of the price of the cheapest plan up to which one of another kind is followed besides: more states than these
crowd out better ones."""
WANTED = 2
"""Plans of a product whose layouts are thought of where what it reads is joined."""
SHOWN = 8
"""Plans that are noted as what a chosen one was compared with."""

Pinned = Mapping[int, Callable[[ContractionPlan], bool]]
"""For products whose plan is fixed from outside: whether a plan is the one that is wanted."""
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
    `weights`: what a step of each kind counts; `counted`: steps of plans, which searches of one problem share;
    `wanted`: layouts that loops may choose besides."""

    problem: Problem
    policies: Sequence[Policy]
    movements: Movements
    pinned: Pinned = field(default_factory=dict)
    dropped: int = 0
    tracer: Tracer | None = None
    weights: Weights = field(default_factory=lambda: WEIGHTS)
    counted: Counted | None = None
    wanted: Wanted = field(default_factory=lambda: NOWHERE)

    def __post_init__(self) -> None:
        self._products = {
            own: Products(Rules(self.problem, own, self.movements), policy=of_contractions(own))
            for own in self.policies
        }
        self.followed = list(self._products.values())
        self.width = WIDTH
        self._prices = ProductPrices(self.movements, self.weights, self.counted)
        self._ahead = Ahead(self.problem, self.policies[0], self._prices)
        self._meetings = Meetings(self.problem, self.movements, self.weights["moves"])
        self._last, self._readers = last_reads(self.problem), readers(self.problem)
        self._read: dict[int, list[int]] = {}
        for tensor, numbers in self._readers.items():
            for number in numbers:
                self._read.setdefault(number, []).append(tensor)
        self._live_after: tuple[int, list[int]] = -1, []
        self._readers_want: dict[tuple[int, Policy], list[list[Digits]]] = {}
        self._at_wanted: dict[int, list[list[Digits]]] = {}
        self._best: dict[tuple[int, Contraction], tuple[list[PricedPlan], int]] = {}

    def run(self, policies: Sequence[Policy] | None = None, width: int | None = None) -> State:
        """The cheapest state that was found in which everything has a place. `policies`: the only ones to follow;
        `width`: states that are kept from operation to operation."""
        self.among(policies or self.policies)
        self.width = width or WIDTH
        trail = None if self.tracer is None else Trail()
        beam = [State(weights=self.weights)]
        for number, op in enumerate(self.problem.operations):
            beam = self._pruned(number, self._from_all(beam, number, op, trail), trail)
        for state in beam:
            self.complete(state)
        best = min(beam, key=lambda state: state.price)
        if trail is not None and self.tracer is not None:
            self.tracer.searched(self, trail, beam, best)
        return best

    def among(self, policies: Sequence[Policy]) -> None:
        """Let operations choose among these policies from now on."""
        self.followed = [self._products[policy] for policy in policies]

    def complete(self, state: State) -> None:
        """Place what nobody wanted anywhere, and pay for the results."""
        rules = self.followed[0].rules
        rules.finish(state)
        rules.store(state)

    def _from_all(self, beam: Sequence[State], number: int, op: Operation, trail: Trail | None) -> Iterator[State]:
        for position, state in enumerate(beam):
            if trail is not None:
                trail.leave(position)
            for way in self.ways(state, number, op):
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
        seen: set[object] = set()
        for products in self.followed:
            rules = products.rules
            match op:
                case Product():
                    yield from self._product_ways(products, state, number, op, seen, plans)
                    continue
                case Loops() if any(use.windows is not None for use in op.uses):
                    found, take = rules.tilings(state, op), rules.take_windows
                case Loops() if not (op.can_wait and not any(rules.known(state, op))):
                    found, take = [*rules.iterations(state, op), *self._where_wanted(number, op)], rules.take_loops
                case Rearrangement() if not rules.is_loaded_in_part(state, op):
                    found = [*rules.arrangements(state, op), *self._wanted(number, op, products)]
                    take = rules.take_rearrangement
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
                for layout in self.wanted.get(tensor, ())
            ]
        return self._at_wanted[number]

    def _product_ways(
        self, products: Products, state: State, number: int, op: Product, seen: set[object], count: int
    ) -> Iterator[Way]:
        known = products.known(state, op)
        if known.policy in seen:
            return
        seen.add(known.policy)
        plans, followed = self._plans(number, op, known)
        for i, priced in enumerate(plans[: max(count, followed)]):
            take = partial(_take, products, number=number, op=op, priced=priced, among=plans)
            yield Way(products.rules.policy, take, i < followed)

    def _wanted(self, number: int, op: Rearrangement, products: Products) -> list[list[Digits]]:
        """Digits of the result with which the products that read it would have it, were it theirs to say."""
        key = number, products.rules.policy
        if key not in self._readers_want:
            layouts = [
                wanted
                for reader in self._readers.get(op.result, ())
                if reader > number and isinstance(product := self.problem.operations[reader], Product)
                for priced in self._plans(reader, product, products.known(State(), product))[0][:WANTED]
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
        return [plan for own in kinds.values() for plan in self._prices.plans(own)]

    def _plans(self, number: int, op: Product, known: Contraction) -> tuple[list[PricedPlan], int]:
        """The plans of a product that promise most, together with what windows pay later for its result, and how many
        of them are followed: among these is one whose result all L2Bs have, and one whose result they share, if there
        are such."""

        def ahead(plan: ContractionPlan) -> float:
            return self._ahead.windows(op.result, scattered(plan.result) if plan.partial else plan.result, number)

        key = number, known
        if key not in self._best:
            best = self._prices.best(known, SHOWN, ahead, self.pinned.get(number))
            others = self._of_other_kind(known, best, ahead) if number not in self.pinned else []
            rest = [own for own in best[ALTERNATIVES:] if own.plan not in [other.plan for other in others]]
            self._best[key] = [*best[:ALTERNATIVES], *others, *rest], ALTERNATIVES + len(others)
        return self._best[key]

    def _of_other_kind(
        self, known: Contraction, best: Sequence[PricedPlan], ahead: Callable[[ContractionPlan], float]
    ) -> list[PricedPlan]:
        """Where all plans that are followed have a result that L2Bs share, or all one that each has, the best plan of
        the other kind, if it is not much dearer. What comes next may pay much for one or the other: data come late from
        another L2B, and a plan that is dearer by a few steps may be all that it costs to have them in each."""
        kinds = {_is_divided(own.plan) for own in best[:ALTERNATIVES]}
        found = self._prices.best(known, 1, ahead, lambda plan: _is_divided(plan) not in kinds)
        most = MUCH * best[0].price
        return [other for other in found if _is_divided(other.plan) not in kinds and other.price <= most]

    def key(self, number: int, state: State) -> object:
        """What matters later of a state in which an operation has its place. Work that waits reads its operands later
        than it stands in the program."""
        read = self._live(number)
        if state.waiting:
            read = {*read, *(t for own in state.waiting.values() for t in self._read.get(own, ()))}
        live = frozenset((t, state.layouts[t]) for t in read if t in state.layouts)
        return live, tuple(state.waiting)

    def _live(self, number: int) -> list[int]:
        """Tensors that are read after an operation."""
        if self._live_after[0] != number:
            self._live_after = number, [t for t, last in enumerate(self._last) if last > number]
        return self._live_after[1]

    def _pruned(self, number: int, states: Iterator[State], trail: Trail | None) -> list[State]:
        """Of states that differ in nothing that matters later the cheapest, and of those the best few."""
        best: dict[object, State] = {}
        for state in states:
            key = self.key(number, state)
            if trail is not None:
                trail.meet(key, state.price)
            if key not in best or state.price < best[key].price:
                best[key] = state
        self.dropped += max(0, len(best) - self.width)
        found = list(best.values())
        kept = list(range(len(found)))
        if len(found) > self.width:
            ranks = [state.price + self._least(state, number) for state in found]
            kept = sorted(kept, key=ranks.__getitem__)[: self.width]
            if trail is not None:
                trail.rank(ranks, ranks[kept[-1]])
        if trail is not None:
            trail.keep(kept)
        return [found[i] for i in kept]

    def _least(self, state: State, number: int) -> float:
        """What is paid later for where tensors are."""
        live = ((t, state.layouts[t]) for t in self._live(number) if t in state.layouts)
        return sum(
            self._ahead.price(tensor, layout, number) + self._meetings.price(tensor, layout, number, state.layouts)
            for tensor, layout in live
        )


def _is_divided(plan: ContractionPlan) -> bool:
    """Whether L2Bs have different parts of the result."""
    return plan.result.selected_bits(Axis.L2B) != 0


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
