"""What a movement costs: the plan is emitted into a program that nobody runs, and its operations are counted. Many of
them need not even be written: how many there will be is known before."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from math import inf

from mnc.mncore_backend.assembly.records import Memory
from mnc.mncore_backend.layout import Axis, Layout
from mnc.mncore_backend.machine import (
    CYCLES_PER_STEP,
    GROUPS,
    L2BS,
    MV_FORMS,
    MV_ISSUE_INTERVAL_STEPS,
    MV_LATENCY_STEPS,
    MvForm,
    Shape,
)
from mnc.mncore_backend.program import AnyOperand, Buffer, BufferOperand, Builder, MachineOp, Program


@dataclass(frozen=True, slots=True)
class Cost:
    """PE expressions (each a step if nothing shares it), cycles of MV data phases, number of MVs, long words read
    from or written to DRAM (all groups), steps of the data phases at the busiest side of a memory, and how many MVs
    wait for each other."""

    steps: int
    mv_cycles: int
    mvs: int
    dram_longs: int
    busiest: int = 0
    in_turn: int = 0

    @property
    def total_steps(self) -> int:
        """Steps when no MV overlaps PE work: the latencies of MVs that need each other's data, and the data phases at
        one side of a memory or the issue of the MVs, whichever takes longer (OPEN-38)."""
        return self.steps + self.in_turn * MV_LATENCY_STEPS + max(self.busiest, self.mvs * MV_ISSUE_INTERVAL_STEPS)


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
            self.spend(MV_ISSUE_INTERVAL_STEPS + (0 if self._waits else MV_LATENCY_STEPS))
            self._waits = True
        else:
            self.spend(1)

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


def count(operations: list[MachineOp]) -> Cost:
    """Cost of machine operations."""
    steps = cycles = mvs = longs = 0
    busy: dict[tuple[Memory, int, bool], int] = {}
    passed: dict[Buffer, int] = {}  # MVs that what a buffer holds has passed one after the other
    for op in operations:
        transfer = op.is_transfer
        if passed or transfer:
            most = max([passed.get(o.buffer, 0) for o in op.sources if isinstance(o, BufferOperand)], default=0)
            for o in op.destinations if most or transfer else ():
                if isinstance(o, BufferOperand):
                    passed[o.buffer] = max(passed.get(o.buffer, 0), most + transfer)
        if not transfer:
            steps += 1
            continue
        mvs += 1
        source, target = op.sources[0], op.destinations[0]
        form = _form(op.opcode, source, target)
        data = form.data_cycles(op.size, same_group=_group(source) == _group(target))
        cycles += data
        for side in (*_instances(source, False), *_instances(target, True)):
            busy[side] = busy.get(side, 0) + -(-data // CYCLES_PER_STEP)
        longs += form.source_longs(op.size) * _drams(form.source) + form.destination_longs(op.size) * _drams(
            form.destination
        )
    return Cost(steps, cycles, mvs, longs, max(busy.values(), default=0), max(passed.values(), default=0))


def _instances(operand: AnyOperand, written: bool) -> list[tuple[Memory, int, bool]]:
    """The sides of memories that an MV reads or fills: which of the L2BMs, which group of the others."""
    groups = range(GROUPS) if operand.group is None else (operand.group,)
    if _memory(operand) is not Memory.L2BM:
        return [(_memory(operand), group, written) for group in groups]
    halves = range(L2BS // GROUPS) if operand.l2b is None else (operand.l2b,)
    return [(Memory.L2BM, L2BS // GROUPS * group + half, written) for group in groups for half in halves]


_CROSSING = {Axis.L2B: ("mv",), Axis.L1B: ("mv", "l2bm"), Axis.MAB: ("mv", "l2bm", "l1bm")}


def crosses(operations: list[MachineOp], axis: Axis) -> bool:
    """Whether operations may take values from one L2B, L1B or MAB to another."""
    return any(op.opcode.startswith(_CROSSING[axis]) for op in operations)


def _memory(operand: AnyOperand) -> Memory:
    return operand.buffer.choices[0] if isinstance(operand, BufferOperand) else operand.memory


def _group(operand: AnyOperand) -> int | None:
    return operand.group


def _shape(operand: AnyOperand) -> Shape:
    one = operand.group is not None
    memory = _memory(operand)
    if memory is Memory.PDM:
        return Shape.PDM_ONE if one else Shape.PDM_ALL
    if memory is Memory.DRAM:
        return Shape.DRAM_ONE if one else Shape.DRAM_ALL
    if operand.l2b is None:
        return Shape.L2BM_ALL
    return Shape.L2BM_ONE if one else Shape.L2BM_EACH


def _form(opcode: str, source: AnyOperand, target: AnyOperand):
    return _form_of(opcode, _shape(source), _shape(target))


@cache
def _form_of(opcode: str, *shapes: Shape) -> MvForm:
    base = next((b for b in ("mvr2", "mvr4", "mvr") if opcode.startswith(b)), opcode)
    for form in MV_FORMS:
        if form.opcode == base and (form.source, form.destination) == shapes:
            return form
    raise ValueError(f"no form of {opcode} from {shapes[0]} to {shapes[1]}")


def _drams(shape: Shape) -> int:
    return {Shape.DRAM_ONE: 1, Shape.DRAM_ALL: 4}.get(shape, 0)
