"""Where a contraction runs: which hardware axes split rows, columns, the contracted dimension and the batch, and which
operand becomes the matrix. All assignments of L2B, L1B and MAB are costed and the cheapest is taken.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import product
from math import inf, prod

from mnc.mncore_backend.distribution.costs import (
    arrival_steps,
    compute_steps,
    outlook,
    reduce_steps,
    relayout_steps,
    summed_by_update,
)
from mnc.mncore_backend.distribution.joint import joint_cut_of
from mnc.mncore_backend.distribution.policy import PLAIN, SPLIT_AXES
from mnc.mncore_backend.distribution.problem import WHOLE, Contraction, ContractionPlan, Operand
from mnc.mncore_backend.distribution.space import (
    LANE_COUNT,
    LANES,
    Access,
    Bits,
    Digits,
    bits_of,
    project,
    spread_bits,
    with_addresses,
)
from mnc.mncore_backend.distribution.tiles import (
    aligned_digits,
    follow_operand,
    straddling_steps,
    tile_digits,
)
from mnc.mncore_backend.distribution.windows import source_layout, tiled_layout
from mnc.mncore_backend.layout import Axis, Digit, Layout
from mnc.mncore_backend.machine import MV_LATENCY_STEPS
from mnc.mncore_backend.pricing import tiling


def _lane_dim(extents: Sequence[int], dims: Sequence[int]) -> int | None:
    """The dimension of a role that carries the lanes: the best filled, then the last."""
    return max(dims, key=lambda d: (extents[d] / (-(-extents[d] // LANE_COUNT) * LANE_COUNT), d), default=None)


def _role_digits(
    problem: Contraction, dims: Sequence[int], bits: Bits, lane_dim: int | None, whole: frozenset[int] = frozenset()
) -> tuple[dict[int, Digits], Bits]:
    """Digits of the dimensions of one role, and the coordinate bits that it has no use for. Dimensions in `whole` take
    none."""
    extents, windows = problem.extents, problem.left.windows
    if windows is not None and {w.out for w in windows if w.kernel is not None} & set(dims):
        return tile_digits(windows, extents, dims, bits)
    units = [LANE_COUNT if d == lane_dim else 1 for d in dims]
    hardware, rest = spread_bits([1 if d in problem.inner or d in whole else extents[d] for d in dims], bits, units)
    digits = {
        d: with_addresses(
            extents[d],
            hw,
            LANES if d == lane_dim else (),
            block=LANE_COUNT if d in problem.blocks and d != lane_dim else 1,
            cyclic=problem.policy.cyclic,
        )
        for d, hw in zip(dims, hardware, strict=True)
    }
    return digits, rest


def _lanes_to_addresses(digits: Digits) -> Digits:
    """The same dimension with its lanes inside the PE: how the matrix holds the columns of the result."""
    return (*digits[: -len(LANES)], Digit(LANE_COUNT))


def _used_axes(digits: dict[int, Digits]) -> set[Axis]:
    return {x.axis for own in digits.values() for x in own if x.size > 1 and x.axis in SPLIT_AXES}


def dims_by_role(problem: Contraction) -> dict[str, list[int]]:
    roles = problem.roles()
    return {role: [d for d, r in roles.items() if r == role] for role in "bmnk"}


Candidate = tuple[ContractionPlan, dict[str, int]]
"""A plan, and how much of each role a PE has."""


def possible_plans(problem: Contraction) -> list[Candidate]:
    left, right = problem.left, problem.right
    held = [operand.layout for operand in (left, right) if operand.layout is not None]
    factors = replace(left, layout=None), replace(right, layout=None)
    policy = replace(PLAIN, cyclic=problem.policy.cyclic)
    space = replace(problem, left=factors[0], right=factors[1], home=None, policy=policy)
    axes = problem.policy.contraction_axes
    found = list(_split_plans(space, _units(axes)))
    if (divided := _units_for_batch(problem, axes)) is not None:
        found += _split_plans(space, divided)
    if left.kept or right.kept or any(not layout.selected_bits(Axis.L2B) for layout in held):
        alike = tuple(axis for axis in axes if axis is not Axis.L2B)  # slower, but nothing to exchange between L2Bs
        found += _split_plans(space, _units(alike)) if alike != axes else ()
    by_role = dims_by_role(problem)
    if (digits := _digits_where_left_is(problem, by_role)) is not None:
        found.append(_assemble(problem, by_role, digits, False))
    return found


def all_plans(problem: Contraction, *, partial: bool = True, leaves: bool = True) -> tuple[Candidate, ...]:
    """Every split of a contraction whose factors are still in DRAM, also (`partial`) of what it contracts.

    If the result `leaves` for DRAM, the L2Bs of a group may share what groups do not, and the other way round: MVs
    serve both, but movements on the chip do not.
    """
    factors = replace(problem.left, layout=None), replace(problem.right, layout=None)
    groups, rest = bits_of([Axis.L2B])[:-1], bits_of([Axis.L2B])[-1:]
    inner = _units(tuple(axis for axis in SPLIT_AXES if axis is not Axis.L2B))
    units = (tuple(groups), tuple(rest), *inner) if leaves else _units(SPLIT_AXES)
    roles = "bmnk" if partial else "bmn"
    return _split_plans(replace(problem, left=factors[0], right=factors[1], home=None, policy=PLAIN), units, roles)


Units = tuple[tuple[tuple[Axis, int], ...], ...]
"""Coordinate bits that one role takes together."""


def _units(axes: Sequence[Axis]) -> Units:
    return tuple(tuple(bits_of([axis])) for axis in axes)


def _units_for_batch(problem: Contraction, axes: Sequence[Axis]) -> Units | None:
    """Bits of L2Bs that a batch fills evenly and those that it does not, apart, as for 12 heads on 8 L2Bs: four of them
    share the heads, two share the rows or columns of a head. None where the batch fills all or leaves all over."""
    bits = bits_of([Axis.L2B])
    batch = prod(problem.extents[d] for d in dims_by_role(problem)["b"])
    even = sum(batch % (1 << taken) == 0 for taken in range(1, len(bits) + 1))
    if Axis.L2B not in axes or not 0 < even < len(bits):
        return None
    return tuple(bits[:even]), tuple(bits[even:]), *_units([axis for axis in axes if axis is not Axis.L2B])


@lru_cache(maxsize=64)
def _split_plans(problem: Contraction, units: Units, roles: str = "bmnk") -> tuple[Candidate, ...]:
    """All assignments of `units` to these roles, wherever the factors are; remembered, because the same is asked for
    every place from which they may come."""
    by_role = dims_by_role(problem)
    choices = [role for role in roles if prod(problem.extents[d] for d in by_role[role]) > 1] or ["m"]
    found = []
    for assignment in product(choices, repeat=len(units)):
        taken = list(zip(units, assignment, strict=True))
        own = {role: [bit for unit, r in taken if r == role for bit in unit] for role in "bmnk"}
        sides = (False, True) if problem.left.windows is None else (False,)
        for swapped, whole in product(sides, _undivided(problem, by_role)):
            digits = _digits(problem, by_role, own, swapped, whole)
            found.append(_assemble(problem, by_role, digits, swapped))
            aligned = aligned_digits(digits, {d: every for d, (_, every) in problem.strides.items()})
            if aligned != digits:
                found.append(_assemble(problem, by_role, aligned, swapped))
    return tuple(found)


def _undivided(problem: Contraction, by_role: dict[str, list[int]]) -> list[frozenset[int]]:
    """Columns that may stay inside the PEs: none, or where they have several dimensions all but the largest, because
    who takes parts of one of them, as of the gates of a cell, wants them in one place."""
    columns = [d for d in by_role["n"] if problem.extents[d] > 1]
    none: frozenset[int] = frozenset()
    return [none] if len(columns) < 2 else [none, frozenset(columns) - {max(columns, key=lambda d: problem.extents[d])}]


def _lane_dims(problem: Contraction, by_role: dict[str, list[int]], column: str) -> dict[str, int | None]:
    outer = {role: [d for d in by_role[role] if d not in problem.inner] for role in "bmnk"}
    return {role: _lane_dim(problem.extents, outer[role]) if role in (column, "k") else None for role in "bmnk"}


def _digits_where_left_is(problem: Contraction, by_role: dict[str, list[int]]) -> dict[int, Digits] | None:
    """Digits that leave the left factor where it is and give the rest of the chip to the columns; None if its lanes are
    not along the contracted dimension."""
    digits = follow_operand(problem.left.access, problem.left.windows, problem.extents, problem.left.layout)
    lane = _lane_dims(problem, by_role, "n")
    if digits is None or problem.left.layout is None or lane["k"] is None or not by_role["n"]:
        return None
    lanes = [d for d, own in digits.items() if any(x.axis in (Axis.PE, Axis.W) for x in own)]
    if lanes != [lane["k"]] or tuple(x for x in digits[lane["k"]] if x.size > 1)[-len(LANES) :] != LANES:
        return None
    held = {axis: problem.left.layout.selected_bits(axis) for axis in SPLIT_AXES}
    free = [(axis, bit) for axis, bit in bits_of(problem.policy.contraction_axes) if not held[axis] & bit]
    digits.update(_role_digits(problem, by_role["n"], free, lane["n"])[0])
    return digits


def _digits(
    problem: Contraction,
    by_role: dict[str, list[int]],
    bits: dict[str, Bits],
    swapped: bool,
    whole: frozenset[int] = frozenset(),
) -> dict[int, Digits]:
    """Digits of all iteration dimensions where the roles take the given coordinate bits; those that stay `whole` take
    none."""
    column = "m" if swapped else "n"
    lane_dim = _lane_dims(problem, by_role, column)
    bits = dict(bits)
    spare = "m" if column == "n" else "n"
    for role in "bnmk":  # MABs that one role leaves over go to the rows; higher levels hold replicas, which is cheaper
        rest = _role_digits(problem, by_role[role], bits[role], lane_dim[role], whole)[1]
        if role != spare and rest and all(axis is Axis.MAB for axis, _ in rest):
            bits[role] = bits[role][: len(bits[role]) - len(rest)]
            bits[spare] = bits[spare] + rest
    digits: dict[int, Digits] = {}
    for role in "bmnk":
        digits.update(_role_digits(problem, by_role[role], bits[role], lane_dim[role], whole)[0])
    return digits


def _assemble(
    problem: Contraction, by_role: dict[str, list[int]], digits: dict[int, Digits], swapped: bool
) -> Candidate:
    """The plan for given digits of all iteration dimensions."""
    extents = problem.extents
    column = "m" if swapped else "n"
    matrix_digits = dict(digits)
    if (lane := _lane_dims(problem, by_role, column)[column]) is not None:
        matrix_digits[lane] = _lanes_to_addresses(digits[lane])

    def layout(access: Access, source: dict[int, Digits]) -> Layout:
        shape = [1 if d is None else extents[d] for d in access]
        return project(shape, [source.get(d, ()) for d in range(len(extents))], access)

    if problem.left.windows is None:
        left = layout(problem.left.access, matrix_digits if swapped else digits)
    else:
        left = tiled_layout(problem.left.windows, extents, [digits.get(d, ()) for d in range(len(extents))])
    right = layout(problem.right.access, digits if swapped else matrix_digits)
    partial = tuple(a for a in SPLIT_AXES if a in _used_axes({d: digits[d] for d in by_role["k"]}))
    plan = ContractionPlan(left, right, layout(problem.result, digits), swapped, partial, 0.0, digits)
    return plan, _counts(digits, by_role, swapped)


def _counts(digits: dict[int, Digits], by_role: dict[str, list[int]], swapped: bool) -> dict[str, int]:
    counts = {role: _local_count(digits, by_role[role]) for role in "bmnk"}
    counts["columns"] = counts["m" if swapped else "n"]
    counts["rows"] = counts["n" if swapped else "m"]
    return counts


def _local_count(digits: dict[int, Digits], dims: Sequence[int]) -> int:
    return prod(x.size for d in dims for x in digits[d] if x.axis is Axis.ADDRESS)


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
    digits = [plan.digits.get(d, ()) for d in range(len(extents))]
    places = source_layout(operand.windows, digits, operand.shape)
    return tiling(operand.windows, extents, digits, operand.layout, places, plan.left).total


def _sums(problem: Contraction, plan: ContractionPlan) -> float:
    return reduce_steps(plan.result, plan.partial, spread=Axis.L2B in problem.policy.axes)


def _cost(problem: Contraction, plan: ContractionPlan, counts: dict[str, int], price: Price) -> float:
    steps = problem.policy.work * compute_steps(counts, problem.precision) + _sums(problem, plan)
    factors = (problem.left, plan.left, plan.right), (problem.right, plan.right, plan.left)
    cut = joint_cut_of(problem, plan)
    for operand, layout, other in factors:
        if operand.layout is None and operand.kept:
            steps += reduce_steps(layout, summed_by_update(layout, other))
        elif operand.layout is None:
            steps += arrival_steps(layout)
        elif operand.windows is not None:
            steps += _tiling_steps(problem.extents, operand, plan)
        else:
            steps += price(operand.layout, layout)
        held = layout.local_size if cut is None else min(layout.local_size, cut.held)
        if operand.in_parts and held > WHOLE:  # parts wait for each other, with their latencies (OPEN-38)
            steps += MV_LATENCY_STEPS * held / (WHOLE // 2)
            held = WHOLE
        steps += held / 1000 + 1e6 * max(0, held - WHOLE)  # of two equal plans the one with more room
    if plan.swapped:  # the result's lanes run along its rows; what comes next mostly wants its columns there
        steps += 20 + 2 * plan.result.local_size
    steps += outlook(plan.result) if problem.home is None else price(plan.result, problem.home)
    following = {problem.result.index(d): following for d, (following, _) in problem.strides.items()}
    steps += straddling_steps(plan.result, following)
    return steps + 1e6 * max(0, plan.result.local_size - WHOLE)


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
    plans: Sequence[tuple[Layout, float]], afterwards: Callable[[Layout], float], foresight: float
) -> Layout | None:
    """The layout of the result with which this and what follows is, by `foresight`, cheaper than with the first; None
    if there is none. `plans`: results and costs, the cheapest first."""
    totals: dict[Layout, float] = {}
    for result, cost in plans:
        if result not in totals and len(totals) < FUTURES:
            totals[result] = cost + afterwards(result)
    best = min(totals, key=lambda result: totals[result])
    return best if totals[best] < foresight * totals[plans[0][0]] else None


@lru_cache(maxsize=1024)
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
        chosen = _looking_ahead(found, afterwards, problem.policy.foresight)
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
    work = problem.policy.work * compute_steps(counts, problem.precision)
    sums = _sums(problem, plan)
    parts = {"matrix unit": work, "sums": sums, "movements and what follows": cost - work - sums}
    return replace(plan, cost=cost), parts
