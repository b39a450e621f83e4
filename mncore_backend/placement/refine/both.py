"""Two pieces of work that find solutions, in one process or in two: who solves a problem says which."""

from collections.abc import Callable

from mnc.mncore_backend.placement.solve.state import State

Find = Callable[[], list[State]]
Both = Callable[[Find, Find], tuple[list[State], list[State]]]
"""Does two pieces of work, in two processes perhaps."""


def in_turn(first: Find, second: Find) -> tuple[list[State], list[State]]:
    """Two pieces of work in this process."""
    return first(), second()
