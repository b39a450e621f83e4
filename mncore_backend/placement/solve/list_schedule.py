"""A list schedule: of the tasks that are ready, that starts first on which most of the rest waits.

before:  tasks, each with the steps for which it keeps units busy, and the tasks whose results it needs
after:   the step in which the last result is there

It is no bound, neither from below nor from above: a program is scheduled by the same rule, instruction by instruction.
"""

from collections.abc import Sequence
from heapq import heappop, heappush
from typing import NamedTuple


class Task(NamedTuple):
    """A piece of work.

    Attributes:
        busy: steps for which it keeps each unit busy, all from its start.
        waits: steps from when all units are done until its result is there.
        after: numbers of tasks before it whose results it needs.
    """

    busy: tuple[float, ...]
    waits: float
    after: tuple[int, ...] = ()

    @property
    def steps(self) -> float:
        """From its start until its result is there."""
        return max(self.busy) + self.waits


def scheduled(tasks: Sequence[Task]) -> float:
    """The step in which the last result is there."""
    if not tasks:
        return 0.0
    readers = _readers(tasks)
    urgency = _urgency(tasks, readers)
    left = [len(task.after) for task in tasks]
    free = [0.0] * len(tasks[0].busy)
    waiting: dict[tuple[int, ...], list[tuple[float, int]]] = {}  # ready tasks by the units that they need

    def make_ready(number: int) -> None:
        units = tuple(unit for unit, steps in enumerate(tasks[number].busy) if steps)
        heappush(waiting.setdefault(units, []), (-urgency[number], number))

    for number, count in enumerate(left):
        if not count:
            make_ready(number)
    events: list[tuple[float, int]] = []  # steps in which units are free (-1) or results are there
    now = 0.0
    while True:
        while (number := _next(waiting, free, now)) is not None:
            task = tasks[number]
            for unit, steps in enumerate(task.busy):
                if steps:
                    free[unit] = now + steps
                    heappush(events, (free[unit], -1))
            heappush(events, (now + task.steps, number))
        if not events:
            return now
        now, number = heappop(events)
        for reader in readers[number] if number >= 0 else ():
            left[reader] -= 1
            if not left[reader]:
                make_ready(reader)


def _readers(tasks: Sequence[Task]) -> list[list[int]]:
    """Per task the numbers of those that need its result."""
    readers: list[list[int]] = [[] for _ in tasks]
    for number, task in enumerate(tasks):
        for needed in task.after:
            readers[needed].append(number)
    return readers


def _urgency(tasks: Sequence[Task], readers: Sequence[Sequence[int]]) -> list[float]:
    """Per task the steps from its start to the end, were there units for all."""
    urgency = [0.0] * len(tasks)
    for number in reversed(range(len(tasks))):
        urgency[number] = tasks[number].steps + max((urgency[reader] for reader in readers[number]), default=0.0)
    return urgency


def _next(
    waiting: dict[tuple[int, ...], list[tuple[float, int]]], free: Sequence[float], now: float
) -> int | None:
    """The most urgent of the ready tasks whose units are free, which is taken out; None if there is none."""
    heaps = [heap for units, heap in waiting.items() if heap and all(free[unit] <= now for unit in units)]
    return heappop(min(heaps, key=lambda heap: heap[0]))[1] if heaps else None
