"""How long a solution takes: what each unit of the chip has to do for each operation.

Prices of searches add up steps with weights (`weights.py`), so that each decision can be priced by itself. Here all
that an operation makes necessary is known, and it counts what overlaps: the units of the chip work at the same time on
one operation, the busiest of them says how long that takes, and the others add a part of what they do. Latencies of
transfers that wait for each other come on top, and sums over L2Bs, which wait for all their parts. Searches near a
solution add up operations this way as they go on; whole solutions of programs that are not long are compared by
schedules (`makespan.py`).

How much of each counts was fitted to the cycles of 184 programs, different solutions of 18 models
(`scripts/fit_durations.py`), and rounded. Inside of a model the logarithms of durations and cycles differ by 0.056 in
the root mean square, and of two programs that differ by 2 % or more the shorter is named in 91 %.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from mnc.mncore_backend.placement.cost.movements import Movement
from mnc.mncore_backend.placement.cost.weights import Kind
from mnc.mncore_backend.placement.solve.state import Entry, State, entries
from mnc.mncore_backend.pricing import UNITS, Resources

_MAU, _ALU, _MV, _L2BM, _L1BM, _LATENCY = range(len(UNITS))


@dataclass(frozen=True)
class Law:
    """How much of what counts.

    Attributes:
        overlap: part of the work of the other units that runs below that of the busiest.
        start: steps that each movement takes beside what its units do.
        units: which unit does a step of each kind, and how much it counts; movements say it themselves.
        movements: how much of what a movement takes of each unit counts.
    """

    overlap: float
    start: float
    units: Mapping[Kind, tuple[int, float]]
    movements: Resources


def law(overlap: float, start: float, movements: Resources, **counts: float) -> Law:
    """A law; `counts`: how much a step counts of `work`, of what comes from DRAM (`fetched`, `arrival`), of `sums`, and
    of what is `exchanged` for them."""
    units: Mapping[Kind, tuple[int, float]] = {
        "kernel": (_MAU, movements.mau),
        "second": (_ALU, movements.mau),
        "work": (_ALU, counts["work"]),
        "moves": (_ALU, movements.mau),
        "halos": (_ALU, movements.mau),
        "rearranged": (_ALU, 0.03),  # the rough price of a slice counts exchanges that seldom take place
        "arrival": (_L1BM, counts["arrival"]),
        "fetched": (_MV, counts["fetched"]),
        "held": (_ALU, 0.0),
        "sums": (_L1BM, counts["sums"]),
        "exchanged": (_LATENCY, counts["exchanged"]),
        "stored": (_LATENCY, 0.5),
    }
    return Law(overlap, start, MappingProxyType(units), movements)


LAW = law(
    0.3, 5.5, Resources(mau=0.5, alu=0.67, mv=0.57, l2bm=0.5, l1bm=0.5, latency=1.0),
    work=1.75, arrival=0.43, fetched=0.68, sums=0.75, exchanged=0.72,
)  # fmt: skip
MOST_STEPS = 8_000
"""Steps up to which a program is a short one."""


def is_short(state: State, resources: Callable[[Movement], Resources]) -> bool:
    """Whether a program like this solution is a short one."""
    return duration(state, {movement: resources(movement) for movement in state.movements}) <= MOST_STEPS


def duration(state: State, movements: Mapping[Movement, Resources], law: Law = LAW) -> float:
    """Steps of a solution, whose movements take these resources."""
    found: dict[int, list[Entry]] = {}
    for entry in entries(state.paid):
        found.setdefault(entry[0], []).append(entry[:4])
    return sum(lasts(own, movements.__getitem__, law) for own in found.values())


def lasts(paid: Iterable[Entry], resources: Callable[[Movement], Resources], law: Law = LAW) -> float:
    """Steps of one operation that pays for this."""
    total = [0.0] * len(UNITS)
    for _, kind, steps, movement in paid:
        if movement is None:
            unit, share = law.units[kind]
            total[unit] += share * steps
        else:
            for unit, (share, own) in enumerate(zip(law.movements.all, resources(movement).all, strict=True)):
                total[unit] += share * own
            total[_LATENCY] += law.start
    own = Resources(*total)
    busiest = own.in_slices - own.latency
    return own.latency + busiest + (1 - law.overlap) * (own.total - own.latency - busiest)
