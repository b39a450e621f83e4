"""Products get a place: what is known of a contraction by now, its plans, and what taking one of them settles."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from mnc.mncore_backend.layout import Layout, permute
from mnc.mncore_backend.placement.candidates import Contraction, ContractionPlan, Operand, source_layout
from mnc.mncore_backend.placement.candidates.contraction import Compared, least_cost, plan_contraction
from mnc.mncore_backend.placement.candidates.costs import outlook
from mnc.mncore_backend.placement.candidates.policy import Policy
from mnc.mncore_backend.placement.candidates.space import scattered
from mnc.mncore_backend.placement.cost.prices import movement_steps
from mnc.mncore_backend.placement.problem import Problem, Product, Transposition, Use
from mnc.mncore_backend.placement.problem.reads import behind
from mnc.mncore_backend.placement.solve.rules import Rules
from mnc.mncore_backend.placement.solve.state import Placed, State

Decide = Callable[[int, Sequence[ContractionPlan]], int]
"""From the number of a product and its plans to the number of the plan to take; the first is the cheapest."""


@dataclass(frozen=True)
class Products:
    """The rules for products. `decide` may take another plan than the cheapest; with `compare` the plans that were
    compared are kept, which takes longer. `policy`: what contractions follow instead of the policy of the rules."""

    rules: Rules
    decide: Decide = lambda _, __: 0
    compare: bool = False
    policy: Policy | None = None
    _known: dict[tuple[int | Layout | None, ...], Contraction] = field(default_factory=dict, repr=False, compare=False)

    def place(self, state: State, number: int, op: Product) -> None:
        """Take the cheapest plan."""
        problem = self.known(state, op)
        compared: list[Compared] = []
        plan = plan_contraction(
            problem,
            movement_steps,
            self._afterwards(state, op),
            self._others(state, number, op),
            compared.extend if self.compare else None,
            lambda plans: self.decide(number, plans),
        )
        state.compared[number] = compared
        state.price += plan.cost - (outlook(plan.result) if problem.home is None else 0.0)
        self.take(state, number, op, plan)

    def known(self, state: State, op: Product) -> Contraction:
        """What is known of a contraction by now."""
        home = None if op.updates is None else state.layouts.get(op.updates)
        left, right = (self._place(state, use) for use in (op.left, op.right))
        key = op.result, left, right, home
        if key not in self._known:
            self._known[key] = replace(
                op.contraction,
                left=self._factor(op.contraction.left, op.left, left),
                right=self._factor(op.contraction.right, op.right, right),
                home=home,
                policy=self.policy or self.rules.policy,
            )
        return self._known[key]

    @staticmethod
    def _place(state: State, use: Use) -> Layout | None:
        """Where a factor is by now, or the tensor that is read through windows."""
        if use.source is not None:
            return state.layouts.get(use.source)
        return state.layouts.get(use.tensor) if use.is_direct else None

    @staticmethod
    def _factor(operand: Operand, use: Use, layout: Layout | None) -> Operand:
        if use.source is not None:
            return replace(operand, layout=layout)
        return replace(operand, layout=layout, in_parts=layout is None and use.in_parts)

    def take(self, state: State, number: int, op: Product, plan: ContractionPlan) -> None:
        """Do the product as planned, and let its factors arrive."""
        problem, whole = self.known(state, op), self.rules.problem.whole
        parts = None
        for i, (use, layout) in enumerate(((op.left, plan.left), (op.right, plan.right))):
            if use.is_direct:
                self.rules.settle(state, use.tensor, layout, plan.arriving(i))
            elif use.source is None:
                self.rules.pay_copies(state, use, layout, plan.arriving(i))
            elif use.source not in state.layouts:
                self._settle_behind(state, op, i, use.source, plan)
            if (problem.left, problem.right)[i].in_parts and layout.local_size > whole:
                parts = i, max(1, whole // 2)
        result = self._kept_share(state, op, plan.result) if plan.partial else plan.result
        left = None if op.left.windows is not None else plan.left
        partial = plan.result if plan.partial else None
        self.rules.place(state, number, Placed((left, plan.right), result, plan.swapped, partial, parts))

    def _settle_behind(self, state: State, op: Product, number: int, source: int, plan: ContractionPlan) -> None:
        """Let tiles of a tensor that is free arrive for factor 0 or 1, or copies for windows."""
        windows = (op.left, op.right)[number].windows
        if windows is None:
            self.rules.pay_arrival(state, self.rules.behind(state, source), (plan.left, plan.right)[number])
        else:
            self.rules.settle_tiles(state, source, windows, op.contraction.extents, plan.all_digits)

    def _kept_share(self, state: State, op: Product, result: Layout) -> Layout:
        """All PEs that held parts get a sum, and each needs to keep its share only, unless it updates what all hold."""
        share = scattered(result)
        home = None if op.updates is None else state.layouts.get(op.updates)
        if home is None:
            return share
        whole = movement_steps(result, home)
        return result if whole < movement_steps(share, home, whole) else share

    def _product(self, number: int) -> Product:
        op = self.rules.problem.operations[number]
        assert isinstance(op, Product)
        return op

    def _afterwards(self, state: State, op: Product) -> Callable[[Layout], float] | None:
        """What products that read a result, itself or after element-wise work, pay for its layout; None if there are
        none."""
        readers = [(self.known(state, self._product(reader.operation)), reader.side) for reader in op.later]
        if not readers:
            return None

        def price(layout: Layout) -> float:
            total = 0.0
            for problem, side in readers:
                placed = replace(problem, **{side: replace(getattr(problem, side), layout=layout)})
                total += least_cost(placed)
            return total

        return price

    def _others(self, state: State, number: int, op: Product) -> Callable[[ContractionPlan], float] | None:
        """What other products that read the free factors of a product, or update them, pay for a plan of it, by rough
        prices; None if there are none.

        The product that reads a tensor first decides where it is. A gradient is computed where the data of the layer
        are, and has to come to where the weight is that it updates; both are decided long before its turn comes.
        """
        uses = op.left, op.right
        free = {i: use for i, use in enumerate(uses) if use.is_direct and use.tensor not in state.layouts}
        found = dict.fromkeys(reader for use in free.values() for reader in use.readers if reader != number)
        if not found:
            return None

        def price(plan: ContractionPlan) -> float:
            placed = dict(self._root(use.tensor, (plan.left, plan.right)[i]) for i, use in free.items())
            then = state.copy()
            then.layouts.update(placed)
            return sum(least_cost(self.known(then, self._product(other))) for other in found)

        return price

    def _root(self, tensor: int, layout: Layout) -> tuple[int, Layout]:
        """What transpositions make a tensor of, and how that lies if the tensor has a layout."""
        problem = self.rules.problem
        while (number := problem.tensors[tensor].made_by) is not None:
            op = problem.operations[number]
            if not isinstance(op, Transposition):
                break
            layout = permute(layout, [op.order.index(i) for i in range(len(op.order))])
            tensor = op.source
        return tensor, layout


def wanted_of(tensor: int, use: Use, own: Layout, plan: ContractionPlan, problem: Problem) -> Layout | None:
    """The layout in which a product wants a tensor for one of its factors; None if it does not read that."""
    if behind(use) != tensor:
        return None
    if use.windows is None:
        return own if use.is_direct else None
    return source_layout(use.windows, plan.all_digits, problem.tensors[tensor].shape)
