"""What the checker knows of a step without looking at its addresses, found once for steps that differ in them.

No rule depends on where in memory a step works: only on whether its addresses are aligned and inside the memory, on
the differences between those of one memory, and, where steps follow each other, on overlaps. So steps with equal
shapes, residues and differences share a `Profile`. What it does not settle is left to the rules themselves.
"""

from collections.abc import Sequence
from math import lcm
from typing import NamedTuple

from mnc.mncore_backend.assembly.accesses import Access, accesses, moves_down, produced_latch
from mnc.mncore_backend.assembly.hazards import farthest_distances
from mnc.mncore_backend.assembly.isa import OPCODES, Unit
from mnc.mncore_backend.assembly.records import LATCHES, Expression, Memory
from mnc.mncore_backend.assembly.shapes import Addresses, Shape, is_relocated, step_form
from mnc.mncore_backend.checker.expression_rules import expression_reports
from mnc.mncore_backend.checker.hazard_rules import DELAYED, within_step
from mnc.mncore_backend.checker.latch_rules import turnaround_written
from mnc.mncore_backend.checker.mv_rules import SHARED, bounds
from mnc.mncore_backend.checker.step_rules import step_reports
from mnc.mncore_backend.target import cached_per_machine, chip

_WORD_ALIGNMENT = 4  # a 2-long


@cached_per_machine()
def _long_alignment() -> int:
    return lcm(
        *(facts.alignment for facts in chip().l1bm_families.values()),
        *(facts.alignment_two_long or 1 for facts in chip().l1bm_families.values()),
        *(facts.l1bm_alignment for facts in chip().l2bm_families.values()),
        *(facts.l2bm_alignment for facts in chip().l2bm_families.values()),
    )


_UPPER = (Memory.L1BM, Memory.L2BM)
_COMPANY_LIMIT = _PROFILE_LIMIT = 1 << 14
_BANKS = (Memory.MATRIX_X, Memory.MATRIX_Y)
_CONTROL = (Unit.NOP, Unit.NOFORWARD, Unit.WAIT)

Known = tuple["Profile", Addresses]
"""A step as its profile and addresses, with a 0 behind them: the anchor of what is absolute."""
Overlap = tuple[int, int, int, int, int, int]
"""Where two accesses meet: (anchor, first, end) of the write and of the read, relative to the anchors."""


class Reach(NamedTuple):
    """An access and the words that it may touch, from `first` on to before `end`, relative to the address in the place
    `anchor` (-1: absolute)."""

    access: Access
    anchor: int
    first: int
    end: int


class Traffic:
    """Writes that a later step may read too early, and reads of the same memories."""

    __slots__ = ("_behind", "reads", "writes")

    def __init__(self, reaches: Sequence[Reach]) -> None:
        self.writes = [one for one in reaches if one.access.write]
        self.reads = [one for one in reaches if not one.access.write]
        self._behind: dict[tuple[Traffic, int], tuple[Overlap, ...] | None] = {}

    def behind(self, producer: "Traffic", distance: int) -> tuple[Overlap, ...] | None:
        """What must not overlap so many steps behind a producer; None if the rules have to look whatever the
        addresses."""
        key = (producer, distance)
        try:
            return self._behind[key]
        except KeyError:
            if len(self._behind) >= _PROFILE_LIMIT:
                self._behind.clear()
            found = self._behind[key] = _overlaps(producer.writes, self.reads, distance)
            return found


def _overlaps(writes: Sequence[Reach], reads: Sequence[Reach], distance: int) -> tuple[Overlap, ...] | None:
    found: list[Overlap] = []
    for write in writes:
        for read in reads:
            whatever, overlapping = farthest_distances(write.access, read.access)
            if distance < whatever:
                return None
            if distance < overlapping:
                found.append((write.anchor, write.first, write.end, read.anchor, read.first, read.end))
    return tuple(found)


@cached_per_machine()
def _known_traffic() -> dict[tuple[object, ...], Traffic]:
    return {}


