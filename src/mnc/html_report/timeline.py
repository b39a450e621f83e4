"""The units by step as rows of slices, for the timeline."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from mnc.mncore_backend.assembly.accesses import issue_group
from mnc.mncore_backend.assembly.isa import Unit
from mnc.mncore_backend.assembly.records import Step
from mnc.record.replay import Replay

UNITS = (Unit.L2BM, Unit.L2BMDARW, Unit.L1BM, Unit.TURNAROUND, Unit.MWRITE, Unit.MREAD, Unit.MAU, Unit.ALU)
NAMES = {
    Unit.L2BM: "L2BM transfers",
    Unit.L2BMDARW: "DAR writes",
    Unit.L1BM: "L1BM transfers",
    Unit.TURNAROUND: "L1BM turnaround",
    Unit.MWRITE: "matrix writes",
    Unit.MREAD: "matrix reads",
    Unit.MAU: "MAU",
    Unit.ALU: "ALU",
}
STALLED = "stalled"


@dataclass
class Row:
    """Slices of one unit or path, in order: first step, steps, owner (see `Owners`) and first line, in lists of equal
    length."""

    name: str
    start: list[int] = field(default_factory=list)
    length: list[int] = field(default_factory=list)
    owner: list[int] = field(default_factory=list)
    line: list[int] = field(default_factory=list)

    def add(self, start: int, length: int, owner: int, line: int, *, join: bool = False) -> None:
        """One more slice; with `join` it grows the last one where it goes on for the same owner."""
        if join and self.start and self.owner[-1] == owner and self.start[-1] + self.length[-1] == start:
            self.length[-1] += length
            return
        self.start.append(start)
        self.length.append(length)
        self.owner.append(owner)
        self.line.append(line)

    def as_dict(self) -> dict[str, Any]:
        """Plain values; starts as distances from the one before, which packs better."""
        lists = {"length": self.length, "owner": self.owner, "line": self.line}
        return {"name": self.name, "start": _deltas(self.start), **lists}


class Owners:
    """Sets of kernels and nodes by number."""

    def __init__(self) -> None:
        self.numbers: dict[tuple[Any, ...], int] = {}

    def number(self, own: Sequence[Any]) -> int:
        return self.numbers.setdefault(tuple(own), len(self.numbers))

    def listed(self) -> list[list[Any]]:
        """The sets in the order of their numbers."""
        return [list(own) for own in self.numbers]


def timeline(replay: Replay, lines: Sequence[Sequence[Any]], *, join: bool = True) -> dict[str, Any]:
    """Rows of all units and paths that are used, the owners that slices name, and the step at which each line is
    issued. `lines` are the owners of every line. With `join` steps in a row for the same owner are one slice."""
    owners = Owners()
    rows = {unit.value: Row(NAMES[unit]) for unit in UNITS}
    stalls = Row(STALLED)
    paths: dict[str, Row] = {}
    for event in replay.events:
        own = owners.number(lines[event.line])
        if event.stall:
            waited = event.awaited if event.awaited is not None and event.awaited >= 0 else event.line
            stalls.add(event.start - event.stall, event.stall, owners.number(lines[waited]), waited)
        if isinstance(event.statement, Step):
            units = {issue_group(e) for e in event.statement.expressions if e.opcode not in ("nop", "wait")}
            for unit in units:
                rows.setdefault(unit.value, Row(unit.value)).add(event.start, 1, own, event.line, join=join)
        movement = replay.movements.get(event.line)
        if movement is not None:
            row = paths.setdefault(movement.path, Row(f"MV {movement.path}"))
            row.add(movement.start, max(1, movement.end - movement.start), own, event.line)
    used = [row for row in (*rows.values(), stalls, *paths.values()) if row.start]
    return {
        "rows": [row.as_dict() for row in used],
        "owners": owners.listed(),
        "steps": _deltas([event.start for event in replay.events]),
    }


def _deltas(values: Sequence[int]) -> list[int]:
    return [*values[:1], *(b - a for a, b in pairwise(values))]
