"""The table of steps being filled: what each already holds, and whether more fits."""

from collections import deque
from dataclasses import dataclass, field

from mnc.mncore_backend.codegen.scheduling.graph import Bundle, Node
from mnc.mncore_backend.codegen.scheduling.needs import (
    EMPTY,
    Needs,
    far_enough,
    forbidden_around,
    local_distance,
    merged,
    reach,
)


@dataclass(eq=False, slots=True)
class StepRecord:
    """One step. `hold`: must stay nop because a chain needs the latches to keep their content over it."""

    nodes: list[Node] = field(default_factory=list)
    needs: Needs = EMPTY
    transfers: list[Node] = field(default_factory=list)  # issued before this step
    wait: int | None = None  # tag
    waited: int | None = None  # index of the MV that it belongs to
    hold: bool = False


class StepTable:
    """Steps from `first` on; those before it are finished and have been taken out, but for the last `reach` ones, which
    later steps must respect."""

    def __init__(self) -> None:
        self.first = 0
        self._local_distance = local_distance()
        self._records: deque[StepRecord] = deque()
        self._past: deque[StepRecord] = deque([StepRecord() for _ in range(reach())], maxlen=reach())

    def __getitem__(self, step: int) -> StepRecord:
        offset = step - self.first
        if offset < 0:
            return self._past[offset]
        records = self._records
        while len(records) <= offset:
            records.append(StepRecord())
        return records[offset]

    def finish_first(self) -> StepRecord:
        """Take out the first step."""
        record = self[self.first]
        self._records.popleft()
        self._past.append(record)
        self.first += 1
        return record

    def is_empty_from(self, step: int) -> bool:
        """Nothing is reserved at or after `step`."""
        return all(not r.nodes and not r.hold for r in list(self._records)[step - self.first :])

    def fits(self, bundle: Bundle, step: int) -> bool:
        """All rows of the bundle can be placed when the first is at `step`."""
        rows = bundle.needs
        if len(rows) == 1:
            return self._row_fits(rows[0], step)
        taken = {step + o for o in bundle.offsets}
        for hold in range(step, step + bundle.offsets[-1]):
            if hold not in taken and (self[hold].nodes or self[hold].wait is not None):
                return False
        return all(self._row_fits(needs, step + o) for needs, o in zip(rows, bundle.offsets, strict=True))

    def _row_fits(self, needs: Needs, step: int) -> bool:
        record = self[step]
        here = record.needs
        if record.hold or needs.units & here.units:
            return False
        return self._far_from_others(needs, step) and (here is EMPTY or _joined(here, needs) is not None)

    def _far_from_others(self, needs: Needs, step: int) -> bool:
        """Distances of the ports to the steps around (transfer paths and local memories)."""
        if needs.agents > 1:
            for offset, forbidden in forbidden_around(needs.agents):
                if forbidden & self[step + offset].needs.agents:
                    return False
        if reads := needs.local_reads:
            for distance in range(1, self._local_distance):
                if reads & self[step - distance].needs.local_writes:
                    return False
        if writes := needs.local_writes:
            for distance in range(1, self._local_distance):
                if writes & self[step + distance].needs.local_reads:
                    return False
        return True

    def agents_before(self, step: int) -> int:
        """Transfer paths used in the step before `step`."""
        return self[step - 1].needs.agents

    def place(self, bundle: Bundle, step: int) -> None:
        """Put the bundle where `fits` has said that it fits."""
        bundle.placed = True
        taken = set()
        for row, needs, offset in zip(bundle.rows, bundle.needs, bundle.offsets, strict=True):
            record = self[step + offset]
            taken.add(step + offset)
            joined = _joined(record.needs, needs)
            assert joined is not None
            record.needs = joined
            record.nodes.extend(row)
            for node in row:
                node.step = step + offset
        for hold in range(step, step + bundle.offsets[-1]):
            if hold not in taken:
                self[hold].hold = True


_REMEMBERED = 1 << 16
_merged: dict[tuple[int, int], tuple[Needs, Needs, Needs | None]] = {}
"""What pairs of needs make together, by identity: equal operations share theirs. An entry keeps its pair alive."""


def _joined(here: Needs, other: Needs) -> Needs | None:
    """Both in one step; see `merged`."""
    if here is EMPTY:
        return other
    key = id(here), id(other)
    found = _merged.get(key)
    if found is None:
        if len(_merged) >= _REMEMBERED:
            _merged.clear()
        found = _merged[key] = here, other, merged(here, other)
    return found[2]


def side_by_side(first: Bundle, second: Bundle, distance: int) -> bool:
    """Whether the port rules allow that `second` starts `distance` steps after `first`. Rows that would share a step
    are not looked at: if they exclude each other, the one comes a step later."""
    if distance > 0 and len(first.needs) == 1 == len(second.needs):
        return far_enough(first.needs[0], second.needs[0], distance)
    for needs, offset in zip(first.needs, first.offsets, strict=True):
        for others, other_offset in zip(second.needs, second.offsets, strict=True):
            gap = distance + other_offset - offset
            if gap > 0 and not far_enough(needs, others, gap):
                return False
            if gap < 0 and not far_enough(others, needs, -gap):
                return False
    return True