def _traffic(reaches: Sequence[Reach]) -> Traffic:
    """One object for equal traffic, wherever it is."""
    key = tuple([(a.memory, a.write, a.agent, a.instances, *place) for a, *place in reaches])
    found = _known_traffic()
    known = found.get(key)
    if known is None:
        if len(found) >= _PROFILE_LIMIT:
            found.clear()
        known = found[key] = Traffic(reaches)
    return known


class Profile:
    """Facts about steps with equal shapes, residues and differences.

    reports      about the step alone, in any company
    latches      that it reads; `produced` are those it fills, None if it keeps all (nop, noforward)
    turnaround   what it leaves in the turnaround register, None if it leaves it alone
    is_special   the rules have to look whatever the addresses
    uses_upper   it waits, or uses memory that transfers use, too: `shared` says which
    bank_reads   (bank, element bits); bank_writes (bank, element bits, mnemonic)
    traffic      what it reads and writes of memories in which hazards occur
    """

    __slots__ = (
        *("bank_reads", "bank_writes", "has_waits", "is_special", "latches", "produced", "reports", "shared"),
        *("traffic", "turnaround", "uses_upper"),
    )

    def __init__(self, company: "_Company", expressions: tuple[Expression, ...], addresses: Addresses) -> None:
        own = [report._replace(expression=i) for i, e in enumerate(expressions) for report in expression_reports(e)]
        self.reports = (*own, *step_reports(expressions, None), *within_step(expressions))
        infos = [OPCODES[expression.opcode] for expression in expressions]
        units = {info.unit for info in infos}
        keeps = not units.isdisjoint((Unit.NOP, Unit.NOFORWARD))
        self.latches = frozenset(o.memory for e in expressions for o in e.sources if o.memory in LATCHES)
        made = [produced_latch(e) for e, info in zip(expressions, infos, strict=True) if info.unit not in _CONTROL]
        self.produced = None if keeps else frozenset(latch for latch in made if latch is not None)
        self.has_waits = Unit.WAIT in units
        self.uses_upper = not units.isdisjoint((Unit.WAIT, Unit.L2BM, Unit.L2BMDARW))
        touched = [(number, access) for number, e in enumerate(expressions) for access in accesses(e)]
        reaches = [company.reach(number, access, addresses) for number, access in touched]
        certain = [reach for reach in reaches if reach is not None]
        self.traffic = _traffic([one for one in certain if one.access.memory in DELAYED])
        self.shared = [one for one in certain if one.access.memory in SHARED]
        reads_turnaround = any(a.memory is Memory.TURNAROUND and not a.write for _, a in touched)
        self.is_special = reads_turnaround or len(certain) < len(reaches)
        upwards = [
            e for e, info in zip(expressions, infos, strict=True) if info.unit is Unit.L1BM and not moves_down(e)
        ]
        self.turnaround = turnaround_written(upwards[-1], 0) if upwards else None
        self.bank_writes = tuple(
            (e.destinations[0].memory, info.element_bits, info.mnemonic)
            for e, info in zip(expressions, infos, strict=True)
            if info.unit is Unit.MWRITE
        )
        self.bank_reads = tuple(
            (e.sources[0].memory, info.element_bits)
            for e, info in zip(expressions, infos, strict=True)
            if info.unit in (Unit.MAU, Unit.MREAD) and e.sources[0].memory in _BANKS
        )


