"""Where a contraction runs: its candidates are costed, and the cheapest is taken."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import inf

from mnc.mncore_backend.layout import Axis, Layout
from mnc.mncore_backend.placement.candidates.candidates import Candidate, possible_plans
from mnc.mncore_backend.placement.candidates.costs import (
    arrival_steps,
    compute_steps,
    outlook,
    reduce_steps,
    relayout_steps,
    summed_by_update,
)
from mnc.mncore_backend.placement.candidates.joint import joint_cut_of
from mnc.mncore_backend.placement.candidates.problem import Contraction, ContractionPlan, Operand, half_memory
from mnc.mncore_backend.placement.candidates.tiles import straddling_steps
from mnc.mncore_backend.placement.candidates.windows import oriented, source_layout
from mnc.mncore_backend.pricing import tiling
from mnc.mncore_backend.target import cached_per_machine, chip

Price = Callable[[Layout, Layout], float]
"""Steps to bring a tensor from one layout to another."""
PriceWithin = Callable[[Layout, Layout, float], float]
"""The same; what is more than a limit may be infinite."""
ROUNDING = 1e-6
"""Steps by which sums of prices may differ that are added up in another order."""
FUTURES = 6
"""Layouts of a result for which it is found out what its readers pay."""
PLACES = 8
"""Places of factors for which it is found out what other contractions pay."""
CLEARLY = 0.5
"""Part of a price to which it has to fall to count: prices of what comes later are rough."""
NOTABLY = 0.9
ROUGHLY = 100
"""Part of a price, others included, to which it has to fall to count, and steps by which: those prices are rough."""
Compared = tuple[ContractionPlan, dict[str, float]]
Watch = Callable[[list[Compared]], None]
"""Gets plans, the chosen one first, and the parts of their costs."""
SHOWN, FINALISTS = 8, 5
"""Plans that are shown; plans whose relayouts are priced exactly, as planning takes long and guessing goes wrong."""


def _tiling_steps(extents: Sequence[int], operand: Operand, plan: ContractionPlan) -> float:
    """Price of making the tiles of a factor, with their halos, from where it is."""
    assert operand.layout is not None and operand.windows is not None
    windows = oriented(operand.windows, plan.all_digits)
    places = source_layout(windows, plan.all_digits, operand.shape)
    return tiling(windows, extents, plan.all_digits, operand.layout, places, plan.left).total


def _sums(problem: Contraction, plan: ContractionPlan) -> float:
    return reduce_steps(plan.result, plan.partial, spread=Axis.L2B in problem.policy.axes)


def _cost(problem: Contraction, plan: ContractionPlan, counts: dict[str, int], price: Price) -> float:
    steps = compute_steps(counts, problem.precision) + _sums(problem, plan)
    factors = (problem.left, plan.left, plan.right), (problem.right, plan.right, plan.left)
    cut = joint_cut_of(problem, plan)
    for number, (operand, layout, other) in enumerate(factors):
        if operand.layout is None and operand.kept:
            steps += reduce_steps(layout, summed_by_update(layout, other))
        elif operand.layout is None:
            steps += arrival_steps(layout) * plan.arriving(number)
        elif operand.windows is not None:
            steps += _tiling_steps(problem.extents, operand, plan)
        else:
            steps += price(operand.layout, layout)
        held = layout.local_size if cut is None else min(layout.local_size, cut.held)
        if operand.in_parts and held > half_memory():  # parts wait for each other, with their latencies (OPEN-38)
            steps += chip().mv_latency_steps * held / (half_memory() // 2)
            held = half_memory()
        steps += held / 1000 + 1e6 * max(0, held - half_memory())  # of two equal plans the one with more room
    if plan.swapped:  # the result's lanes run along its rows; what comes next mostly wants its columns there
        steps += 20 + 2 * plan.result.local_size
    steps += outlook(plan.result) if problem.home is None else price(plan.result, problem.home)
    following = {problem.result.index(d): following for d, (following, _) in problem.strides.items()}
    steps += straddling_steps(plan.result, following)
    return steps + 1e6 * max(0, plan.result.local_size - half_memory())


def _exact_cost(problem: Contraction, candidate: Candidate, exact: PriceWithin, limit: float) -> float:
    """The cost with exact prices of movements; what is more than `limit` may be infinite."""
    left = limit - _cost(problem, *candidate, lambda _, __: 0.0) + ROUNDING

    def price(source: Layout, target: Layout) -> float:
        nonlocal left
        steps = exact(source, target, left)
        left -= steps
        return steps

    return _cost(problem, *candidate, price)


def _looking_ahead(
    plans: Sequence[tuple[Layout, float]], afterwards: Callable[[Layout], float]
) -> Layout | None:
    """The layout of the result with which this and what follows is clearly cheaper than with the first; None if there
    is none. `plans`: results and costs, the cheapest first."""
    totals: dict[Layout, float] = {}
    for result, cost in plans:
        if result not in totals and len(totals) < FUTURES:
            totals[result] = cost + afterwards(result)
    best = min(totals, key=lambda result: totals[result])
    return best if totals[best] < CLEARLY * totals[plans[0][0]] else None


@cached_per_machine(1024)
def least_cost(problem: Contraction) -> float:
    """What the cheapest plan costs by the estimates of this module; remembered, because blocks of networks repeat."""
    return min(_cost(problem, plan, counts, relayout_steps) for plan, counts in possible_plans(problem))


def _with_others(plans: Sequence[tuple[ContractionPlan, float]], others: Callable[[ContractionPlan], float]) -> int:
    """Number of the plan that is notably cheaper than the first, together with what others pay for its factors; 0 if
    there is none. `plans`: plans and costs, the cheapest first."""
    totals: dict[tuple[Layout, Layout], tuple[float, int]] = {}
    for number, (plan, cost) in enumerate(plans):
        factors = plan.left, plan.right
        if factors not in totals and len(totals) < PLACES:
            totals[factors] = cost + others(plan), number
    first = totals[plans[0][0].left, plans[0][0].right][0]
    best, number = min(totals.values())
    return number if best < min(NOTABLY * first, first - ROUGHLY) else 0


def plan_contraction(
    problem: Contraction,
    exact: PriceWithin | None = None,
    afterwards: Callable[[Layout], float] | None = None,
    others: Callable[[ContractionPlan], float] | None = None,
    watch: Watch | None = None,
    decide: Callable[[list[ContractionPlan]], int] | None = None,
) -> ContractionPlan:
    """The cheapest plan by the estimates of this module; ties go to the first assignment.

    With `exact` the best few are compared again at its prices. `afterwards` says what those who read the result pay for
    its layout, `others` what other contractions of the factors pay for a plan. `decide` may take
    another of the best plans than the first. `watch` is shown what was compared.
    """
    candidates = possible_plans(problem)
    costs = [_cost(problem, plan, counts, relayout_steps) for plan, counts in candidates]
    order = sorted(range(len(candidates)), key=lambda i: (costs[i], i))
    if afterwards is not None:
        found = [(candidates[i][0].result, costs[i]) for i in order]
        chosen = _looking_ahead(found, afterwards)
        order = [i for i in order if candidates[i][0].result == chosen] if chosen is not None else order
    best = 0 if others is None else _with_others([(candidates[i][0], costs[i]) for i in order], others)
    order = [order[best], *order[:best], *order[best + 1 :]]
    if exact is not None and any(o.layout is not None for o in (problem.left, problem.right)):
        order = order[:FINALISTS]
        least = inf
        for i in order:
            costs[i] = _exact_cost(problem, candidates[i], exact, least if watch is None else inf)
            least = min(least, costs[i])
        order.sort(key=lambda i: (costs[i], i))
    best = 0 if decide is None else decide([candidates[i][0] for i in order[:SHOWN]])
    order = [order[best], *order[:best], *order[best + 1 :]]
    if exact is not None and costs[order[0]] == inf:
        costs[order[0]] = _exact_cost(problem, candidates[order[0]], exact, inf)
    if watch is not None:
        watch([_compared(problem, *candidates[i], costs[i]) for i in order[:SHOWN]])
    return replace(candidates[order[0]][0], cost=costs[order[0]])


def _compared(problem: Contraction, plan: ContractionPlan, counts: dict[str, int], cost: float) -> Compared:
    """A plan with its cost, and the parts of that."""
    work = compute_steps(counts, problem.precision)
    sums = _sums(problem, plan)
    parts = {"matrix unit": work, "sums": sums, "movements and what follows": cost - work - sums}
    return replace(plan, cost=cost), parts
