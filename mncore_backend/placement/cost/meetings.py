"""What is paid later where a tensor meets a larger one in element-wise work, as the scales of channels meet an image.

The larger one stays where it is, and the other has to come there. Of tensors of one size either may come. Views and
element-wise work in between leave a tensor where it is. What other operations do is looked at elsewhere (`ahead.py`).
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from math import prod

from mnc.mncore_backend.layout import Layout
from mnc.mncore_backend.placement.candidates.space import project
from mnc.mncore_backend.placement.cost.ahead import then
from mnc.mncore_backend.placement.cost.movements import Movements
from mnc.mncore_backend.placement.problem import Loops, Operation, Problem, Reshape, Transposition, Use
from mnc.mncore_backend.placement.problem.reads import readers


@dataclass(frozen=True, slots=True)
class _Meeting:
    """Element-wise work that reads a tensor beside an `other` one; `passed` are the operations in between."""

    passed: tuple[int, ...]
    number: int
    use: Use
    other: Use


class Meetings:
    """Prices of meetings; they are remembered."""

    def __init__(self, problem: Problem, movements: Movements, weight: float) -> None:
        """`weight`: what a step of a movement counts."""
        self.problem, self.movements, self.weight = problem, movements, weight
        self._of: dict[int, list[_Meeting]] = {}
        self._known: dict[tuple[int, int, Layout, Layout], float] = {}

    @cached_property
    def _readers(self) -> dict[int, list[int]]:
        return readers(self.problem)

    def after(self, tensor: int, number: int) -> Iterator[tuple[int, Callable[[Layout, Layout], float]]]:
        """What a tensor meets after an operation, and the weighted steps to bring it to there: by the layout of the
        tensor, and that of the other."""
        for meeting in self._meetings_of(tensor):
            if (meeting.passed or (meeting.number,))[0] > number:
                yield meeting.other.tensor, partial(self._price, tensor, meeting)

    def _price(self, tensor: int, meeting: _Meeting, layout: Layout, there: Layout) -> float:
        key = tensor, meeting.number, layout, there
        if key not in self._known:
            self._known[key] = self.weight * self._steps(tensor, meeting, layout, there)
        return self._known[key]

    def beside(self, tensor: int) -> frozenset[int]:
        """Tensors that meet this one, which is not smaller."""
        return self._beside.get(tensor, frozenset())

    @cached_property
    def _beside(self) -> dict[int, frozenset[int]]:
        found: dict[int, set[int]] = {}
        for tensor in range(len(self.problem.tensors)):
            for meeting in self._meetings_of(tensor):
                found.setdefault(meeting.other.tensor, set()).add(tensor)
        return {tensor: frozenset(own) for tensor, own in found.items()}

    def _meetings_of(self, tensor: int) -> list[_Meeting]:
        if tensor not in self._of:
            self._of[tensor] = list(self._found(tensor))
        return self._of[tensor]

    def _found(self, tensor: int) -> Iterator[_Meeting]:
        """Meetings of a tensor; where several ways lead to one of them, by the first."""
        ways: dict[int, tuple[int, ...]] = {tensor: ()}
        queue = [tensor]
        for here in queue:
            for number in self._readers.get(here, ()):
                op = self.problem.operations[number]
                meetings = list(_meetings(op, here, number, ways[here])) if isinstance(op, Loops) else []
                yield from meetings
                if not meetings and _is_passed(op) and op.result not in ways:
                    ways[op.result] = (*ways[here], number)
                    queue.append(op.result)

    def _steps(self, tensor: int, meeting: _Meeting, layout: Layout, there: Layout) -> float:
        for number in meeting.passed:
            op = self.problem.operations[number]
            left = then(self.problem, op, tensor, layout)
            if left is None:
                return 0.0
            tensor, layout = op.result, left
        steps = self._moved(layout, meeting.use, there, meeting.other)
        if prod(layout.shape) == prod(there.shape):
            steps = min(steps, self._moved(there, meeting.other, layout, meeting.use))
        return steps

    def _moved(self, layout: Layout, use: Use, there: Layout, other: Use) -> float:
        """Steps to bring a tensor to where another is."""
        digits = {d: own for own, d in zip(there.dims, other.access, strict=True) if d is not None}
        wanted = project(use.shape, [digits.get(d, ()) for d in range(1 + max(digits))], use.access)
        found = self.movements.relayout(layout, wanted)
        return 0.0 if found is None else found[1]


def _is_passed(op: Operation) -> bool:
    """Whether an operation may leave what it reads where it is."""
    return isinstance(op, Transposition | Reshape) or (isinstance(op, Loops) and op.is_element_wise)


def _meetings(op: Loops, tensor: int, number: int, passed: tuple[int, ...]) -> Iterator[_Meeting]:
    """What is read beside a tensor, at least as large, and where the tensor is not known to be otherwise."""
    uses = [use for use in op.uses if use.tensor == tensor and use.is_direct]
    others = [use for use in op.uses if use.tensor != tensor and use.is_direct]
    for use in uses:
        own = {d for d in use.access if d is not None}
        for other in others:
            if own <= {d for d in other.access if d is not None} and prod(other.shape) > prod(use.shape) > 1:
                yield _Meeting(passed, number, use, other)
                return