class _Company:
    """Expressions by their shapes: what the addresses of a step have to be compared with."""

    def __init__(self, shapes: Sequence[Shape]) -> None:
        self.places = [place for number, shape in enumerate(shapes) for place in _places(shape, number)]
        self.limits = [place.limit for place in self.places]
        long_alignment = _long_alignment()
        self.alignments = [long_alignment if p.memory in _UPPER else _WORD_ALIGNMENT for p in self.places]
        self.earlier = [self._earlier(i, len(shapes) == 1) for i in range(len(self.places))]
        self.profiles: dict[tuple[int, ...], Profile] = {}
        fixed = frozenset[Memory]().union(*(_fixed(shape) for shape in shapes))
        self.is_comparable = fixed.isdisjoint([place.memory for place in self.places])

    def _earlier(self, number: int, is_alone: bool) -> list[tuple[int, int]]:
        """Places that the address in a place has to be compared with, and the distance from which on they are apart.
        Only of registers it matters by how much two accesses of a step overlap (row 9b goes by cycles)."""
        own = self.places[number]
        if own.memory in _UPPER:
            return []
        exact = own.memory in (Memory.GRF0, Memory.GRF1) and not is_alone
        return [
            (i, max(_WORD_ALIGNMENT, own.extent, other.extent) if exact else _WORD_ALIGNMENT)
            for i, other in enumerate(self.places[:number])
            if other.memory is own.memory
        ]

    def key(self, addresses: Addresses) -> tuple[int, ...] | None:
        """Residues, and differences as far as they matter; None if the step does not stay inside the memory, or has an
        address that cannot be compared."""
        if not self.is_comparable:
            return None
        found: list[int] = []
        for place, address in enumerate(addresses):
            if address > self.limits[place]:
                return None
            found.append(address % self.alignments[place])
            for other, apart in self.earlier[place]:
                difference = address - addresses[other]
                found.append(difference if -apart < difference < apart else apart)
        return tuple(found)

    def reach(self, number: int, access: Access, addresses: Addresses) -> Reach | None:
        """The words of an access of an expression, relative to the address that they depend on; None if that may be
        one of several."""
        own = (number, access.memory, access.write)
        anchors = [i for i, p in enumerate(self.places) if (p.expression, p.memory, p.is_written) == own] or [-1]
        bases = {addresses[anchor] if anchor >= 0 else 0 for anchor in anchors}
        if len(bases) > 1:
            return None
        (base,) = bases
        first, end = bounds(access)
        return Reach(access, anchors[0], first - base, end - base)


class _Place(NamedTuple):
    """A place of a step: number of the expression, words from the address to the last one, the largest address."""

    expression: int
    memory: Memory
    is_written: bool
    extent: int
    limit: int


@cached_per_machine(_COMPANY_LIMIT)
def _places(shape: Shape, number: int) -> tuple[_Place, ...]:
    """The places of a shape that is that of the expression with this number."""
    found: list[_Place] = []
    for place, operand in zip(shape.places, shape.operands, strict=True):
        memory = operand.memory
        extent = max((bounds(a)[1] for a in accesses(shape.expression) if a.memory is memory), default=0)
        is_written = place >= len(shape.expression.sources)
        found.append(_Place(number, memory, is_written, extent, chip().memories[memory].addresses - extent))
    return tuple(found)


@cached_per_machine(_COMPANY_LIMIT)
def _fixed(shape: Shape) -> frozenset[Memory]:
    """Memories of operands whose addresses, if they have any, are part of the shape."""
    operands = (*shape.expression.sources, *shape.expression.destinations)
    return frozenset(operand.memory for operand in operands if not is_relocated(operand))


@cached_per_machine()
def _companies() -> dict[tuple[Shape, ...], _Company]:
    return {}


def find_profile(expressions: tuple[Expression, ...]) -> Known | None:
    """The profile and the addresses of a step; None if the rules have to look at every step of its kind."""
    shapes, addresses = step_form(expressions)
    companies = _companies()
    company = companies.get(shapes)
    if company is None:
        if len(companies) >= _COMPANY_LIMIT:
            companies.clear()
        company = companies[shapes] = _Company(shapes)
    key = company.key(addresses)
    if key is None:
        return None
    profile = company.profiles.get(key)
    if profile is None:
        if len(company.profiles) >= _PROFILE_LIMIT:
            company.profiles.clear()
        profile = company.profiles[key] = Profile(company, expressions, addresses)
    return profile, (*addresses, 0)
