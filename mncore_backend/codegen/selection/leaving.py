"""Stores that leave part by part behind the products that follow.

A result of many products is stored tile by tile. Its way through L1BM and L2BM takes room there as long as its MVs run,
and buffers get their room in program order: written out in one piece, a store would hold up all loads behind it. So it
is written in parts, one behind each of the products that follow.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from mnc.mncore_backend.layout import Layout
from mnc.mncore_backend.movement import DramImage
from mnc.mncore_backend.movement.store import StoreInParts, Sums, prepare_store
from mnc.mncore_backend.program import Buffer, Builder

PASSED = ("arith.constant", "memref.alloc", "memref.memory_space_cast", "mncore.constant", "mncore.dl", "mncore.matmul")
"""What a store may leave behind, unless it uses what is stored."""


@dataclass
class Leaving:
    """Parts of stores that are still to be written, with the buffers they read and the location they have."""

    builder: Builder
    waiting: list[tuple[Callable[[], None], Buffer, str]] = field(default_factory=list)

    def add(self, layout: Layout, source: Buffer, sums: Sums) -> DramImage:
        """A store whose parts shall be written later; what is left of those before is written first."""
        self.finish()
        store = StoreInParts(self.builder, prepare_store(layout, source, sums))
        self.waiting += [(part, source, self.builder.location) for part in store.parts]
        return store.image

    def next(self) -> None:
        """Write one part."""
        if self.waiting:
            emit, _, location = self.waiting.pop(0)
            before, self.builder.location = self.builder.location, location
            emit()
            self.builder.location = before

    def finish(self) -> None:
        """Write all parts."""
        while self.waiting:
            self.next()

    def may_wait_for(self, op: Any, buffers: dict[Any, Buffer]) -> bool:
        """Whether the parts may be written behind an operation."""
        stored = {source for _, source, _ in self.waiting}
        return op.name in PASSED and all(buffers.get(value) not in stored for value in op.operands)
