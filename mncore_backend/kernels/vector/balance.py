"""Which memories the constants and registers of a kernel are in, such that its trips can begin as often as possible.

A step reads one address of each memory, and an address of a local memory is read or written. A kernel repeats the
same units for group after group, so in the long run a trip takes as many steps as a table that goes round needs: all
units of one trip are put into it, and no port is used twice in a step. (Distances between the units do not count;
groups side by side fill them.) The search changes one place at a time and keeps what makes the table shorter.

Allocation decides later in which local memory inputs and outputs are. So there are two tables: inputs in LM0 and
outputs in LM1, and the other way round.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache

from mnc.mncore_backend.assembly.records import Memory
from mnc.mncore_backend.kernels.vector.placed import Place, Placed, Unit
from mnc.mncore_backend.program import LOCAL_MEMORY, REGISTER_FILE

Choices = tuple[frozenset[Memory], ...]
Price = tuple[int, int]
"""Steps of a trip, summed over both tables; how unevenly the memories are used."""
_Operation = tuple[bool, tuple[Place, ...], tuple[Place, ...]]
"""Whether the MAU does it, sources, destinations."""
_Units = tuple[tuple[_Operation, ...], ...]
_Owner = tuple[str, int, int]
"""What has a memory of its own: kind, number, and for a constant the operation that reads it."""
_Ports = set[object]


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
def _search(units: _Units, inputs: Choices, outputs: Choices) -> tuple[dict[_Owner, Memory], Price]:
    search = _Search(units, inputs, outputs)
    before, price = dict(search.memory), search.price
    search.improve()
    return (search.memory, search.price) if search.price[0] < price[0] else (before, price)


class _Search:
    def __init__(self, units: _Units, inputs: Choices, outputs: Choices) -> None:
        self._inputs, self._outputs = inputs, outputs
        self._lengths = [len(unit) for unit in units]
        self._operations = [operation for unit in units for operation in unit]
        self.memory = self._present()
        self.price = self._price()

    def _present(self) -> dict[_Owner, Memory]:
        """The memory of every constant, and of every register that has one."""
        found: dict[_Owner, set[Memory]] = {}
        for index, (_, sources, destinations) in enumerate(self._operations):
            for place in (*sources, *destinations):
                if place.kind in ("register", "constant"):
                    assert place.memory is not None
                    found.setdefault(_owner(place, index), set()).add(place.memory)
        return {owner: next(iter(homes)) for owner, homes in found.items() if len(homes) == 1}

    def improve(self) -> None:
        """Change one memory after the other until no change helps."""
        while any([self._improve_one(owner) for owner in self.memory]):  # noqa: C419 (all of them)
            pass

    def _improve_one(self, owner: _Owner) -> bool:
        before = best = self.memory[owner]
        for memory in (*LOCAL_MEMORY, *REGISTER_FILE) if owner[0] == "constant" else REGISTER_FILE:
            self.memory[owner] = memory
            if memory != best and self._is_possible() and (price := self._price()) < self.price:
                best, self.price = memory, price
        self.memory[owner] = best
        return best != before

    # ---- rules ---------------------------------------------------------------------------------------------------

    def _is_possible(self) -> bool:
        """Whether every operation reads one address of a memory at most, writes each of its results to another memory,
        and reads no constant from a local memory that it may write."""
        for index, (_, sources, destinations) in enumerate(self._operations):
            read: set[Memory] = set()
            written: set[Memory] = set()
            for place in destinations:
                memories = self._of_destination(place, index)
                if written & memories:
                    return False
                written |= memories
            local = written & set(LOCAL_MEMORY)
            for place in {(p.kind, p.number): p for p in sources}.values():
                memories = self._of_source(place, index)
                if read & memories or (place.kind == "constant" and local & memories):
                    return False
                read |= memories
        return True

    def _of_destination(self, place: Place, index: int) -> frozenset[Memory]:
        return self._outputs[place.number] if place.kind == "output" else self._of_source(place, index)

    def _of_source(self, place: Place, index: int) -> frozenset[Memory]:
        if place.kind in ("sign", "latch"):
            return frozenset()
        if place.kind == "input":
            return self._inputs[place.number]
        memory = self.memory.get(_owner(place, index), place.memory)
        assert memory is not None
        return frozenset((memory,))

    # ---- price ---------------------------------------------------------------------------------------------------

    def _price(self) -> Price:
        tables = [self._table(read, written) for read, written in (LOCAL_MEMORY, LOCAL_MEMORY[::-1])]
        return sum(steps for steps, _ in tables), sum(uneven for _, uneven in tables)

    def _table(self, read: Memory, written: Memory) -> Price:
        numbers = iter(range(len(self._operations)))
        units = [[self._ports(next(numbers), read, written) for _ in range(length)] for length in self._lengths]
        loads: dict[object, int] = {}
        for port in (port for unit in units for ports in unit for port in ports):
            loads[port] = loads.get(port, 0) + 1
        steps = max(loads.values(), default=0)
        units.sort(key=len, reverse=True)
        while not _fits(units, steps):
            steps += 1
        return steps, sum(load**2 for load in loads.values())

    def _ports(self, index: int, read: Memory, written: Memory) -> _Ports:
        """What an operation uses in its step: its unit, memories that it reads, and write ports."""
        is_mau, sources, destinations = self._operations[index]
        used: _Ports = {is_mau}
        for place in sources:
            used |= _decided(self._of_source(place, index), read)
        for place in destinations:
            memories = self._of_destination(place, index)
            used |= {m if m in LOCAL_MEMORY else ("write", m) for m in _decided(memories, written)}
        return used


def _decided(memories: frozenset[Memory], memory: Memory) -> frozenset[Memory]:
    return memories if len(memories) < 2 else frozenset((memory,))


def _owner(place: Place, index: int) -> _Owner:
    return place.kind, place.number, index if place.kind == "constant" else 0


def _with_memory(memory: dict[_Owner, Memory], place: Place, index: int) -> Place:
    return replace(place, memory=memory.get(_owner(place, index), place.memory))


def _fits(units: Sequence[Sequence[_Ports]], steps: int) -> bool:
    """Whether each unit in turn finds steps in a table of so many that goes round."""
    table: list[_Ports] = [set() for _ in range(steps)]
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
