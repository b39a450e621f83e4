"""MV transfers in flight: tags, completion, and which waits the program still owes."""

from dataclasses import replace
from enum import Enum
from functools import lru_cache

from mnc.mncore_backend.codegen.scheduling.graph import Bundle, Node
from mnc.mncore_backend.codegen.scheduling.steps import StepRecord
from mnc.mncore_backend.codegen.scheduling.timeline import Timeline, TransferTiming
from mnc.mncore_backend.target import TAGS

SPARE_TAGS = 16
"""When fewer tags are free, finished transfers are waited for even if nobody needs them yet."""


class TransferOrder(Enum):
    """Which of several MVs goes first.

    READY    the first in program order of those that need not wait for work of the PEs
    URGENT   the most urgent; one may let another go first that is not ready yet
    """

    READY = "ready"
    URGENT = "urgent"


@lru_cache(1 << 12)
def share_memory(one: TransferTiming, other: TransferTiming) -> bool:
    """Whether two MVs read or write the same instance of a memory."""
    return not set(one.ports).isdisjoint(other.ports)


class Transfers:
    """Issued MVs until their wait. A tag is asserted once and free again after its wait (SDM 3.2.3)."""

    def __init__(self, timeline: Timeline) -> None:
        self.timeline = timeline
        self.finish: dict[int, int] = {}  # operation index -> completion time, until waited for
        self._nodes: dict[int, Node] = {}
        self._free = list(reversed(TAGS))

    @property
    def tag_available(self) -> bool:
        return bool(self._free)

    def issue(self, node: Node, record: StepRecord) -> None:
        """Issue an MV before the step of `record`."""
        assert node.transfer is not None and node.timing is not None
        node.transfer = replace(node.transfer, tag=self._free.pop())
        record.transfers.append(node)
        self.finish[node.index] = self.timeline.issue(node.timing)
        self._nodes[node.index] = node

    def wait(self, index: int, record: StepRecord) -> None:
        """Let the step of `record` wait for an MV; issue stalls until it has finished."""
        node = self._nodes.pop(index)
        assert node.transfer is not None and node.transfer.tag is not None and record.wait is None
        record.wait = node.transfer.tag
        record.waited = index
        self._free.insert(0, node.transfer.tag)
        self.timeline.stall_until(self.finish.pop(index))

    def owed(self, bundle: Bundle) -> list[int]:
        """MVs that must be waited for before the bundle, those that finish first in front."""
        if not bundle.transfers:
            return []
        indices = {n.index for n in bundle.transfers if n.index in self.finish}
        return sorted(indices, key=lambda i: (self.finish[i], i)) if len(indices) > 1 else list(indices)

    def arrival(self, bundle: Bundle) -> int:
        """When the last of them has finished; 0 if nothing is owed."""
        owed = self.owed(bundle)
        return self.finish[owed[-1]] if owed else 0

    def start(self, bundle: Bundle) -> int:
        """When the data phase of an MV would begin if it were issued now."""
        timing = bundle.rows[0][0].timing
        assert timing is not None
        return self.timeline.start(timing)

    def should_wait(self, bundle: Bundle, other: Bundle) -> bool:
        """Whether an MV that could be issued now lets another one go first that will be able to later. If they share a
        memory one delays the other by its data phase; the order is taken in which both, with what follows them, are
        done sooner."""
        own, following = bundle.rows[0][0].timing, other.rows[0][0].timing
        assert own is not None and following is not None
        if not share_memory(own, following):
            return False
        now, arrival = self.timeline.now, self.arrival(other)
        at_once = max(now + bundle.priority, max(arrival, now + own.data_steps) + other.priority)
        behind = max(arrival + other.priority, arrival + following.data_steps + bundle.priority)
        return behind < at_once

    def first_to_finish(self) -> int | None:
        """The MV in flight that finishes first."""
        return min(self.finish, key=lambda i: (self.finish[i], i), default=None)

    def retire(self, record: StepRecord, *, is_last: bool) -> None:
        """If tags are short, or nothing is left that could wait, use a step without a wait for an MV that has finished
        anyway."""
        if record.wait is None and not record.hold and (is_last or len(self._free) < SPARE_TAGS):
            index = self.first_to_finish()
            if index is not None and self.finish[index] <= self.timeline.now:
                self.wait(index, record)
