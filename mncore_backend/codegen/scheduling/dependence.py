"""Dependences between operations, word by word: who must come before whom, and by how many steps.

Operations are added in program order. For every unit of memory the tracker keeps the last writer and the readers since.
Earlier writers need not be kept: a later writer follows them by a step at least, which makes every distance from the
later writer imply the one from the earlier.
"""

from collections.abc import Iterable

from mnc.mncore_backend.assembly.accesses import Agent
from mnc.mncore_backend.assembly.hazards import farthest_distances, required_distance, reuse_distance
from mnc.mncore_backend.assembly.records import Memory
from mnc.mncore_backend.codegen.scheduling.forwarding import latch_for
from mnc.mncore_backend.codegen.scheduling.graph import Node
from mnc.mncore_backend.codegen.scheduling.touches import BASE_REGISTER, INSTANCED, Touch

WRITE_ORDER_ACROSS_PATHS = 2
"""Steps between two writes of L1BM over different paths, whose latencies differ (6 and 10 idle cycles, OPEN-47)."""

_FORWARDED = (Memory.GRF0, Memory.GRF1, Memory.LM0, Memory.LM1)
Entry = tuple[Node, Touch]


class Found:
    """What a new operation depends on: per operation the distance in steps, and the one that would do if forwarding
    latches delivered what they can."""

    def __init__(self) -> None:
        self.steps: dict[Node, int] = {}
        self.sooner: dict[Node, int] = {}

    def add(self, node: Node, distance: int, sooner: int | None = None) -> None:
        """Raise the distances to a node."""
        if distance > self.steps.get(node, -1):
            self.steps[node] = distance
        least = distance if sooner is None else sooner
        if least > self.sooner.get(node, -1):
            self.sooner[node] = least


class _Tracker:
    """Distances within one memory."""

    def __init__(self) -> None:
        self._fixed: dict[tuple[Agent, Agent], int] = {}  # from a write to a read; 0 where addresses decide

    def _read_distance(self, writer: Touch, reader: Touch) -> int:
        key = writer.access.agent, reader.access.agent
        distance = self._fixed.get(key)
        if distance is None:
            apart, overlapping = farthest_distances(writer.access, reader.access)
            distance = max(1, apart) if apart == overlapping and writer.memory is not Memory.MASK else 0
            self._fixed[key] = distance
        if distance:
            return distance
        hazard = required_distance(writer.access, reader.access)
        return max(1, hazard.emit) if hazard is not None else 1


def _write_distance(first: Touch, second: Touch) -> int:
    a, b = first.access.agent, second.access.agent
    if b is Agent.MV:
        return 2  # one statement between, as for an MV that reads
    return WRITE_ORDER_ACROSS_PATHS if a is not b and first.memory is Memory.L1BM else 1


Chain = tuple[Entry, int, "Chain"] | None
"""Readers with the instances that each still concerns, the last one first. Units that the same operations have read
share it, as most units of a large transfer and of a vector do, so that what is found out for one holds for the next."""


def _note_reader(readers: dict[int, Chain], units: Iterable[int], entry: Entry, instances: int) -> None:
    last: Chain = None
    longer: Chain = (entry, instances, None)
    for u in units:
        known = readers.get(u)
        if known is not last:
            last, longer = known, (entry, instances, known)
        readers[u] = longer


class _Plain(_Tracker):
    """A memory of which every PE or MAB has one copy that all instructions use alike."""

    def __init__(self) -> None:
        super().__init__()
        self.writer: dict[int, Entry] = {}
        self.readers: dict[int, Chain] = {}

    def add(self, node: Node, touch: Touch, found: Found) -> None:
        entry = (node, touch)
        writer, readers = self.writer, self.readers
        before: dict[int, Entry] = {}
        last: Entry | None = None
        for own in map(writer.get, touch.units):
            if own is not last:
                last = own
                if own is not None:
                    before[id(own)] = own
        if not touch.write:
            for other, earlier in before.values():
                if other is not node:
                    sooner = self._forward(node, other, touch) if len(before) == 1 else None
                    found.add(other, self._read_distance(earlier, touch), sooner)
            _note_reader(readers, touch.units, entry, 1)
            return
        for other, earlier in before.values():
            if other is not node:
                found.add(other, _write_distance(earlier, touch))
        followed: Chain = None
        for u in touch.units:
            writer[u] = entry
            chain = readers.pop(u, None)
            if chain is not None and chain is not followed:
                followed = chain
                _follow_readers(chain, node, touch, found)

    def _forward(self, node: Node, other: Node, touch: Touch) -> int | None:
        """1 if a latch can deliver all that is read, None otherwise."""
        if touch.memory not in _FORWARDED or not all(map(self.writer.__contains__, touch.units)):
            return None
        latch = latch_for(other, node, touch.memory)
        if latch is None:
            return None
        if all(memory is not touch.memory for _, memory, _ in node.forwards):
            node.forwards.append((other, touch.memory, latch))
        return 1


