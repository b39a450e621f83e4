"""What operations of a solution hold at once.

Asked before movements are planned, because plans of what cannot fit are as large as the model. It is a bound: what an
operation needs beside, the allocation finds out.
"""

from mnc.mncore_backend.layout import Layout
from mnc.mncore_backend.placement.problem import Loops, Problem
from mnc.mncore_backend.placement.solve.state import State
from mnc.mncore_backend.program import LOCAL_MEMORY
from mnc.mncore_backend.target import chip


def available() -> int:
    """Long words of the local memories of a PE."""
    return sum(chip().memories[memory].longs for memory in LOCAL_MEMORY)


def most_held(problem: Problem, state: State) -> tuple[int, list[Layout]]:
    """The loops that hold most, and what: the result, and the largest operand where that is no place for the result.
    Other operands may be views of the same. Without loops: (0, [])."""
    own = {
        number: _held(operation, state, number)
        for number, operation in enumerate(problem.operations)
        if isinstance(operation, Loops) and number in state.placed
    }
    return max(own.items(), key=lambda item: longs(item[1]), default=(0, []))


def longs(held: list[Layout]) -> int:
    """Long words per PE."""
    return sum(layout.local_size for layout in held)


FOR_CONSTANTS = 85
"""Percent of the local memories that constants may take which stay there between runs. The rest is for the work."""


def room_for_constants(percent: int = FOR_CONSTANTS) -> int:
    """Long words of a PE for constants that stay on the chip."""
    return percent * available() // 100


def held(state: State) -> float:
    """Long words of a PE that constants take which stay on the chip."""
    return sum(own.get("held", 0.0) for own in state.bill.values())


def has_room(problem: Problem, state: State) -> bool:
    """Whether no loops need more than the local memories of a PE hold, and constants no more than is for them."""
    return longs(most_held(problem, state)[1]) <= available() and held(state) <= problem.for_constants


def _held(operation: Loops, state: State, number: int) -> list[Layout]:
    placed = state.placed[number]
    read = [] if operation.is_element_wise else [layout for layout in placed.operands if layout is not None]
    return [placed.result, *sorted(read, key=lambda layout: -layout.local_size)[:1]]
