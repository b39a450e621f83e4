"""Where a contraction may run: which hardware axes split rows, columns, the contracted dimension and the batch, and
which operand becomes the matrix. All assignments of L2B, L1B and MAB are candidates.
"""

from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from math import prod
from typing import Literal

from mnc.mncore_backend.layout import Axis, Digit, Layout
from mnc.mncore_backend.placement.candidates.halves import of_halves, packed_share
from mnc.mncore_backend.placement.candidates.policy import PLAIN, SPLIT_AXES
from mnc.mncore_backend.placement.candidates.problem import Contraction, ContractionPlan
from mnc.mncore_backend.placement.candidates.space import (
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
from mnc.mncore_backend.placement.candidates.tiles import aligned_digits, follow_operand, tile_digits
from mnc.mncore_backend.placement.candidates.windows import along_kernels, tiled_layout
from mnc.mncore_backend.target import cached_per_machine

Torn = Literal["shared", "next", "alone"]
TORN: tuple[Torn, ...] = "shared", "next", "alone"
"""Who gets an axis of which the first dimension of a role, as the images of a batch, needs a part only: both it and the
next dimensions, these alone, or it alone, so that some places stay empty."""


def _lane_dim(extents: Sequence[int], dims: Sequence[int]) -> int | None:
    """The dimension of a role that carries the lanes: the best filled, then the last."""
    return max(dims, key=lambda d: (extents[d] / (-(-extents[d] // LANE_COUNT) * LANE_COUNT), d), default=None)


def _role_digits(
    problem: Contraction,
    dims: Sequence[int],
    bits: Bits,
    lane_dim: int | None,
    whole: frozenset[int] = frozenset(),
    torn: Torn = "shared",
) -> tuple[dict[int, Digits], Bits]:
    """Digits of the dimensions of one role, and the coordinate bits that it has no use for. Dimensions in `whole` take
    none."""
    divided = [d for d in dims if d not in whole]
    if torn != "shared" and (first := _first_apart(problem, divided, bits, lane_dim, torn)) is not None:
        dim, taken, others = first
        digits, rest = _role_digits(problem, [d for d in dims if d != dim], others, lane_dim, whole)
        own, unused = _role_digits(problem, [dim], taken, lane_dim, whole)
        return {**own, **digits}, [*unused, *rest]
    extents, windows = problem.extents, problem.left.windows
    if windows is not None and (problem.sliding - problem.inner) & set(dims):
        inner = {d: with_addresses(extents[d], ()) for d in dims if d in problem.inner}
        tiles, rest = tile_digits(windows, extents, [d for d in dims if d not in inner], bits, lane_dim)
        return inner | tiles, rest
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


def _first_apart(
    problem: Contraction, dims: Sequence[int], bits: Bits, lane_dim: int | None, torn: Torn
) -> tuple[int, Bits, Bits] | None:
    """The first of several dimensions, its bits, and those of the others, where it would share an axis with the next;
    None where it does not."""
    wide = [d for d in dims if problem.extents[d] > 1]
    if len([d for d in wide if d not in problem.inner]) < 2 or wide[0] in problem.sliding | problem.inner:
        return None
    blocks = -(-problem.extents[wide[0]] // (LANE_COUNT if wide[0] == lane_dim else 1))
    taken = min((blocks - 1).bit_length(), len(bits))
    if not 0 < taken < len(bits) or bits[taken][0] is not (axis := bits[taken - 1][0]):
        return None
    start = next(i for i, bit in enumerate(bits) if bit[0] is axis)
    if torn == "next":
        return wide[0], bits[:start], bits[start:]
    return wide[0], bits[:taken], [bit for bit in bits[taken:] if bit[0] is not axis]


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
    return [*general_plans(problem), *plans_where_left_is(problem)]


def general_plans(problem: Contraction) -> list[Candidate]:
    """Assignments of coordinate bits to roles. Of the places of factors matters only whether L2Bs are alike there."""
    left, right = problem.left, problem.right
    held = [operand.layout for operand in (left, right) if operand.layout is not None]
    factors = replace(left, layout=None), replace(right, layout=None)
    policy = replace(PLAIN, cyclic=problem.policy.cyclic, whole_axes=problem.policy.whole_axes)
    space = replace(problem, left=factors[0], right=factors[1], home=None, policy=policy)
    axes = problem.policy.contraction_axes
    found = list(_split_plans(space, _units(axes)))
    if (divided := _units_for_batch(problem, axes)) is not None:
        found += _split_plans(space, divided)
    stays = any(operand.kept or operand.resident for operand in (left, right))
    if stays or any(not layout.selected_bits(Axis.L2B) for layout in held):
        alike = tuple(axis for axis in axes if axis is not Axis.L2B)  # slower, but nothing to exchange between L2Bs
        found += _split_plans(space, _units(alike)) if alike != axes else ()
    by_rows = [own for own in found if _is_split_by_rows(problem, own[0])] if problem.policy.by_rows else []
    return by_rows or found


def _is_split_by_rows(problem: Contraction, plan: ContractionPlan) -> bool:
    """Whether L2Bs have different rows of the left factor, or batches, and all of what is contracted."""
    roles = problem.roles()
    split = {roles[d] for d, own in plan.digits.items() for x in own if x.axis is Axis.L2B and x.size > 1}
    return bool(split) and split <= {"b", "m"}


def plans_where_left_is(problem: Contraction) -> list[Candidate]:
    """The plans that leave the left factor where it is."""
    by_role = dims_by_role(problem)
    ways = [_digits_where_left_is(way, by_role) for way in _orientations(problem)]
    return [_assemble(problem, by_role, digits, False) for digits in ways if digits is not None]


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


@cached_per_machine(64)
def _split_plans(problem: Contraction, units: Units, roles: str = "bmnk") -> tuple[Candidate, ...]:
    """All assignments of `units` to these roles, wherever the factors are; remembered, because the same is asked for
    every place from which they may come."""
    by_role = dims_by_role(problem)
    torn = TORN if problem.policy.whole_axes else TORN[:1]
    choices = [role for role in roles if prod(problem.extents[d] for d in by_role[role]) > 1] or ["m"]
    found = []
    for assignment in product(choices, repeat=len(units)):
        taken = list(zip(units, assignment, strict=True))
        own = {role: [bit for unit, r in taken if r == role for bit in unit] for role in "bmnk"}
        sides = (False, True) if problem.left.windows is None else (False,)
        ways = product(_orientations(problem), sides, _undivided(problem, by_role), torn, _row_orders(problem, by_role))
        seen: list[tuple[dict[int, Digits], bool]] = []
        for way, swapped, whole, whose, rows in ways:
            digits = _digits(way, {**by_role, "m": rows}, own, swapped, whole, whose)
            if (digits, swapped) in seen:
                continue
            seen.append((digits, swapped))
            found.append(_assemble(problem, by_role, digits, swapped))
            aligned = aligned_digits(digits, {d: every for d, (_, every) in problem.strides.items()})
            if aligned != digits:
                found.append(_assemble(problem, by_role, aligned, swapped))
    return tuple(found)


def _orientations(problem: Contraction) -> list[Contraction]:
    """The problem with windows as they are, and with tiles along kernels that are much larger than the result."""
    windows = problem.left.windows
    if windows is None or (exchanged := along_kernels(windows, problem.extents)) == windows:
        return [problem]
    return [problem, replace(problem, left=replace(problem.left, windows=exchanged))]


def _row_orders(problem: Contraction, by_role: dict[str, list[int]]) -> list[list[int]]:
    """Orders in which the dimensions of the rows take coordinate bits: as they are, and with one first that is a batch
    of other products, as the second one of sequences of batches."""
    rows = by_role["m"]
    wide = [d for d in rows if problem.extents[d] > 1]
    first = [d for d in wide[1:] if d in problem.batches - problem.sliding]
    return [rows, *([d, *(own for own in rows if own != d)] for d in first)]


def _undivided(problem: Contraction, by_role: dict[str, list[int]]) -> list[frozenset[int]]:
    """Columns and rows that may stay inside the PEs, because who takes parts of them wants them in one place: of
    several dimensions of columns all but the largest, as of the gates of a cell; of those of rows what slices are taken
    of, as the steps of a sequence; or none."""
    columns, rows = ([d for d in by_role[role] if problem.extents[d] > 1] for role in "nm")
    found: list[frozenset[int]] = [frozenset()]
    if len(columns) > 1:
        found.append(frozenset(columns) - {max(columns, key=lambda d: problem.extents[d])})
    steps = problem.sliced & set(rows)
    return [*found, *(own | steps for own in found)] if steps and len(rows) > len(steps) else found


def _lane_dims(problem: Contraction, by_role: dict[str, list[int]], column: str) -> dict[str, int | None]:
    outer = {role: [d for d in by_role[role] if d not in problem.sliding] for role in "bmnk"}
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
    torn: Torn = "shared",
) -> dict[int, Digits]:
    """Digits of all iteration dimensions where the roles take the given coordinate bits; those that stay `whole` take
    none."""
    column = "m" if swapped else "n"
    lane_dim = _lane_dims(problem, by_role, column)
    bits = dict(bits)
    spare = "m" if column == "n" else "n"
    for role in "bnmk":  # MABs that one role leaves over go to the rows; higher levels hold replicas, which is cheaper
        rest = _role_digits(problem, by_role[role], bits[role], lane_dim[role], whole, torn)[1]
        if role != spare and rest and all(axis is Axis.MAB for axis, _ in rest):
            bits[role] = bits[role][: len(bits[role]) - len(rest)]
            bits[spare] = bits[spare] + rest
    digits: dict[int, Digits] = {}
    for role in "bmnk":
        digits.update(_role_digits(problem, by_role[role], bits[role], lane_dim[role], whole, torn)[0])
    return digits


def _assemble(
    problem: Contraction, by_role: dict[str, list[int]], digits: dict[int, Digits], swapped: bool
) -> Candidate:
    """The plan for given digits of all iteration dimensions."""
    extents = problem.extents
    column = "m" if swapped else "n"
    matrix_digits, lanes = dict(digits), _lane_dims(problem, by_role, column)
    if (lane := lanes[column]) is not None:
        matrix_digits[lane] = _lanes_to_addresses(digits[lane])

    def layout(access: Access, source: dict[int, Digits], role: str = "k") -> Layout:
        shape = [1 if d is None else extents[d] for d in access]
        inner = lanes[role] if problem.precision == "half" else None  # pairs of blocks are read and written at once
        return project(shape, [source.get(d, ()) for d in range(len(extents))], access, inner)

    if problem.left.windows is None:
        left = layout(problem.left.access, matrix_digits if swapped else digits)
    else:
        left = tiled_layout(problem.left.windows, extents, [digits.get(d, ()) for d in range(len(extents))])
    right = layout(problem.right.access, digits if swapped else matrix_digits)
    partial = tuple(a for a in SPLIT_AXES if a in _used_axes({d: digits[d] for d in by_role["k"]}))
    counts, share = _counts(digits, by_role, swapped), 1.0
    if problem.precision == "half":
        x, w = (problem.left, left), (problem.right, right)
        counts |= of_halves(w, x, by_role["k"]) if swapped else of_halves(x, w, by_role["k"])
        share = packed_share(counts)
    plan = ContractionPlan(left, right, layout(problem.result, digits, column), swapped, partial, 0.0, digits, share)
    return plan, counts


def partial_bits(problem: Contraction, plan: ContractionPlan) -> dict[Axis, int]:
    """Per axis over which results are partial sums the coordinate bits in which these differ: along the others there
    are replicas of them."""
    found = dict.fromkeys(plan.partial, 0)
    for d, role in problem.roles().items():
        for digit in plan.digits.get(d, ()) if role == "k" else ():
            if digit.axis in found:
                found[digit.axis] |= (digit.size - 1) * digit.stride
    return found


def _counts(digits: dict[int, Digits], by_role: dict[str, list[int]], swapped: bool) -> dict[str, int]:
    counts = {role: _local_count(digits, by_role[role]) for role in "bmnk"}
    counts["columns"] = counts["m" if swapped else "n"]
    counts["rows"] = counts["n" if swapped else "m"]
    return counts


def _local_count(digits: dict[int, Digits], dims: Sequence[int]) -> int:
    return prod(x.size for d in dims for x in digits[d] if x.axis is Axis.ADDRESS)
