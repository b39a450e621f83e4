"""A large tensor around a transfer that fills all L2BMs.

Two MVs into one L2BM follow each other with their latency (OPEN-38), so the two halves of a group, the even L2Bs and
the odd ones, take turns at its DRAM: one moves data while the latency of the other passes. Around an MV into all L2BMs
(parameters that everybody gets, sums that come back to all L2Bs) both halves wait. So that DRAM need not, a part of the
tensor goes to PDM meanwhile, from where one half gets it while DRAM serves the other.

Which part goes where and when is found by a pattern search over a small simulation.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise, product

from mnc.mncore_backend.machine import CYCLES_PER_STEP, MV_ISSUE_INTERVAL_STEPS, MV_LATENCY_STEPS
from mnc.mncore_backend.movement.transfers import MV_UNIT

PER_STEP = 16 * CYCLES_PER_STEP
HALF_LATENCY = PER_STEP * MV_LATENCY_STEPS
"""Long words that a half moves at 16 per cycle while the latency of the other passes."""
MOST = 5 * HALF_LATENCY
"""Long words of an L2BM that a tensor may take there as a whole."""
_NEXT = MV_LATENCY_STEPS + 1  # from the end of a data phase to the issue of an MV that waits for it


@dataclass(frozen=True, slots=True)
class Exchange:
    """The transfer that fills all L2BMs; times in steps from the start of the program.

    ready     when it may be issued
    data      steps of its data phase
    uses_dram  whether it comes from DRAM
    pdm_free  from when on the tensor may be written to PDM
    tail      steps that the program takes behind it at least
    behind    steps that it takes behind the tensor at least
    """

    ready: int
    data: int
    uses_dram: bool
    pdm_free: int
    tail: int
    behind: int = 0


@dataclass(frozen=True, slots=True)
class Segment:
    """What one MV brings to one half of every group: `size` long words of each of its L2BMs from `start` on, between
    the steps `begin` (of the data phase) and `end` (when it has finished)."""

    half: int
    start: int
    size: int
    from_pdm: bool = False
    begin: float = 0
    end: float = 0


@dataclass(frozen=True, slots=True)
class Plan:
    """MVs in the order of their data phases; when the exchange is issued, when the part that passes by PDM (if any)
    sets out for it, when the tensor has been brought on, and when the program is over at the earliest."""

    segments: tuple[Segment, ...]
    exchange: float
    staging: float
    arrived: float
    finished: float

    @property
    def cost(self) -> float:
        """What the search makes small: the end of the program, and beside it that of the tensor."""
        return self.finished + self.arrived / 1024


@dataclass(frozen=True, slots=True)
class _Sizes:
    """What the search varies, in long words: up to three MVs before the exchange, half 0, half 1 and half 0; behind it
    half `aside` gets `ahead` by PDM, then `first`, then the rest; the other half gets `other`, then the rest."""

    before: tuple[int, int, int]
    aside: int
    ahead: int
    first: int
    other: int

    def cut(self, total: int) -> tuple[list[Segment], tuple[list[Segment], list[Segment]]] | None:
        """The MVs before the exchange, and those of each half behind it; None if they bring too much."""
        done = [0, 0]
        early: list[Segment] = []
        for half, size in zip((0, 1, 0), self.before, strict=True):
            early += [Segment(half, done[half], size)] * (size > 0)
            done[half] += size
        behind: tuple[list[Segment], list[Segment]] = ([], [])
        for half in range(2):
            sizes = (self.ahead, self.first) if half == self.aside else (0, self.other)
            for number, size in enumerate((*sizes, total - done[half] - sum(sizes))):
                if size < 0:
                    return None
                if size:
                    behind[half].append(Segment(half, done[half], size, from_pdm=size == self.ahead and number == 0))
                    done[half] += size
        return early, behind

    def neighbours(self, step: int) -> Iterator["_Sizes"]:
        """Others with one size, or the sum of two that follow each other, changed by `step`."""
        values = (*self.before, self.ahead, self.first, self.other)
        for i in range(len(values)):
            for change in (-step, step):
                for back in (None, *range(i)):
                    new = list(values)
                    new[i] += change
                    if back is not None:
                        new[back] -= change
                    if min(new) >= 0:
                        yield _Sizes((new[0], new[1], new[2]), self.aside, new[3], new[4], new[5])


def plan_around(total: int, work: int, exchange: Exchange) -> Plan:
    """The MVs of a tensor of `total` long words of each L2BM around an exchange, `work` being the number of PE steps
    that bring the tensor on from there."""
    steps = [HALF_LATENCY >> i for i in range(1, HALF_LATENCY.bit_length()) if HALF_LATENCY >> i >= MV_UNIT]
    rough = [_descend(start, steps[:2], total, work, exchange) for start in _starts(total, exchange)]
    rough.sort(key=lambda found: found[0].cost)
    fine = [_descend(sizes, steps, total, work, exchange)[0] for _, sizes in rough[:4]]
    return min(fine, key=lambda plan: (plan.cost, len(plan.segments)))


def _starts(total: int, exchange: Exchange) -> Iterator[_Sizes]:
    """Where the search sets out from: what can arrive before the exchange, some of it in time, and some by PDM."""
    for late, aside, by_pdm in product((0, 32, 64), range(2), (0.0, 0.25, 0.5, 0.75)):
        room = max(0, exchange.ready + late - MV_LATENCY_STEPS) * PER_STEP
        early = min(room // 2, total) // MV_UNIT * MV_UNIT
        ahead = int(by_pdm * (total - early)) // MV_UNIT * MV_UNIT
        rest = (total - early - ahead) // 2 // MV_UNIT * MV_UNIT
        half = early // 2 // MV_UNIT * MV_UNIT
        yield _Sizes((half, early, half), aside, ahead, rest, ahead)


def _descend(
    start: _Sizes, steps: Sequence[int], total: int, work: int, exchange: Exchange
) -> tuple[Plan, _Sizes]:
    """The best plan that changes by smaller and smaller steps lead to."""
    best = _simulate(start, total, work, exchange)
    assert best is not None
    for step in steps:
        while True:
            found = [(_simulate(sizes, total, work, exchange), sizes) for sizes in start.neighbours(step)]
            plans = [(plan, sizes) for plan, sizes in found if plan is not None]
            plan, sizes = min(plans, key=lambda pair: pair[0].cost, default=(best, start))
            if plan.cost > best.cost - 0.01:
                break
            best, start = plan, sizes
    return best, start


def _simulate(sizes: _Sizes, total: int, work: int, exchange: Exchange) -> Plan | None:
    cut = sizes.cut(total)
    if cut is None:
        return None
    early, behind = cut
    free, dram, made = [0.0, 0.0], 0.0, list[Segment]()
    for segment in early:
        begin = max(free[segment.half], dram)
        dram = begin + segment.size / PER_STEP
        made.append(replace(segment, begin=begin, end=dram + MV_LATENCY_STEPS))
        free[segment.half] = dram + _NEXT
    issued = max(exchange.ready, *free)
    if exchange.uses_dram:
        dram = max(dram, issued) + exchange.data
    staging = max(dram, exchange.pdm_free)
    pdm = issued
    if sizes.ahead:
        dram = staging + sizes.ahead / PER_STEP
        pdm = dram + _NEXT
    made += _behind(behind, issued + exchange.data + _NEXT, dram, pdm)
    over = issued + exchange.data + MV_LATENCY_STEPS + exchange.tail
    arrived = _brought_on(made, total, work)
    return Plan(tuple(made), issued, staging, arrived, max(over, arrived + exchange.behind))


def _behind(queues: tuple[list[Segment], list[Segment]], end: float, dram: float, pdm: float) -> Iterator[Segment]:
    """The MVs behind an exchange that is over at `end`, each as soon as its half and its source allow."""
    free, issue = [end, end], end
    places = [0, 0]
    while True:
        ready = []
        for half in range(2):
            if places[half] < len(queues[half]):
                segment = queues[half][places[half]]
                ready.append((max(issue, free[half], pdm if segment.from_pdm else dram), half, segment))
        if not ready:
            return
        begin, half, segment = min(ready, key=lambda r: (r[0], free[r[1]]))
        data = begin + segment.size / PER_STEP
        if not segment.from_pdm:
            dram = data
        issue = max(issue, free[half]) + MV_ISSUE_INTERVAL_STEPS
        free[half] = data + _NEXT
        places[half] += 1
        yield replace(segment, begin=begin, end=data + MV_LATENCY_STEPS)


def _brought_on(segments: Sequence[Segment], total: int, work: int) -> float:
    """When the PEs have brought on all, each part as soon as both halves have it."""
    time = 0.0
    for start, end in pairwise(sorted({0, total, *(s.start for s in segments)})):
        arrival = max(s.end for s in segments if s.start <= start < s.start + s.size)
        time = max(time, arrival) + work * (end - start) / total
    return time
