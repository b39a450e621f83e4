"""Large loads ahead of their use, in pieces.

DRAM takes hundreds of steps for a large weight. If all of them lie where the weight is wanted, the program waits there,
though DRAM was idle before. So a large load is cut into pieces: MVs, and the hops that bring on what they bring. Pieces
go before earlier kernels, as late as the idle time of what they need allows (DRAM, the transfers of L2BM and L1BM), and
only as far as there is room for the target in local memory. Each has staging buffers of its own, so that it keeps none
of L2BM while others pass.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace

from mnc.mncore_backend.assembly.isa import OPCODES, Unit
from mnc.mncore_backend.assembly.records import Memory
from mnc.mncore_backend.codegen.ordering.kernels import duration_of, transfer_timing
from mnc.mncore_backend.codegen.ordering.pieces import STAGING, is_on_its_way, pieces_of
from mnc.mncore_backend.program import LOCAL_MEMORY, AnyOperand, Buffer, BufferOperand, MachineOp, Program
from mnc.mncore_backend.target import chip

LARGE = 64
"""Steps of DRAM from which a load goes ahead."""
SPARE = 0.8
"""Part of the steps of a run in which units that it does not need are taken to be free for loads; hazards keep the
rest."""
SHARE = 0.85
"""Part of local memory that may be full of what goes ahead: what is fuller hardly packs."""

Piece = Sequence[MachineOp]
Steps = tuple[float, float, float]
"""Steps of data phases of MVs, of transfers of L2BM, and of those of L1BM."""


@dataclass(eq=False, slots=True)
class _Run:
    """Operations that stay together: buffers that they read and write, steps of what loads need, how many they take
    altogether, alone, and steps that DRAM gives data."""

    operations: Sequence[MachineOp]
    read: set[Buffer]
    written: set[Buffer]
    steps: Steps
    duration: int
    dram: int

    @property
    def idle(self) -> Steps:
        """Steps in which what loads need is free."""
        data, l2bm, l1bm = (max(0.0, SPARE * self.duration - own) for own in self.steps)
        return data, l2bm, l1bm


@dataclass(frozen=True, slots=True)
class Moved:
    """A load that goes ahead: the run that it was, the one before which its first piece stands now, and the long words
    of local memory that it fills from there on."""

    number: int
    place: int
    size: int


@dataclass(frozen=True, slots=True)
class Ahead:
    """Operations with loads ahead of their use."""

    operations: list[MachineOp]
    moved: list[Moved]


@dataclass(eq=False, slots=True)
class Loads:
    """The large loads of runs whose given order is correct, by the numbers of their runs: their pieces, what each
    takes, and the first run before which they may stand."""

    runs: Sequence[_Run]
    users: dict[Buffer, list[int]]
    pieces: dict[int, Sequence[Piece]]
    needed: dict[int, list[Steps]]
    earliest: dict[int, int]

    @staticmethod
    def of(runs: Sequence[Sequence[MachineOp]]) -> "Loads":
        """Those of the operations of these runs."""
        own = [_run_of(run) for run in runs]
        users = _users(own)
        pieces = {number: found for number, run in enumerate(own) if (found := _pieces(run, number, users))}
        needed = {number: [_steps(piece) for piece in found] for number, found in pieces.items()}
        return Loads(own, users, pieces, needed, {number: _earliest(own, number, users) for number in pieces})

    def prefetched(
        self, program: Program, share: float = SHARE, bounds: Mapping[int, int] | None = None
    ) -> Ahead | None:
        """The operations with large loads ahead of their use while no more than a `share` of local memory is full; None
        if nothing goes ahead. Staging buffers are added to `program`. `bounds`: for some loads, by their runs, the
        first run before which they may stand."""
        room = _Room(self.runs, self.users, program, share)
        idle = [(0.0, 0.0, 0.0) if number in self.pieces else run.idle for number, run in enumerate(self.runs)]
        ahead: dict[int, list[Piece]] = {}
        moved: list[Moved] = []
        for number, pieces in reversed(self.pieces.items()):
            earliest = max(self.earliest[number], (bounds or {}).get(number, 0))
            places = _places(self.needed[number], number, earliest, idle, room)
            if places[0] == number:
                continue
            moved.append(Moved(number, places[0], room.target(number)))
            for piece, place in zip(pieces, places, strict=True):
                ahead.setdefault(place, []).append(_with_own_staging(piece, program))
        return Ahead(list(_joined(self.runs, ahead, {load.number for load in moved})), moved) if moved else None


def _run_of(operations: Sequence[MachineOp]) -> _Run:
    read = {o.buffer for op in operations for o in op.sources if isinstance(o, BufferOperand)}
    written = {o.buffer for op in operations for o in op.destinations if isinstance(o, BufferOperand)}
    dram = _data_steps([op for op in operations if op.is_transfer and _memory(op.sources[0]) is Memory.DRAM])
    units = Counter(OPCODES[op.opcode].unit for op in operations if not op.is_transfer)
    duration = max([duration_of(operations), *units.values()])
    return _Run(operations, read, written, _steps(operations), duration, dram)


def _steps(operations: Sequence[MachineOp]) -> Steps:
    units = Counter(OPCODES[op.opcode].unit for op in operations)
    return _data_steps(operations), units[Unit.L2BM], units[Unit.L1BM]


def _memory(operand: AnyOperand) -> Memory:
    return operand.buffer.choices[0] if isinstance(operand, BufferOperand) else operand.memory


def _data_steps(operations: Sequence[MachineOp]) -> int:
    return sum(transfer_timing(op).data_steps for op in operations if op.is_transfer)


def _users(runs: Sequence[_Run]) -> dict[Buffer, list[int]]:
    """Numbers of the runs that use each buffer, in order."""
    found: dict[Buffer, list[int]] = {}
    for number, run in enumerate(runs):
        for buffer in run.read | run.written:
            found.setdefault(buffer, []).append(number)
    return found


def _pieces(run: _Run, number: int, users: dict[Buffer, list[int]]) -> Sequence[Piece]:
    """The pieces of a large load, none if it hangs together with anything else than its source and its target."""
    if run.dram < LARGE:
        return []
    staging = {b for b in run.read | run.written if b.choices[0] in STAGING}
    if not all(is_on_its_way(op) for op in run.operations) or any(users[b] != [number] for b in staging):
        return []
    return pieces_of(run.operations)


def _earliest(runs: Sequence[_Run], number: int, users: dict[Buffer, list[int]]) -> int:
    """The first run before which a load may stand: behind all that writes what it reads or uses what it writes."""
    run, first = runs[number], 0
    for buffer in run.read | run.written:
        for other in users[buffer]:
            if other < number and (buffer in run.written or buffer in runs[other].written):
                first = max(first, other + 1)
    return first


class _Room:
    """How full local memory is at each run: long words of all buffers from their first use to their last."""

    def __init__(self, runs: Sequence[_Run], users: dict[Buffer, list[int]], program: Program, share: float) -> None:
        self._runs, self._users = runs, users
        self._most = share * sum(chip().memories[memory].longs for memory in LOCAL_MEMORY)
        always = sum(b.size for b in program.buffers if b.pinned and b.choices[0] in LOCAL_MEMORY)
        self._full = [always] * len(runs)
        for buffer, numbers in users.items():
            for number in range(numbers[0], numbers[-1] + 1) if self._counts(buffer) else ():
                self._full[number] += buffer.size

    @staticmethod
    def _counts(buffer: Buffer) -> bool:
        return buffer.choices[0] in LOCAL_MEMORY and not buffer.pinned

    def target(self, number: int) -> int:
        """Long words that a load fills which nothing has filled before."""
        return sum(b.size for b in self._runs[number].written if self._counts(b) and self._users[b][0] == number)

    def take(self, number: int, size: int) -> bool:
        """Whether there is room for so many more at a run; then they are there."""
        if self._full[number] + size > self._most:
            return False
        self._full[number] += size
        return True


def _places(needed: Sequence[Steps], number: int, earliest: int, idle: list[Steps], room: _Room) -> list[int]:
    """Before which run each piece of a load stands, given what it needs: the last ones are placed first, and each takes
    idle steps, of several runs where one has too few. What finds none goes with the first that did."""
    places = [number] * len(needed)
    size, left, place = room.target(number), len(needed), number - 1
    missing = needed[-1]
    while left and place >= earliest and room.take(place, size):
        while left and all(own <= free for own, free in zip(missing, idle[place], strict=True)):
            idle[place] = _less(idle[place], missing)
            left -= 1
            places[left] = place
            missing = needed[left - 1]
        missing, idle[place] = _less(missing, idle[place]), _less(idle[place], missing)
        place -= 1
    return [min(places)] * left + places[left:]


def _less(one: Steps, other: Steps) -> Steps:
    data, l2bm, l1bm = (max(0.0, own - taken) for own, taken in zip(one, other, strict=True))
    return data, l2bm, l1bm


def _with_own_staging(piece: Piece, program: Program) -> Piece:
    """A piece with staging buffers that nobody else uses."""
    made: dict[Buffer, Buffer] = {}

    def other(operand: AnyOperand) -> AnyOperand:
        if not isinstance(operand, BufferOperand) or operand.buffer.choices[0] not in STAGING:
            return operand
        if operand.buffer not in made:
            made[operand.buffer] = copy(operand.buffer)
            program.buffers.append(made[operand.buffer])
        return operand._replace(buffer=made[operand.buffer])

    return [
        replace(op, sources=tuple(map(other, op.sources)), destinations=tuple(map(other, op.destinations)))
        for op in piece
    ]


def _joined(runs: Sequence[_Run], ahead: dict[int, list[Piece]], gone: set[int]) -> Iterator[MachineOp]:
    """Runs that stay where they are, each behind the pieces that go before it."""
    for number, run in enumerate(runs):
        for piece in ahead.get(number, ()):
            yield from piece
        if number not in gone:
            yield from run.operations
