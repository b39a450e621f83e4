"""The price of a trip that is kept up to date is that of the placement as it is."""

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mnc.mncore_backend.assembly.records import Memory
from mnc.mncore_backend.kernels.vector.placed import Place
from mnc.mncore_backend.kernels.vector.trip import Choices, Operation, Price, Trip, Units, owner_of
from mnc.mncore_backend.program import LOCAL_MEMORY, REGISTER_FILE

HOMES = tuple(map(frozenset, (LOCAL_MEMORY, LOCAL_MEMORY[:1], LOCAL_MEMORY[1:], REGISTER_FILE[:1])))
FILES = st.sampled_from(REGISTER_FILE)
MEMORIES = st.sampled_from((*LOCAL_MEMORY, *REGISTER_FILE))
NUMBERS = st.integers(0, 3)
REGISTERS = st.builds(Place, st.just("register"), NUMBERS, FILES)
CONSTANTS = st.builds(Place, st.just("constant"), NUMBERS, MEMORIES)
OTHERS = st.builds(Place, st.sampled_from(["input", "sign", "latch"]), st.integers(0, 1), st.just(Memory.ALUF))
STORED = st.builds(Place, st.just("output"), st.integers(0, 1))
SOURCES = st.lists(REGISTERS | CONSTANTS | OTHERS, max_size=3, unique_by=lambda place: (place.kind, place.number))
RESULTS = st.lists(REGISTERS | STORED, max_size=2, unique=True)
OPERATIONS = st.tuples(st.booleans(), SOURCES.map(tuple), RESULTS.map(tuple))
UNITS = st.lists(st.lists(OPERATIONS, min_size=1, max_size=3).map(tuple), min_size=1, max_size=8).map(tuple)
BUFFERS = st.tuples(st.sampled_from(HOMES), st.sampled_from(HOMES))


class FromScratch:
    """Price and legality of a placement, found anew, with sets of ports."""

    def __init__(self, trip: Trip, units: Units, inputs: Choices, outputs: Choices) -> None:
        self._memory, self._inputs, self._outputs, self._units = trip.memory, inputs, outputs, units

    def price(self) -> Price:
        tables = [self._table(read, written) for read, written in (LOCAL_MEMORY, LOCAL_MEMORY[::-1])]
        return sum(steps for steps, _ in tables), sum(uneven for _, uneven in tables)

    def is_possible(self) -> bool:
        index = 0
        for unit in self._units:
            for operation in unit:
                if not self._may_be(index, operation):
                    return False
                index += 1
        return True

    def _may_be(self, index: int, operation: Operation) -> bool:
        read: Counter[Memory] = Counter()
        written: Counter[Memory] = Counter()
        for place in operation[2]:
            written.update(self._homes(place, index))
        for place in operation[1]:
            homes = self._homes(place, index)
            if place.kind == "constant" and set(homes) & set(written) & set(LOCAL_MEMORY):
                return False
            read.update(homes)
        return max([*read.values(), *written.values()], default=0) <= 1

    def _homes(self, place: Place, index: int) -> frozenset[Memory]:
        if place.kind in ("sign", "latch"):
            return frozenset()
        if place.kind in ("input", "output"):
            return (self._inputs if place.kind == "input" else self._outputs)[place.number]
        memory = self._memory.get(owner_of(place, index), place.memory)
        assert memory is not None
        return frozenset((memory,))

    def _table(self, read: Memory, written: Memory) -> Price:
        units, index = [], 0
        for unit in self._units:
            units.append([self._ports(index + i, operation, read, written) for i, operation in enumerate(unit)])
            index += len(unit)
        loads = Counter(port for unit in units for ports in unit for port in ports)
        steps = max(loads.values(), default=0)
        while not _fits(sorted(units, key=len, reverse=True), steps):
            steps += 1
        return steps, sum(load**2 for load in loads.values())

    def _ports(self, index: int, operation: Operation, read: Memory, written: Memory) -> set[object]:
        is_mau, sources, destinations = operation
        used: set[object] = {is_mau}
        for place in sources:
            homes = self._homes(place, index)
            used |= homes if len(homes) < 2 else {read}
        for place in destinations:
            homes = self._homes(place, index)
            used |= {m if m in LOCAL_MEMORY else ("write", m) for m in (homes if len(homes) < 2 else {written})}
        return used


def _fits(units: list[list[set[object]]], steps: int) -> bool:
    table: list[set[object]] = [set() for _ in range(steps)]
    for unit in units:
        for first in range(steps):
            rows = [table[(first + i) % steps] for i in range(len(unit))]
            if len(unit) <= steps and all(row.isdisjoint(ports) for row, ports in zip(rows, unit, strict=True)):
                break
        else:
            return False
        for row, ports in zip(rows, unit, strict=True):
            row |= ports
    return True


@settings(deadline=None)
@given(UNITS, BUFFERS, BUFFERS, st.data())
def test_changes_keep_the_price_up_to_date(
    units: Units, inputs: Choices, outputs: Choices, data: st.DataObject
) -> None:
    trip = Trip(units, inputs, outputs)
    plain = FromScratch(trip, units, inputs, outputs)
    assert trip.price() == plain.price()
    for _ in range(min(6, len(trip.memory))):
        owner = data.draw(st.sampled_from(list(trip.memory)))
        before, price = plain.is_possible(), plain.price()
        trip.move(owner, data.draw(MEMORIES if owner[0] == "constant" else FILES))
        assert trip.price() == plain.price()
        assert trip.price(price) == (plain.price() if plain.price() < price else None)
        if before:
            assert trip.is_possible(owner) == plain.is_possible()


@pytest.mark.parametrize("home", HOMES)
def test_a_trip_of_nothing_costs_nothing(home: frozenset[Memory]) -> None:
    assert Trip((), (home,), ()).price() == (0, 0)
