"""What an operation does to states: worked out once for all states that look alike from where it stands.

What an operation can do, and what that costs, depends on where its operands are, and for those that are free yet on
where that is from which they are made. States of a beam differ elsewhere for the most part. So the rules are applied to
a state in which there is nothing but that, and the difference is what happens to all states that agree in it.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from mnc.mncore_backend.layout import Layout
from mnc.mncore_backend.placement.candidates.contraction import Compared
from mnc.mncore_backend.placement.problem import Problem
from mnc.mncore_backend.placement.problem.reads import read_by
from mnc.mncore_backend.placement.solve.state import Entry, Front, Placed, State, entries

Seen = tuple[tuple[int, Layout | None], ...]
"""Tensors on which it depends what an operation does, and where they are; None for what waits."""


@dataclass(frozen=True, slots=True, eq=False)
class Transition:
    """What becomes different in a state.

    Attributes:
        layouts: tensors that have a place now.
        done: tensors that do not wait any more.
        waiting: tensors that wait from now on, and their work.
        placed, compared: of operations.
        price: what is added to it.
        paid: what that is made of, the first first.
    """

    layouts: tuple[tuple[int, Layout], ...]
    done: tuple[int, ...]
    waiting: tuple[tuple[int, int], ...]
    placed: dict[int, Placed]
    compared: dict[int, list[Compared]]
    price: float
    paid: tuple[Entry, ...]

    @classmethod
    def between(cls, before: State, after: State) -> "Transition":
        """What leads from one state to another that came of it."""
        paid: list[Entry] = []
        for entry in entries(after.paid):
            if entry is before.paid:
                break
            paid.append(entry[:4])
        return cls(
            tuple((t, own) for t, own in after.layouts.items() if t not in before.layouts),
            tuple(t for t in before.waiting if t not in after.waiting),
            tuple((t, own) for t, own in after.waiting.items() if t not in before.waiting),
            {number: own for number, own in after.placed.items() if number not in before.placed},
            {number: own for number, own in after.compared.items() if number not in before.compared},
            after.price - before.price,
            tuple(reversed(paid)),
        )

    @property
    def choice(self) -> tuple[list[Placed], list[Layout]]:
        """What is decided, whichever operations and tensors it is about."""
        return [*self.placed.values()], [layout for _, layout in self.layouts]

    def left_waiting(self, state: Front) -> tuple[int, ...]:
        """What waits in the state that it leads to."""
        if not state.waiting and not self.waiting:
            return ()
        return *(t for t in state.waiting if t not in self.done), *(t for t, _ in self.waiting)

    def change(self, front: Front) -> None:
        """Let a state be, for what comes next, the one that it leads to."""
        front.layouts.update(self.layouts)
        for tensor in self.done:
            del front.waiting[tensor]
        front.waiting.update(self.waiting)
        front.price += self.price

    def take(self, state: State, number: int) -> None:
        """Do in a state what operation `number` does."""
        self.change(state)
        state.current = number
        state.placed.update(self.placed)
        state.compared.update(self.compared)
        for entry in self.paid:
            state.paid = *entry, state.paid


def seen(problem: Problem, state: Front, number: int) -> Seen:
    """Where those tensors are on which it depends what operation `number` does in a state."""
    return tuple(_seen(problem, state, number))


def with_nothing_else(problem: Problem, looks: Seen, like: Front) -> State:
    """A state in which there is no more than what an operation sees in another."""
    made_by = {t: problem.tensors[t].made_by for t, layout in looks if layout is None}
    return State(
        layouts={t: layout for t, layout in looks if layout is not None},
        waiting={t: number for t, number in made_by.items() if number is not None},
        weights=like.weights,
    )


def _seen(problem: Problem, state: Front, number: int) -> Iterator[tuple[int, Layout | None]]:
    queue = list(read_by(problem.operations[number]))
    met = set(queue)
    for tensor in queue:
        layout = state.layouts.get(tensor)
        if layout is not None:
            yield tensor, layout
            continue
        if tensor in state.waiting:
            yield tensor, None
        maker = problem.tensors[tensor].made_by
        if maker is not None:
            more = [t for t in read_by(problem.operations[maker]) if t not in met]
            queue += more
            met.update(more)
