"""Which memories the constants and registers of a kernel are in, such that its trips can begin as often as possible.

A step reads one address of each memory, and an address of a local memory is read or written. A kernel repeats the
same units for group after group, so in the long run a trip takes as many steps as a table that goes round needs: all
units of one trip are put into it, and no port is used twice in a step. (Distances between the units do not count;
groups side by side fill them.) The search changes one place at a time and keeps what makes the table shorter; what that
is, `trip.py` says.

Allocation decides later in which local memory inputs and outputs are. So there are two tables: inputs in LM0 and
outputs in LM1, and the other way round. Of placements with equally short tables, what the scheduler makes of one may
take a tenth more steps than what it makes of another; which is the better one often depends on what allocation decides.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache

from mnc.mncore_backend.assembly.records import Memory
from mnc.mncore_backend.kernels.vector.placed import Place, Placed, Unit
from mnc.mncore_backend.kernels.vector.trip import Choices, Owner, Price, Trip, Units, owner_of
from mnc.mncore_backend.program import LOCAL_MEMORY, REGISTER_FILE


def balanced(units: Sequence[Unit], inputs: Choices, outputs: Choices) -> tuple[list[Unit], Price]:
    """The units with other memories for constants and registers, and what they cost. `inputs` and `outputs` are the
    memories that each input and output may be in."""
    plain = tuple(
        tuple((placed.instruction.is_mau, placed.sources, tuple(placed.destinations)) for placed in unit)
        for unit in units
    )
    memory, price = _search(plain, inputs, outputs)
    numbers: Iterator[int] = iter(range(sum(map(len, units))))

    def moved(placed: Placed) -> Placed:
        index = next(numbers)
        sources = tuple(_with_memory(memory, place, index) for place in placed.sources)
        return Placed(placed.instruction, sources, [_with_memory(memory, p, index) for p in placed.destinations])

    return [[moved(placed) for placed in unit] for unit in units], price


@lru_cache(maxsize=256)
def _search(units: Units, inputs: Choices, outputs: Choices) -> tuple[dict[Owner, Memory], Price]:
    trip = Trip(units, inputs, outputs)
    before, present = dict(trip.memory), trip.price()
    assert present is not None  # no limit was set
    price = improve(trip, present)
    return (trip.memory, price) if price[0] < present[0] else (before, present)


def improve(trip: Trip, price: Price) -> Price:
    """Change one memory after the other until no change helps. `price` is the one of now; the one then."""
    improving = True
    while improving:
        improving = False
        for owner in trip.memory:
            found = _improve_one(trip, owner, price)
            improving |= found < price
            price = found
    return price


def _improve_one(trip: Trip, owner: Owner, price: Price) -> Price:
    best = trip.memory[owner]
    for memory in (*LOCAL_MEMORY, *REGISTER_FILE) if owner[0] == "constant" else REGISTER_FILE:
        if memory is not best:
            trip.move(owner, memory)
            if trip.is_possible(owner) and (found := trip.price(price)) is not None:
                best, price = memory, found
    trip.move(owner, best)
    return price


def _with_memory(memory: dict[Owner, Memory], place: Place, index: int) -> Place:
    return replace(place, memory=memory.get(owner_of(place, index), place.memory))
