"""What a movement costs: the plan is emitted into a program that nobody runs, and its operations are counted. Many of
them need not even be written: how many there will be is known before."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf

from mnc.mncore_backend.assembly.records import Memory
from mnc.mncore_backend.layout import Axis, Layout
from mnc.mncore_backend.program import AnyOperand, Buffer, BufferOperand, Builder, MachineOp, Program
from mnc.mncore_backend.target import CYCLES_PER_STEP, MvForm, Shape, cached_per_machine, chip


@dataclass(frozen=True, slots=True)
class Cost:
    """PE expressions (each a step if nothing shares it), cycles of MV data phases, number of MVs, long words read
    from or written to DRAM (all groups), steps of the data phases at the busiest side of a memory, how many MVs wait
    for each other, the steps of their data phases, and how many of the expressions are transfers of an L2BM and of an
    L1BM."""

    steps: int
    mv_cycles: int
    mvs: int
    dram_longs: int
    busiest: int = 0
    in_turn: int = 0
    data_in_turn: int = 0
    l2bm_steps: int = 0
    l1bm_steps: int = 0

    @property
    def transfer_steps(self) -> int:
        """Steps of MVs but for their latencies: the data phases of those that need each other's data, those at one
        side of a memory, or the issue of all, whichever takes longest."""
        return max(self.data_in_turn, self.busiest, self.mvs * chip().mv_issue_interval_steps)

    @property
    def latency_steps(self) -> int:
        """Latencies of the MVs that need each other's data (OPEN-38)."""
        return self.in_turn * chip().mv_latency_steps

    @property
    def total_steps(self) -> int:
        """Steps when no MV overlaps PE work: what MVs take, and the latencies of those that need each other's data."""
        return self.steps + self.latency_steps + self.transfer_steps


def estimate(plan: Callable[[Builder], object]) -> Cost:
    """Cost of what `plan` emits, e.g. ``estimate(lambda b: plan_load(b, layout, buffer))``."""
    program = Program()
    plan(Builder(program))
    return count(program.operations)


def move_steps(
    way: Callable[[Builder, Buffer, Buffer], None], source: Layout, target: Layout, *, limit: float = inf
) -> int | None:
    """Steps of a move that `way` emits between local memories; None if they are more than `limit`."""
    operations = _Counted(limit)
    program = Program(operations=operations)
    a = program.buffer("a", source.local_size, (Memory.LM0,))
    b = program.buffer("b", target.local_size, (Memory.LM1,))
    try:
        way(Builder(program), a, b)
    except TooMany:
        return None
    steps = count(operations).total_steps + operations.unwritten
    return steps if steps <= limit else None


class TooMany(Exception):
    """There are more operations than anybody wants to know of."""


def most_steps(builder: Builder) -> float:
    """Steps from which on nobody wants to know what is emitted."""
    operations = builder.program.operations
    return operations.left if isinstance(operations, UpTo) else inf


UNEVEN = 1.25
"""What a movement takes at most over what its first slices promise: they are much alike."""


def check_share(builder: Builder, share: float) -> None:
    """`share` of what a way emits is emitted: whoever only asks for its steps gives up where the rest will be too
    much."""
    if isinstance(builder.program.operations, _Counted):
        builder.program.operations.check_share(share)


def counted(builder: Builder, steps: int) -> bool:
    """Whether `steps` operations of PEs, L1BMs and L2BMs need not be written, since whoever asks only wants to know
    how many steps a way takes: then they are counted."""
    operations = builder.program.operations
    if not isinstance(operations, _Counted):
        return False
    operations.unwritten += steps
    operations.spend(steps)
    return True


class UpTo(list[MachineOp]):
    """Operations of at most `most` steps: each takes one at least, or as an MV the time until the next may be issued.
    `left` is what the others may take."""

    def __init__(self, most: float) -> None:
        super().__init__()
        self.most = self.left = most
        self._waits = False

    def append(self, op: MachineOp) -> None:
        """One more. Raises TooMany."""
        super().append(op)
        if op.is_transfer:
            self.spend(chip().mv_issue_interval_steps + (0 if self._waits else chip().mv_latency_steps))
            self._waits = True
        else:
            self.spend(chip().multicast_interval_steps if op.opcode == "l2bmi" else 1)

    def spend(self, steps: int) -> None:
        """So many steps are taken. Raises TooMany."""
        self.left -= steps
        if self.left < 0:
            raise TooMany


class _Counted(UpTo):
    """Operations of which it is enough to know how many steps they take; `unwritten` are those of what is not here."""

    def __init__(self, most: float) -> None:
        super().__init__(most)
        self.unwritten = 0

    def check_share(self, share: float) -> None:
        """So much of all is there. Raises TooMany where all will hardly take so few steps as are allowed."""
        if self.most < inf and self.most - self.left > UNEVEN * share * self.most:
            raise TooMany


_Holder = Buffer | Memory
"""What keeps values between operations: a buffer or a bank of the matrix unit."""
_BANKS = Memory.MATRIX_X, Memory.MATRIX_Y


def _holders(operands: Sequence[AnyOperand]) -> list[_Holder]:
    return [
        o.buffer if isinstance(o, BufferOperand) else o.memory
        for o in operands
        if isinstance(o, BufferOperand) or o.memory in _BANKS
    ]


