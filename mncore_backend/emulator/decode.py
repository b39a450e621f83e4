"""From a PE statement to a plan: dispatch of its expressions to the units."""

from functools import cache

from mnc.mncore_backend.assembly.records import Expression, Memory, Step
from mnc.mncore_backend.emulator.arena import CYCLES, Arena
from mnc.mncore_backend.emulator.constants import Constants
from mnc.mncore_backend.emulator.context import Context
from mnc.mncore_backend.emulator.decode_alu import decode_alu
from mnc.mncore_backend.emulator.decode_l1bm import decode_l1bm
from mnc.mncore_backend.emulator.decode_mau import (
    MATRIX,
    VECTOR,
    decode_matrix,
    decode_matrix_read,
    decode_matrix_write,
    decode_vector,
    split_mau,
)
from mnc.mncore_backend.emulator.geometry import geometry
from mnc.mncore_backend.emulator.l2bm import plan_l2bm
from mnc.mncore_backend.emulator.plan import Calls, Plan
from mnc.mncore_backend.emulator.step import StepDecoder
from mnc.mncore_backend.emulator.transfer_kernels import l2bm_run

CONTROL = ("nop", "noforward", "wait")


@cache
def unit_of(opcode: str) -> str:
    """Name of the unit counter of an opcode."""
    if opcode in CONTROL:
        return opcode
    if opcode.startswith("l2bm"):
        return "l2bm"
    if opcode.startswith("l1bm"):
        return "l1bm"
    if opcode[1:] == "mwrite":
        return "mwrite"
    if opcode[1:] == "mread":
        return "mread"
    return "mau" if split_mau(opcode)[1] in (*VECTOR, *MATRIX) else "alu"


def _decode_expression(step: StepDecoder, expression: Expression, unit: str) -> None:
    if unit == "l2bm":
        at = 0 if expression.opcode == "l2bmdarw" else len(step.builder.l2bm)  # drains what was staged before
        step.builder.l2bm.insert(at, plan_l2bm(expression))
    elif unit == "l1bm":
        decode_l1bm(step, expression)
    elif unit == "mwrite":
        decode_matrix_write(step, expression)
    elif unit == "mread":
        decode_matrix_read(step, expression)
    elif unit == "mau":
        is_matrix = split_mau(expression.opcode)[1] in MATRIX
        (decode_matrix if is_matrix else decode_vector)(step, expression)
    elif unit == "alu":
        decode_alu(step, expression)


def _copy_l2bm(step: StepDecoder) -> None:
    """Let a kernel do the L2BM transfer of a step: it takes from L1BM ahead of all stores, and stores there last."""
    builder, copy = step.builder, step.builder.l2bm[0].copy
    if copy is None:
        return
    near, far = step.constants.rows_of_copy(copy, builder.arena)
    operands = {"near": near, "far": far, "members": (sum(1 << member for member in copy.members),) * CYCLES}
    width = (geometry().l1bs_per_l2b - 1).bit_length()
    kernel = l2bm_run(copy.near_rate, copy.share, copy.l1bs, up=copy.up, width=width)
    (builder.carry if copy.up else builder.store_late)(kernel, **operands)
    builder.copies_l2bm = True


def decode_step(
    arena: Arena, context: Context, constants: Constants, statement: Step, strict: bool
) -> tuple[Plan, Calls]:
    """Decode a PE statement against the static machine state; also gives the kernel calls that the plan is made of.
    Raises ValueError when it cannot be executed."""
    suspended = keeps_turnaround = False
    units: list[str] = []
    for expression in statement.expressions:
        units.append(unit_of(expression.opcode))
        for destination in expression.destinations:
            suspended = suspended or destination.mask is not None
        for source in expression.sources:
            keeps_turnaround = keeps_turnaround or source.memory is Memory.TURNAROUND
    step = StepDecoder(arena, context, constants, strict, suspended)
    step.keeps_turnaround = keeps_turnaround or "noforward" in units
    for expression, unit in zip(statement.expressions, units, strict=True):
        _decode_expression(step, expression, unit)
    if len(step.builder.l2bm) == 1:
        _copy_l2bm(step)
    waits = [e.tag for e in statement.expressions if e.opcode == "wait"]
    is_nop = "nop" in units
    calls = step.builder.calls()
    plan = step.builder.finish(
        calls,
        noforward=is_nop or "noforward" in units,
        is_nop=is_nop,
        wait_tag=waits[0] if waits else None,
        units=tuple([unit for unit in units if unit not in CONTROL]),
    )
    return plan, calls
