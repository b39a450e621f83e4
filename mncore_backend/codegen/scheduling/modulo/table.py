"""The steps of one interval, which all iterations share: a step table that goes round."""

from mnc.mncore_backend.codegen.scheduling.graph import Bundle
from mnc.mncore_backend.codegen.scheduling.needs import far_enough, merged, reach
from mnc.mncore_backend.codegen.scheduling.steps import StepRecord, StepTable


class ModuloTable(StepTable):
    """Step `t` is step `t` modulo the interval. The rules of what shares a step, and of the distances between steps,
    are those of the list scheduler. MVs, which run beside the steps, are not entered."""

    def __init__(self, interval: int) -> None:
        super().__init__()
        self.interval = interval
        self._rows = [StepRecord() for _ in range(interval)]
        self._placed: dict[Bundle, int] = {}

    def __getitem__(self, step: int) -> StepRecord:
        return self._rows[step % self.interval]

    def place(self, bundle: Bundle, step: int) -> None:
        """Put an item where `fits` has said that it fits. It must agree with itself, see `repeats_at`."""
        super().place(bundle, step)
        self._placed[bundle] = step

    def remove(self, bundle: Bundle) -> None:
        """Take an item out again."""
        del self._placed[bundle]
        others = self._placed
        self._rows, self._placed = [StepRecord() for _ in range(self.interval)], {}
        for other, step in others.items():
            self.place(other, step)

    def in_the_way(self, bundle: Bundle, step: int) -> list[Bundle]:
        """Items without which `bundle` would fit at `step`: the first that were placed stay, if they can."""
        rest = ModuloTable(self.interval)
        rest.place(bundle, step)
        found = []
        for other, place in self._placed.items():
            if rest.fits(other, place):
                rest.place(other, place)
            else:
                found.append(other)
        return found


def repeats_at(item: Bundle, interval: int) -> bool:
    """Whether an item may be issued every `interval` steps: its rows never meet those of another iteration in a way
    that a step, or the distance of two steps, excludes."""
    rows = list(zip(item.needs, item.offsets, strict=True))
    for needs, offset in rows if not item.is_transfer else ():
        for others, other_offset in rows:
            gap = (other_offset - offset) % interval
            if gap == 0 and other_offset != offset and merged(needs, others) is None:
                return False
            if not all(far_enough(needs, others, distance) for distance in range(gap or interval, reach(), interval)):
                return False
    taken = {offset % interval for offset in item.offsets}
    held = set(range(item.offsets[-1])) - set(item.offsets)
    return taken.isdisjoint(step % interval for step in held)
