"""What a movement costs: the plan is emitted into a program that nobody runs, and its operations are counted."""

from collections.abc import Callable
from dataclasses import dataclass

from mnc.mncore_backend.assembly.records import Memory
from mnc.mncore_backend.layout import Axis
from mnc.mncore_backend.machine import CYCLES_PER_STEP, MV_FORMS, MV_ISSUE_INTERVAL_STEPS, MV_LATENCY_STEPS, Shape
from mnc.mncore_backend.program import AnyOperand, BufferOperand, Builder, MachineOp, Program


@dataclass(frozen=True, slots=True)
class Cost:
    """PE expressions (each a step if nothing shares it), cycles of MV data phases, number of MVs, and long words read
    from or written to DRAM (all groups)."""

    steps: int
    mv_cycles: int
    mvs: int
    dram_longs: int

    @property
    def total_steps(self) -> int:
        """Steps when nothing overlaps: data phases or issue of the MVs, whichever takes longer, and one latency."""
        moving = max(self.mv_cycles // CYCLES_PER_STEP, self.mvs * MV_ISSUE_INTERVAL_STEPS)
        return self.steps + moving + (MV_LATENCY_STEPS if self.mvs else 0)


def estimate(plan: Callable[[Builder], object]) -> Cost:
    """Cost of what `plan` emits, e.g. ``estimate(lambda b: plan_load(b, layout, buffer))``."""
    program = Program()
    plan(Builder(program))
    return count(program.operations)


def count(operations: list[MachineOp]) -> Cost:
    """Cost of machine operations."""
    steps = cycles = mvs = longs = 0
    for op in operations:
        if not op.is_transfer:
            steps += 1
            continue
        mvs += 1
        source, target = op.sources[0], op.destinations[0]
        form = _form(op.opcode, source, target)
        cycles += form.data_cycles(op.size, same_group=_group(source) == _group(target))
        longs += form.source_longs(op.size) * _drams(form.source) + form.destination_longs(op.size) * _drams(
            form.destination
        )
    return Cost(steps, cycles, mvs, longs)


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
    base = next((b for b in ("mvr2", "mvr4", "mvr") if opcode.startswith(b)), opcode)
    shapes = _shape(source), _shape(target)
    for form in MV_FORMS:
        if form.opcode == base and (form.source, form.destination) == shapes:
            return form
    raise ValueError(f"no form of {opcode} from {shapes[0]} to {shapes[1]}")


def _drams(shape: Shape) -> int:
    return {Shape.DRAM_ONE: 1, Shape.DRAM_ALL: 4}.get(shape, 0)
