"""What a trip of a kernel costs, kept up to date while one memory after the other changes.

Ports and steps are bits: a port is a number, and what is taken of it in a table of so many steps is one integer. So a
unit finds its place by a few operations on integers, and a change touches only the operations that it concerns.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from mnc.mncore_backend.assembly.records import Memory
from mnc.mncore_backend.kernels.vector.placed import Place
from mnc.mncore_backend.program import LOCAL_MEMORY, PE_MEMORY

Choices = tuple[frozenset[Memory], ...]
Price = tuple[int, int]
"""Steps of a trip, summed over both tables; how unevenly the memories are used."""
Operation = tuple[bool, tuple[Place, ...], tuple[Place, ...]]
"""Whether the MAU does it, sources, destinations."""
Units = tuple[tuple[Operation, ...], ...]
Owner = tuple[str, int, int]
"""What has a memory of its own: kind, number, and for a constant the operation that reads it."""

_TABLES = (LOCAL_MEMORY, LOCAL_MEMORY[::-1])
"""Where inputs and outputs are that may be in either local memory."""
_READ = {memory: 1 << i for i, memory in enumerate(PE_MEMORY)}
_WRITTEN = {memory: bit if memory in LOCAL_MEMORY else bit << len(_READ) for memory, bit in _READ.items()}
"""Ports, as bits. An address of a local memory is read or written."""
_LOCAL = sum(_READ[memory] for memory in LOCAL_MEMORY)
_PORTS = 2 * len(_READ)
_UNIT = {is_mau: 1 << _PORTS + is_mau for is_mau in (False, True)}


def owner_of(place: Place, index: int) -> Owner:
    """Whose memory an operand of operation `index` has."""
    return place.kind, place.number, index if place.kind == "constant" else 0


@dataclass(slots=True)
class _Needs:
    """What an operation uses, as bits: `fixed` ports in either table, memories `read` and `written` in any case, and
    the owners of the others."""

    fixed: list[int]
    read: int = 0
    written: int = 0
    sources: set[Owner] = field(default_factory=set)
    results: list[Owner] = field(default_factory=list)
    possible: bool = True

    def add_source(self, memories: frozenset[Memory]) -> None:
        """Something is read that stays in one of these memories."""
        self.possible &= not self.read & _bits(memories)
        self.read |= _bits(memories)
        self.fixed = [f | _decided(memories, read, _READ) for f, (read, _) in zip(self.fixed, _TABLES, strict=True)]

    def add_result(self, memories: frozenset[Memory]) -> None:
        """The same of what is written."""
        self.possible &= not self.written & _bits(memories)
        self.written |= _bits(memories)
        self.fixed = [f | _decided(memories, to, _WRITTEN) for f, (_, to) in zip(self.fixed, _TABLES, strict=True)]


class Trip:
    """The operations of a trip. `inputs` and `outputs` are the memories that each input and output may be in; `memory`
    is the one of every constant, and of every register that has one."""

    def __init__(self, units: Units, inputs: Choices, outputs: Choices) -> None:
        self._inputs, self._outputs = inputs, outputs
        operations = [operation for unit in units for operation in unit]
        self.memory = _present(operations)
        self._needs = [self._needs_of(index, operation) for index, operation in enumerate(operations)]
        self._users: dict[Owner, list[int]] = {owner: [] for owner in self.memory}
        for index, needs in enumerate(self._needs):
            for owner in needs.sources | set(needs.results):
                self._users[owner].append(index)
        numbers = iter(range(len(operations)))
        rows = [[next(numbers) for _ in unit] for unit in units]
        self._units = sorted(rows, key=len, reverse=True)
        self._longest = max(map(len, units), default=0)
        self._ports = [[self._ports_of(needs, table) for needs in self._needs] for table in (0, 1)]
        self._loads: list[dict[int, int]] = [{}, {}]
        self._uneven = 0
        for table in (0, 1):
            for ports in self._ports[table]:
                self._add(table, ports, 1)

    def move(self, owner: Owner, memory: Memory) -> None:
        """Give a constant or a register another memory."""
        if self.memory[owner] is memory:
            return
        self.memory[owner] = memory
        for index in self._users[owner]:
            for table, ports in enumerate(self._ports):
                before, after = ports[index], self._ports_of(self._needs[index], table)
                self._add(table, before & ~after, -1)
                self._add(table, after & ~before, 1)
                ports[index] = after

    def is_possible(self, owner: Owner) -> bool:
        """Whether every operation that uses it reads one address of a memory at most, writes each of its results to
        another memory, and reads no constant from a local memory that it may write."""
        return all(self._is_possible(self._needs[index]) for index in self._users[owner])

    def price(self, below: Price | None = None) -> Price | None:
        """Steps and unevenness; None where they are not less than `below`."""
        least = [max(loads.values(), default=0) for loads in self._loads]
        if below is not None and (sum(least), self._uneven) >= below:
            return None
        most = len(self._needs) * 2 * self._longest if below is None else below[0]
        first = self._steps(0, least[0], most - least[1])
        second = self._steps(1, least[1], most - first) if first + least[1] <= most else most
        price = first + second, self._uneven
        return price if below is None or price < below else None

    # ---- what operations need ------------------------------------------------------------------------------------

    def _needs_of(self, index: int, operation: Operation) -> _Needs:
        is_mau, sources, destinations = operation
        needs = _Needs([_UNIT[is_mau]] * 2)
        for place in destinations:
            memories = self._outputs[place.number] if place.kind == "output" else _home(place)
            if owner_of(place, index) in self.memory:
                needs.results.append(owner_of(place, index))
            else:
                needs.add_result(memories)
        for place in {(p.kind, p.number): p for p in sources if p.kind not in ("sign", "latch")}.values():
            memories = self._inputs[place.number] if place.kind == "input" else _home(place)
            if owner_of(place, index) in self.memory:
                needs.sources.add(owner_of(place, index))
            else:
                needs.add_source(memories)
        return needs

    def _is_possible(self, needs: _Needs) -> bool:
        read, written, local = needs.read, needs.written, needs.written & _LOCAL
        for owner in needs.sources:
            bit = _READ[self.memory[owner]]
            if bit & (read | local if owner[0] == "constant" else read):
                return False
            read |= bit
        for owner in needs.results:
            bit = _READ[self.memory[owner]]
            if bit & written:
                return False
            written |= bit
        return needs.possible

    def _ports_of(self, needs: _Needs, table: int) -> int:
        ports = needs.fixed[table]
        for owner in needs.sources:
            ports |= _READ[self.memory[owner]]
        for owner in needs.results:
            ports |= _WRITTEN[self.memory[owner]]
        return ports

    def _add(self, table: int, ports: int, sign: int) -> None:
        """Count uses of ports, and the sum of the squares of the counts."""
        loads = self._loads[table]
        for port in _numbers(ports):
            before = loads.get(port, 0)
            loads[port] = before + sign
            self._uneven += 2 * sign * before + 1

    # ---- table ---------------------------------------------------------------------------------------------------

    def _steps(self, table: int, least: int, most: int) -> int:
        """Steps of the shortest table that the units fit in one after the other, from `least` on; more than `most` if
        it would have to be longer than that."""
        ports = self._ports[table]
        units = [[_numbers(ports[index]) for index in unit] for unit in self._units]
        steps = max(least, self._longest)
        while steps <= most and not _fits(units, steps):
            steps += 1
        return steps


def _fits(units: Iterable[Sequence[tuple[int, ...]]], steps: int) -> bool:
    """Whether each unit in turn finds steps in a table of so many that goes round."""
    full = (1 << steps) - 1
    taken = [0] * (_PORTS + 2)
    for unit in units:
        busy = 0
        for row, ports in enumerate(unit):
            at = 0
            for port in ports:
                at |= taken[port]
            busy |= at >> row | at << steps - row if row else at
        free = ~busy & full
        if not free:
            return False
        step = free & -free
        for ports in unit:
            for port in ports:
                taken[port] |= step
            step = step << 1 if step << 1 <= full else 1
    return True


def _present(operations: Iterable[Operation]) -> dict[Owner, Memory]:
    found: dict[Owner, set[Memory]] = {}
    for index, (_, sources, destinations) in enumerate(operations):
        for place in (*sources, *destinations):
            if place.kind in ("register", "constant"):
                found.setdefault(owner_of(place, index), set()).update(_home(place))
    return {owner: next(iter(homes)) for owner, homes in found.items() if len(homes) == 1}


def _home(place: Place) -> frozenset[Memory]:
    assert place.memory is not None
    return frozenset((place.memory,))


def _bits(memories: Iterable[Memory]) -> int:
    return sum(_READ[memory] for memory in memories)


def _decided(memories: frozenset[Memory], memory: Memory, bits: dict[Memory, int]) -> int:
    return sum(bits[m] for m in (memories if len(memories) < 2 else (memory,)))


@lru_cache(maxsize=4096)
def _numbers(bits: int) -> tuple[int, ...]:
    """Numbers of the bits that are set."""
    return tuple(i for i in range(bits.bit_length()) if bits >> i & 1)
