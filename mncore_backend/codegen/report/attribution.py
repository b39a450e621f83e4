"""Every cycle of a program belongs to a node.

A step that works belongs to the nodes it works for, in equal parts. A stalled cycle belongs to the nodes whose data are
waited for: those of the transfer at whose wait issue stops, or of the MV that may not be issued yet, or, once the last
statement is issued, of the transfer that finishes last. A step without work belongs to whoever goes on next: the nodes
of the step, the transfer or the wait for which it keeps the distance.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from mnc.mncore_backend.target import CYCLES_PER_STEP

UNNAMED = "(unnamed)"


@dataclass(slots=True)
class Wait:
    """Cycles for which a node waits for a transfer: its line of the program and its text."""

    line: int
    transfer: str
    cycles: float = 0.0


@dataclass(slots=True)
class NodeCost:
    """Share of one node. What serves several nodes counts for each with an equal part, but transfers and their long
    words for each in full. `cycles` are those of its steps, idle steps and stalls; `padded_multiply_adds` are those
    the MAUs perform; `waits` say which transfers the stalls are for, the longest first.
    """

    node: str
    cycles: float = 0.0
    steps: float = 0.0
    idle_steps: float = 0.0
    stall_cycles: float = 0.0
    mau_steps: float = 0.0
    padded_multiply_adds: float = 0.0
    mv_transfers: int = 0
    dram_long_words: int = 0
    waits: list[Wait] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Moving:
    """A transfer under way: when it finishes (steps), its line, its text, and the nodes it is for."""

    finish: int
    line: int
    text: str
    nodes: Sequence[str]


class Shares:
    """Takes the events of a program in order; `finish` gives the nodes, the costliest first."""

    def __init__(self) -> None:
        self._nodes: dict[str, NodeCost] = {}
        self._waits: dict[tuple[str, int], Wait] = {}
        self._idle = 0
        self._latest: Sequence[str] = ()

    def _named(self, names: Sequence[str]) -> list[NodeCost]:
        return [self._nodes.setdefault(name, NodeCost(name)) for name in names or [UNNAMED]]

    def idle(self, steps: int) -> None:
        """Steps without work: of whoever goes on next."""
        self._idle += steps

    def goes_on(self, names: Sequence[str]) -> None:
        """What the idle steps before it were for."""
        own = self._named(names) if self._idle else ()
        for node in own:
            node.idle_steps += self._idle / len(own)
        self._idle, self._latest = 0, names

    def work(self, names: Sequence[str], mau_steps: int, multiply_adds: int) -> None:
        """A step that works."""
        self.goes_on(names)
        own = self._named(names)
        for node in own:
            node.steps += 1 / len(own)
            node.mau_steps += mau_steps / len(own)
            node.padded_multiply_adds += multiply_adds / len(own)

    def transfer(self, names: Sequence[str], dram_long_words: int) -> None:
        """A transfer, once it is issued."""
        self.goes_on(names)
        for node in self._named(names):
            node.mv_transfers += 1
            node.dram_long_words += dram_long_words

    def stall(self, steps: int, moving: Moving) -> None:
        """Steps for which a transfer keeps others from being issued."""
        if not steps:
            return
        self.goes_on(moving.nodes)
        own = self._named(moving.nodes)
        for node in own:
            wait = self._waits.get((node.node, moving.line))
            if wait is None:
                wait = self._waits[node.node, moving.line] = Wait(moving.line, moving.text)
                node.waits.append(wait)
            cycles = CYCLES_PER_STEP * steps / len(own)
            wait.cycles += cycles
            node.stall_cycles += cycles

    def finish(self) -> list[NodeCost]:
        """All nodes; idle steps at the end belong to what came last."""
        self.goes_on(self._latest)
        for node in self._nodes.values():
            node.cycles = CYCLES_PER_STEP * (node.steps + node.idle_steps) + node.stall_cycles
            node.waits.sort(key=lambda wait: (-wait.cycles, wait.line))
        return sorted(self._nodes.values(), key=lambda node: (-node.cycles, node.node))
