"""How long a solution takes: what each unit of the chip has to do for each operation.

Prices of searches add up steps with weights (`weights.py`), so that each decision can be priced by itself. Here all
that an operation makes necessary is known, and it counts what overlaps: the units of the chip work at the same time on
one operation, the busiest of them says how long that takes, and the others add a part of what they do. Latencies of
transfers that wait for each other come on top, and sums over the chip, which wait for all their parts.

How much of each counts differs between short programs and long ones. In one of small tensors every movement has to
begin before anything else can go on, while what comes from DRAM has time to come; where units work without a pause,
what they do is what counts. So there are two laws. That of short programs was fitted to the cycles of 157 programs,
different solutions of 15 models (`scripts/fit_durations.py`). Inside of a model the logarithms of durations and cycles
differ by 0.05 in the root mean square, and of two programs that differ by 2 % or more the shorter is named in 91 % (by
the other law: 0.10 and 85 %). For longer programs than these it chose worse than the other. That was compared with 115
solutions of 12 models: the mean rank correlation inside of a model is 0.84, that of prices 0.45.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from mnc.mncore_backend.placement.cost.movements import Movement
from mnc.mncore_backend.placement.cost.weights import Kind
from mnc.mncore_backend.placement.solve.state import Entry, State, entries
from mnc.mncore_backend.pricing import UNITS, Resources

_MAU, _ALU, _MV, _L2BM, _L1BM, _LATENCY = range(len(UNITS))
_OTHER = _ALU, 1.0


@dataclass(frozen=True)
class Law:
    """How much of what counts.

    Attributes:
        name: of the programs that it is for.
        overlap: part of the work of the other units that runs below that of the busiest.
        start: steps that each movement takes beside what its units do.
        units: which unit does a step of each kind, and how much it counts; movements say it themselves.
        movements: how much of what a movement takes of each unit counts.
    """

    name: str
    overlap: float
    start: float
    units: Mapping[Kind, tuple[int, float]]
    movements: Resources


def law(name: str, overlap: float, start: float, movements: Resources, **counts: float) -> Law:
    """A law; `counts`: how much a step counts of what comes from DRAM (`fetched`, `arrival`), and of `sums`."""
    units: Mapping[Kind, tuple[int, float]] = {
        "kernel": (_MAU, 1.0),
        "rearranged": (_ALU, 0.25),  # the rough price of a slice counts exchanges that seldom take place
        "arrival": (_L1BM, counts["arrival"]),
        "fetched": (_MV, counts["fetched"]),
        "held": (_ALU, 0.0),
        "sums": (_LATENCY, counts["sums"]),
        "stored": (_LATENCY, 1.0),
    }
    return Law(name, overlap, start, MappingProxyType(units), movements)


LONG = law("long", 0.9, 0.0, Resources(*[1.0] * len(UNITS)), arrival=1.0, fetched=1.0, sums=1.0)
SHORT = law(
    "short", 0.45, 19.0, Resources(mau=1.0, alu=2.5, mv=1.0, l2bm=1.0, l1bm=1.0, latency=0.4),
    arrival=0.05, fetched=1.1, sums=1.8,
)  # fmt: skip
MOST_STEPS = 16_000
"""Steps by the law of short programs up to which a program is one."""


def law_of(state: State, resources: Callable[[Movement], Resources]) -> Law:
    """The law for programs like this solution."""
    steps = duration(state, {movement: resources(movement) for movement in state.movements}, SHORT)
    return SHORT if steps <= MOST_STEPS else LONG


def duration(state: State, movements: Mapping[Movement, Resources], law: Law = LONG) -> float:
    """Steps of a solution, whose movements take these resources."""
    found: dict[int, list[Entry]] = {}
    for entry in entries(state.paid):
        found.setdefault(entry[0], []).append(entry[:4])
    return sum(lasts(own, movements.__getitem__, law) for own in found.values())


def lasts(paid: Iterable[Entry], resources: Callable[[Movement], Resources], law: Law) -> float:
    """Steps of one operation that pays for this."""
    total = [0.0] * len(UNITS)
    for _, kind, steps, movement in paid:
        if movement is None:
            unit, share = law.units.get(kind, _OTHER)
            total[unit] += share * steps
        else:
            for unit, (share, own) in enumerate(zip(law.movements.all, resources(movement).all, strict=True)):
                total[unit] += share * own
            total[_LATENCY] += law.start
    own = Resources(*total)
    busiest = own.in_slices - own.latency
    return own.latency + busiest + (1 - law.overlap) * (own.total - own.latency - busiest)