def count(operations: list[MachineOp]) -> Cost:
    """Cost of machine operations."""
    steps = cycles = mvs = longs = l2bm = l1bm = 0
    busy: dict[Side, int] = {}
    passed: dict[_Holder, tuple[int, int]] = {}  # MVs that what a buffer holds has passed, and their data phases
    for op in operations:
        transfer = op.is_transfer
        phase = _phase(op.opcode, op.size, _end(op.sources[0]), _end(op.destinations[0])) if transfer else _NO_PHASE
        if passed or transfer:
            _pass_on(passed, op, phase.steps if transfer else None)
        if not transfer:
            steps += chip().multicast_interval_steps if op.opcode == "l2bmi" else 1
            l2bm += op.opcode.startswith("l2bm")
            l1bm += op.opcode.startswith("l1bm")
            continue
        mvs += 1
        cycles += phase.cycles
        longs += phase.dram_longs
        for side in phase.sides:
            busy[side] = busy.get(side, 0) + phase.steps
    waits = max(passed.values(), default=(0, 0))
    return Cost(steps, cycles, mvs, longs, max(busy.values(), default=0), *waits, l2bm, l1bm)


def waiting_for(operations: Sequence[MachineOp], source: Buffer) -> list[MachineOp]:
    """The operations that wait for what a buffer holds."""
    reached: set[_Holder] = {source}
    waiting = []
    for op in operations:
        if any(holder in reached for holder in _holders(op.sources)):
            waiting.append(op)
            reached.update(_holders(op.destinations))
    return waiting


def _pass_on(passed: dict[_Holder, tuple[int, int]], op: MachineOp, data: int | None) -> None:
    """What an operation reads has passed some MVs, and what it writes the same, and the one with a data phase of so
    many steps that it is itself."""
    most = max([passed.get(holder, (0, 0)) for holder in _holders(op.sources)], default=(0, 0))
    if data is not None:
        most = most[0] + 1, most[1] + data
    for holder in _holders(op.destinations) if most[0] else ():
        passed[holder] = max(passed.get(holder, (0, 0)), most)


Side = tuple[Memory, int, bool]
"""Which of the L2BMs, or which group of another memory, and whether it is written."""
End = tuple[Memory, int | None, int | None]
"""What an MV reads or writes: the memory, its group and its L2B, None for all."""


@dataclass(frozen=True, slots=True)
class _Phase:
    """The data phase of an MV: see `Cost`."""

    cycles: int
    dram_longs: int
    sides: tuple[Side, ...]

    @property
    def steps(self) -> int:
        return -(-self.cycles // CYCLES_PER_STEP)


_NO_PHASE = _Phase(0, 0, ())


@cached_per_machine(1 << 10)
def _phase(opcode: str, size: int, source: End, target: End) -> _Phase:
    form = _form(opcode, source, target)
    longs = form.source_longs(size) * _drams(form.source) + form.destination_longs(size) * _drams(form.destination)
    sides = (*_instances(source, written=False), *_instances(target, written=True))
    return _Phase(form.data_cycles(size, same_group=source[1] == target[1]), longs, sides)


def _end(operand: AnyOperand) -> End:
    memory = operand.buffer.choices[0] if isinstance(operand, BufferOperand) else operand.memory
    return memory, operand.group, operand.l2b


def _instances(end: End, *, written: bool) -> list[Side]:
    """The sides of memories that an MV reads or fills."""
    memory, group, l2b = end
    groups = range(chip().groups) if group is None else (group,)
    if memory is not Memory.L2BM:
        return [(memory, own, written) for own in groups]
    halves = range(chip().l2bs_per_group) if l2b is None else (l2b,)
    return [(Memory.L2BM, chip().l2bs_per_group * own + half, written) for own in groups for half in halves]


_CROSSING = {Axis.L2B: ("mv",), Axis.L1B: ("mv", "l2bm"), Axis.MAB: ("mv", "l2bm", "l1bm")}


def crosses(operations: list[MachineOp], axis: Axis) -> bool:
    """Whether operations may take values from one L2B, L1B or MAB to another."""
    return any(op.opcode.startswith(_CROSSING[axis]) for op in operations)


def _shape(end: End) -> Shape:
    memory, group, l2b = end
    one = group is not None
    if memory is Memory.PDM:
        return Shape.PDM_ONE if one else Shape.PDM_ALL
    if memory is Memory.DRAM:
        return Shape.DRAM_ONE if one else Shape.DRAM_ALL
    if l2b is None:
        return Shape.L2BM_ALL
    return Shape.L2BM_ONE if one else Shape.L2BM_EACH


def _form(opcode: str, source: End, target: End) -> MvForm:
    base = next((b for b in ("mvr2", "mvr4", "mvr") if opcode.startswith(b)), opcode)
    shapes = _shape(source), _shape(target)
    for form in chip().mv_forms:
        if form.opcode == base and (form.source, form.destination) == shapes:
            return form
    raise ValueError(f"no form of {opcode} from {shapes[0]} to {shapes[1]}")


def _drams(shape: Shape) -> int:
    return {Shape.DRAM_ONE: 1, Shape.DRAM_ALL: chip().groups}.get(shape, 0)
