"""To whom cycles belong: every step, every stalled one and every transfer to the kernels of the lines that cause it.

A step that holds operations of several kernels counts for each with an equal part. A stall belongs to the kernels whose
transfer is waited for, an empty step to those of the next line that does something, so that the sum over kernels is the
length of the program.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from mnc.core.diagnostics import NODE_SEPARATOR
from mnc.mncore_backend.assembly.isa import OPCODES, Unit
from mnc.mncore_backend.assembly.records import Expression, Step
from mnc.mncore_backend.target import CYCLES_PER_STEP, LONG_BYTES, chip
from mnc.record.replay import ISSUE, Event, Replay

Owner = int | str
"""Number of a kernel, or names of nodes where no kernel is known."""
UNNAMED = "(unnamed)"
WAITS = 5
"""How many transfers are named that somebody waited for longest."""


@dataclass
class Share:
    """What belongs to an owner, in steps, and what its transfers move."""

    busy: float = 0.0
    idle: float = 0.0
    stalled: float = 0.0
    mau: float = 0.0
    transfers: int = 0
    dram_read: float = 0
    dram_written: float = 0
    waits: dict[int, float] = field(default_factory=lambda: defaultdict(float))
    lines: int = 0

    def add(self, other: "Share", part: float) -> None:
        """A part of what belongs to another."""
        for name in ("busy", "idle", "stalled", "mau", "dram_read", "dram_written"):
            setattr(self, name, getattr(self, name) + part * getattr(other, name))
        self.transfers += other.transfers
        self.lines += other.lines
        for line, steps in other.waits.items():
            self.waits[line] += part * steps

    def as_dict(self) -> dict[str, Any]:
        """Plain values; `bound` is the least that the work of the owner takes, of what it took `share_of_bound`."""
        total = CYCLES_PER_STEP * (self.busy + self.idle + self.stalled)
        moved = self.dram_read + self.dram_written
        ports = chip().groups * chip().dram_port_longs_per_cycle
        limits = {"compute": CYCLES_PER_STEP * self.mau, "DRAM": moved / ports}
        bound = max(limits, key=lambda name: limits[name])
        longest = sorted(self.waits.items(), key=lambda pair: -pair[1])[:WAITS]
        return {
            "cycles": round(total, 1),
            "steps": round(self.busy, 2),
            "idle_steps": round(self.idle, 2),
            "stall_cycles": round(CYCLES_PER_STEP * self.stalled, 1),
            "mau_steps": round(self.mau, 2),
            "mv_transfers": self.transfers,
            "dram_bytes": round(moved * LONG_BYTES),
            "bound": bound if limits[bound] else "",
            "bound_cycles": round(limits[bound], 1),
            "share_of_bound": round(min(1.0, limits[bound] / total), 4) if total else 0.0,
            "waits": [[line + 1, round(CYCLES_PER_STEP * steps, 1)] for line, steps in longest],
        }


def units_of(expressions: Iterable[Expression]) -> list[Unit]:
    """The units at work in a step."""
    return [OPCODES[e.opcode].unit for e in expressions if e.opcode not in ("nop", "wait")]


def shares(replay: Replay, owners: Sequence[Sequence[Owner]]) -> dict[Owner, Share]:
    """What belongs to every owner; `owners[i]` are those of line i."""
    found: dict[Owner, Share] = defaultdict(Share)
    due: list[Event] = []
    for event in replay.events:
        own = owners[event.line]
        if event.stall:
            _stall(event, owners, found)
        movement = replay.movements.get(event.line)
        busy = isinstance(event.statement, Step) and bool(units_of(event.statement.expressions))
        if not busy and movement is None:
            due.append(event)
            continue
        for waiting in due:
            _spread(found, own, "idle", waiting.steps)
        due.clear()
        _work(event, own, movement, found)
    last = max(replay.movements.values(), key=lambda m: m.finish, default=None)
    for waiting in due:
        _spread(found, owners[last.line] if last else (), "idle", waiting.steps)
    ended = replay.events[-1].start + replay.events[-1].steps if replay.events else 0
    if last is not None and replay.end > ended:
        _spread(found, owners[last.line], "stalled", replay.end - ended)
    return dict(found)


def _spread(found: dict[Owner, Share], own: Sequence[Owner], name: str, amount: float) -> None:
    for owner in own or (UNNAMED,):
        share = found[owner]
        setattr(share, name, getattr(share, name) + amount / max(1, len(own)))


def _stall(event: Event, owners: Sequence[Sequence[Owner]], found: dict[Owner, Share]) -> None:
    waited = event.line if event.awaited in (None, ISSUE) else event.awaited
    assert waited is not None
    _spread(found, owners[waited], "stalled", event.stall)
    for owner in owners[waited] or (UNNAMED,):
        found[owner].waits[waited] += event.stall / max(1, len(owners[waited]))


def _work(event: Event, own: Sequence[Owner], movement: Any, found: dict[Owner, Share]) -> None:
    for owner in own or (UNNAMED,):
        share = found[owner]
        share.lines += 1
        if movement is not None:
            share.transfers += 1
            share.dram_read += movement.dram_read / max(1, len(own))
            share.dram_written += movement.dram_written / max(1, len(own))
            continue
        share.busy += event.steps / max(1, len(own))
        assert isinstance(event.statement, Step)
        share.mau += (Unit.MAU in units_of(event.statement.expressions)) / max(1, len(own))


def by_node(found: dict[Owner, Share], nodes_of: dict[Owner, list[str]]) -> dict[str, Share]:
    """The same by node: what belongs to fused nodes belongs to each with an equal part."""
    result: dict[str, Share] = defaultdict(Share)
    for owner, share in found.items():
        names = nodes_of.get(owner) or (owner.split(NODE_SEPARATOR) if isinstance(owner, str) else [UNNAMED])
        for name in names:
            result[name].add(share, 1 / len(names))
    return dict(result)
