"""Elements that indices choose: whether PEs can read them at their addresses, and iterations in which they can.

A dimension that an index chooses from is spread over PEs as a part of consecutive elements each. Then the address in a
PE is the index less the first element that the PE holds. Where that is not so, an index has to be compared with every
element.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from math import prod

from mnc.mncore_backend.layout import Axis, Layout
from mnc.mncore_backend.placement.candidates.pointwise import roomy_iteration
from mnc.mncore_backend.placement.candidates.policy import SPLIT_AXES
from mnc.mncore_backend.placement.candidates.space import Access, Digits, default_digits
from mnc.mncore_backend.program import LOCAL_MEMORY
from mnc.mncore_backend.target import chip

WORTHWHILE = 8
"""Elements to choose from in a PE below which comparing with all of them takes no more steps than addresses do."""


def most() -> int:
    """Long words of the share of a table at most: it has to be in one particular memory."""
    return chip().memories[LOCAL_MEMORY[0]].longs // 2


@dataclass(frozen=True)
class Choice:
    """A dimension that an index chooses from: the parts that places hold, and how many elements make a part."""

    dim: int
    hardware: Digits
    part: int

    @property
    def places(self) -> int:
        """Number of different parts."""
        return prod(d.size for d in self.hardware)


def choices(digits: Sequence[Digits], dims: Sequence[int], table: Layout) -> list[Choice] | None:
    """The dimensions of an iteration space that indices choose from, if PEs can and should read at addresses; `digits`
    are those of the space, `table` is where what they choose from is."""
    if table.local_size > most():
        return None
    found: list[Choice] = []
    for dim in dims:
        visible = [d for d in digits[dim] if d.size > 1]
        hardware = tuple(d for d in visible if d.axis is not Axis.ADDRESS)
        inner = visible[len(hardware) :]
        if tuple(visible[: len(hardware)]) != hardware or len(inner) > 1 or any(d.axis is Axis.W for d in hardware):
            return None
        found.append(Choice(dim, hardware, prod(d.size for d in inner)))
    return found if found and prod(choice.part for choice in found) >= WORTHWHILE else None


def in_parts(
    extents: Sequence[int],
    accesses: Sequence[Access],
    dims: Collection[int],
    axes: Sequence[Axis] = SPLIT_AXES,
    *,
    cyclic: bool = False,
) -> list[Digits]:
    """Digits of an iteration space in which the elements that indices choose, along `dims`, can be read at addresses.
    `accesses`: of the table, then of the result."""
    default = default_digits(extents, axes, cyclic=cyclic)
    return roomy_iteration(default, extents, accesses, most(), dims, axes, cyclic=cyclic)
