"""A decoded step that can be filled with other addresses (see `templates`)."""

from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from mnc.mncore_backend.emulator.arena import Rows
from mnc.mncore_backend.emulator.l2bm import L2bmPlan
from mnc.mncore_backend.emulator.plan import Access, Plan, UpperAccess


class Binding:
    """An operand with an address: what a template may be filled with where another one stood.

    parts     rows; `packed` has the same as records hold them
    accesses  what a step reads or writes through it
    l2bm      the transfer, where the binding is one between L2BM and L1BM
    verified  the epoch of the shadow in which it was read clean, or written by a clean step (see `checks`)
    """

    __slots__ = ("accesses", "l2bm", "packed", "parts", "verified")

    def __init__(
        self,
        parts: tuple[Rows, ...],
        accesses: tuple[Access | UpperAccess, ...] = (),
        l2bm: L2bmPlan | None = None,
    ) -> None:
        self.parts = parts
        self.packed = tuple([array("q", rows) for rows in parts])
        self.accesses = accesses
        self.l2bm = l2bm
        self.verified = -1


class StepShape(NamedTuple):
    """What steps have in common that differ in addresses only: the units whose buffers count, the latches that are
    read, and whether the turnaround register counts. `number` names it."""

    number: int
    units: tuple[str, ...]
    latches: tuple[str, ...]
    uses_turnaround: bool


class Pattern(NamedTuple):
    """A step as templates see it: equal shapes in equal situations differ in their bindings only."""

    shape: StepShape
    bindings: list[Binding]


@dataclass(slots=True)
class Template:
    """A decoded step with the places of its bindings: (place in the records, its end, binding, part), and for every
    access the place in its list, binding and number. `calls` are places in the table and in the records, in bytes.

    `is_bound` says that it accesses nothing but through bindings; `verified` is the epoch in which the matrix rows it
    uses were found written."""

    plan: Plan
    calls: list[tuple[int, int]]
    rows: list[tuple[int, int, int, int]]
    reads: list[tuple[int, int, int]]
    writes: list[tuple[int, int, int]]
    upper: list[tuple[int, int, int]]
    is_bound: bool = False
    verified: int = -1

    def fill(self, bindings: Sequence[Binding]) -> Plan:
        """The plan of the same step with other addresses."""
        known = self.plan
        records, table = known.records[:], known.table[:]
        for place, end, binding, part in self.rows:
            records[place:end] = bindings[binding].packed[part]
        first = records.buffer_info()[0]
        for place, at in self.calls:
            table[place] = first + at
        made = Plan(table, records, known.facts, self, bindings)
        if known.l2bm:
            made.l2bm = [binding.l2bm for binding in bindings if binding.l2bm is not None]
        return made

    def accesses(self, bindings: Sequence[Binding]) -> tuple[list[Any], list[Any], list[Any]]:
        """What the step reads and writes with these bindings (see `Plan.accesses`)."""
        facts = self.plan.facts
        return (
            _put(facts.reads, self.reads, bindings),
            _put(facts.writes, self.writes, bindings),
            _put(facts.upper, self.upper, bindings),
        )


def _put(known: list[Any], places: list[tuple[int, int, int]], bindings: Sequence[Binding]) -> list[Any]:
    if not places:
        return known
    filled = known[:]
    for place, binding, number in places:
        filled[place] = bindings[binding].accesses[number]
    return filled
