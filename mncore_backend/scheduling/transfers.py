"""MV transfers in flight: tags, completion, and which waits the program still owes."""

from dataclasses import replace
from enum import Enum

from mnc.mncore_backend.machine import TAGS
from mnc.mncore_backend.scheduling.graph import Bundle, Node
from mnc.mncore_backend.scheduling.steps import StepRecord
from mnc.mncore_backend.scheduling.timeline import Timeline

SPARE_TAGS = 16
"""When fewer tags are free, finished transfers are waited for even if nobody needs them yet."""


class TransferOrder(Enum):
    """Which of several MVs goes first.

    READY    the first in program order of those that need not wait for work of the PEs
    URGENT   the most urgent; one may let another go first that is not ready yet
    PROGRAM  the first in program order of those that share a memory, whatever it waits for
    """

    READY = "ready"
    URGENT = "urgent"
    PROGRAM = "program"


def written_by(node: Node) -> int:
    """Instances of memories that an MV writes, as a bit set; 0 for other work."""
    return node.timing.written if node.timing is not None else 0


def share_memory(one: Bundle, other: Bundle) -> bool:
    """Whether two MVs, not issued yet, read or write the same instance of a memory."""
    timings = [bundle.rows[0][0].timing for bundle in (one, other)]
    assert timings[0] is not None and timings[1] is not None
    return not set(timings[0].ports).isdisjoint(timings[1].ports)


class Transfers:
    """Issued MVs until their wait. A tag is asserted once and free again after its wait (SDM 3.2.3)."""

    def __init__(self, timeline: Timeline, *, share_memories: bool) -> None:
        """`share_memories`: two MVs in flight may write the same memory (at different addresses)."""
        self.timeline = timeline
        self._share_memories = share_memories
        self.finish: dict[int, int] = {}  # operation index -> completion time, until waited for
        self._nodes: dict[int, Node] = {}
        self._written: dict[int, int] = {}  # what they write, as a bit set
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
        self._written[node.index] = written_by(node)

    def wait(self, index: int, record: StepRecord) -> None:
        """Let the step of `record` wait for an MV; issue stalls until it has finished."""
        node = self._nodes.pop(index)
        del self._written[index]
        assert node.transfer is not None and node.transfer.tag is not None and record.wait is None
        record.wait = node.transfer.tag
        record.waited = index
        self._free.insert(0, node.transfer.tag)
        self.timeline.stall_until(self.finish.pop(index))

    def owed(self, bundle: Bundle) -> list[int]:
        """MVs that must be waited for before the bundle, those that finish first in front."""
        if not bundle.transfers and not bundle.is_transfer:
            return []
        indices = {n.index for n in bundle.transfers if n.index in self.finish}
        if bundle.is_transfer and self.finish and not self._share_memories:
            indices |= self._same_target(bundle.rows[0][0])
        return sorted(indices, key=lambda i: (self.finish[i], i)) if len(indices) > 1 else list(indices)

    def arrival(self, bundle: Bundle) -> int:
        """When the last of them has finished; 0 if nothing is owed."""
        owed = self.owed(bundle)
        return self.finish[owed[-1]] if owed else 0

    def _same_target(self, node: Node) -> set[int]:
        """MVs in flight that write a memory which `node` writes too. What the constraints on MVs in flight are is not
        public (OPEN-38), so such MVs are kept apart."""
        written = written_by(node)
        return {i for i, other in self._written.items() if written & other}

    def should_wait(self, bundle: Bundle, other: Bundle) -> bool:
        """Whether an MV that could be issued now lets another one go first that will be able to later. If both write a
        memory one delays the other; the order is taken in which both, with what follows them, are done sooner."""
        node, following = bundle.rows[0][0], other.rows[0][0]
        assert node.timing is not None and following.timing is not None
        if self._share_memories or not self._meet(bundle, other):
            return False
        now, arrival = self.timeline.now, self.arrival(other)
        after = now + node.timing.duration + other.priority
        return arrival + following.timing.duration + bundle.priority < after

    @staticmethod
    def _meet(one: Bundle, other: Bundle) -> bool:
        """Two MVs write the same memory."""
        return bool(written_by(one.rows[0][0]) & written_by(other.rows[0][0]))

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