def _in_order(readers: Chain) -> list[tuple[Entry, int]]:
    """Readers with their instances, the first one first."""
    found: list[tuple[Entry, int]] = []
    while readers is not None:
        found.append(readers[:2])
        readers = readers[2]
    found.reverse()
    return found


def _follow_readers(readers: Chain, node: Node, touch: Touch, found: Found) -> None:
    """Let a node that writes follow those who read before."""
    steps = found.steps
    while readers is not None:
        (other, earlier), _, readers = readers
        if other is not node and steps.get(other, 0) < 1:
            found.add(other, reuse_distance(earlier.access, touch.access))


Writers = tuple[tuple[Entry, int], ...]


class _Instanced(_Tracker):
    """A memory of which instructions may use some instances only."""

    def __init__(self) -> None:
        super().__init__()
        self.writers: dict[int, Writers] = {}
        self.readers: dict[int, Chain] = {}

    def add(self, node: Node, touch: Touch, found: Found) -> None:
        entry, mine = (node, touch), touch.instances
        before: dict[int, Entry] = {}
        last: Writers = ()
        for writers in map(self.writers.get, touch.units):
            if writers is not last and writers is not None:
                last = writers
                for earlier, instances in writers:
                    if instances & mine:
                        before[id(earlier)] = earlier
        if touch.write:
            self._overwrite(touch.units, entry, mine, found)
        else:
            _note_reader(self.readers, touch.units, entry, mine)
        distance = _write_distance if touch.write else self._read_distance
        for other, earlier in before.values():
            if other is not node:
                found.add(other, distance(earlier, touch))

    def _overwrite(self, units: Iterable[int], entry: Entry, mine: int, found: Found) -> None:
        readers, writers = self.readers, self.writers
        last: Chain = None
        left: Chain = None
        before: Writers = ()
        kept: Writers = ((entry, mine),)
        for u in units:
            if (chain := readers.pop(u, None)) is not None:
                if chain is not last:
                    last, left = chain, _follow(chain, entry[0], mine, found)
                if left is not None:
                    readers[u] = left
            own = writers.get(u, ())
            if own is not before:
                before, kept = own, (*((e, i & ~mine) for e, i in own if i & ~mine), (entry, mine))
            writers[u] = kept


def _follow(readers: Chain, node: Node, mine: int, found: Found) -> Chain:
    """Let a node that writes some instances follow those who read them; returns the readers of the other instances."""
    left: Chain = None
    for reader, instances in _in_order(readers):
        if instances & mine and reader[0] is not node and found.steps.get(reader[0], 0) < 1:
            found.add(reader[0], 1)
        if instances & ~mine:
            left = (reader, instances & ~mine, left)
    return left


class Dependences:
    """Adds operations in program order and says what each depends on."""

    def __init__(self, moving: frozenset[Memory] = frozenset()) -> None:
        """`moving`: local memories whose base register the program writes; their addresses are unknown."""
        self._anywhere = frozenset(memory for memory, base in BASE_REGISTER.items() if base in moving)
        self._constant = frozenset({Memory.BAR0, Memory.BAR1} - moving)
        self._memories: dict[Memory, _Plain | _Instanced] = {}

    def add(self, node: Node, touches: Iterable[Touch]) -> Found:
        """Operations that `node` depends on, with the steps that must lie from each to `node` (0: the same step will
        do), given what it touches, reads first. For an MV that is depended on, completion counts and the number means
        nothing."""
        found = Found()
        for touch in touches:
            memory = touch.memory
            if memory in self._constant:
                continue
            if memory in self._anywhere:
                touch = Touch(touch.access, memory, touch.write, (0,), touch.instances)
            tracker = self._memories.get(memory)
            if tracker is None:
                tracker = self._memories[memory] = _Instanced() if memory in INSTANCED else _Plain()
            tracker.add(node, touch, found)
        return found
