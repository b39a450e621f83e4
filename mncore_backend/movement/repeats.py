"""Movements that were planned before: networks repeat the same block, and its movements between the same layouts.

A plan depends on the machine, on layouts, on the map between them and on the buffers' choices of memory, not on which
buffers they are. So what it emitted once is emitted again with other buffers in their place, instead of being searched
for again.
"""

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping, Set
from copy import copy
from dataclasses import dataclass, replace

from mnc.mncore_backend.movement.pick import Plan
from mnc.mncore_backend.movement.price_book import machine_digest
from mnc.mncore_backend.program import AnyOperand, Buffer, BufferOperand, Builder, MachineOp

MOST_OPERATIONS = 1 << 19
"""Operations that are remembered, some 200 MB; the plans used longest ago are forgotten first. A program with more of
them in different movements plans them twice, ahead and where they are wanted."""


@dataclass(frozen=True, slots=True)
class _Recorded:
    """What a plan emitted: `made` are its buffers, each with a copy from before anybody renamed or placed it."""

    source: Buffer
    target: Buffer
    made: tuple[tuple[Buffer, Buffer], ...]
    operations: tuple[MachineOp, ...]
    plan: Plan

    def emit(self, builder: Builder, source: Buffer, target: Buffer) -> Plan:
        """The same into other buffers."""
        buffers = {self.source: source, self.target: target}
        for buffer, as_made in self.made:
            buffers[buffer] = copy(as_made)
            builder.program.buffers.append(buffers[buffer])
        for op in self.operations:
            builder.program.operations.append(_renamed(op, buffers, builder.location))
        tables = [(replace(image, buffer=buffers[image.buffer]), words) for image, words in self.plan.tables]
        return Plan(tables, [(buffers[buffer], layout, words) for buffer, layout, words in self.plan.kept])


def _renamed(op: MachineOp, buffers: Mapping[Buffer, Buffer], location: str) -> MachineOp:
    def other(operand: AnyOperand) -> AnyOperand:
        if not isinstance(operand, BufferOperand):
            return operand
        return BufferOperand(buffers[operand.buffer], *operand[1:])

    sources, destinations = tuple(map(other, op.sources)), tuple(map(other, op.destinations))
    return MachineOp(op.opcode, sources, destinations, op.modifier, op.zero_flush, op.literal, op.size, location)


Entries = list[tuple[Hashable, _Recorded]]


class Repeats:
    """Plans by what they depend on."""

    def __init__(self) -> None:
        self._known: OrderedDict[Hashable, _Recorded] = OrderedDict()
        self._operations = 0
        self._lock = threading.Lock()

    def forget(self) -> None:
        """Start anew."""
        with self._lock:
            self._known.clear()
            self._operations = 0

    def keys(self) -> set[Hashable]:
        """What is known."""
        with self._lock:
            return set(self._known)

    def entries(self, without: Set[Hashable]) -> Entries:
        """Plans that are not in `without`, for `learn` of another process."""
        with self._lock:
            return [(key, recorded) for key, recorded in self._known.items() if key not in without]

    def learn(self, entries: Entries) -> None:
        """Remember plans that were made elsewhere."""
        for key, recorded in entries:
            self._remember(key, recorded)

    def emit(
        self, builder: Builder, key: Hashable, source: Buffer, target: Buffer, plan: Callable[[], Plan]
    ) -> Plan:
        """Emit what `plan` emits into the builder. `key` is all that it depends on besides the machine, the builder,
        `source` and `target`; it may use no other buffers and no mask registers, whose turn is the builder's."""
        whole = (machine_digest(), key, builder.keep, source is target, _properties(source), _properties(target))
        with self._lock:
            found = self._known.get(whole)
            if found is not None:
                self._known.move_to_end(whole)
        if found is not None:
            return found.emit(builder, source, target)
        buffers, operations = len(builder.program.buffers), len(builder.program.operations)
        result = plan()
        made = tuple((buffer, copy(buffer)) for buffer in builder.program.buffers[buffers:])
        emitted = tuple(builder.program.operations[operations:])
        self._remember(whole, _Recorded(source, target, made, emitted, result))
        return result

    def _remember(self, key: Hashable, recorded: _Recorded) -> None:
        with self._lock:
            before = self._known.pop(key, None)  # made by another thread meanwhile
            self._known[key] = recorded
            self._operations += len(recorded.operations) - (len(before.operations) if before else 0)
            while self._operations > MOST_OPERATIONS:
                self._operations -= len(self._known.popitem(last=False)[1].operations)


def _properties(buffer: Buffer) -> Hashable:
    return buffer.used, buffer.choices, buffer.memory, buffer.alignment


REPEATS = Repeats()
