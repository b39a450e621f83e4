"""Reductions over local iterations: partial results in the register file, then a tree.

Each output long word (segment) gets one or more partial accumulators. A round feeds every accumulator one iteration;
the accumulators of a group of four are combined in one step. Partial sums also keep the rounding error small.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from mnc.core.diagnostics import InternalError
from mnc.mncore_backend.assembly.records import Memory
from mnc.mncore_backend.kernels.vector.body import LANES, Access, Body, Output, Scalar, VectorKernel
from mnc.mncore_backend.kernels.vector.constants import ConstantPool
from mnc.mncore_backend.kernels.vector.emit import GROUPS, Group, MapEmitter, emit_vector
from mnc.mncore_backend.program import Buffer, Builder

_NEUTRAL: dict[str, float] = {
    "addf": 0.0,
    "mulf": 1.0,
    "maximumf": -np.inf,
    "minimumf": np.inf,
    "addi": 0,
    "muli": 1,
    "maxsi": -(2**31),
    "minsi": 2**31 - 1,
    "ori": 0,
    "xori": 0,
}
"""Initial values that change no result of the operation itself. (They do change numbers that it has not made: sums are
in normal form.)"""
REDUCTIONS = frozenset(_NEUTRAL) | {"andi", "maxui", "minui"}
"""Operations that may combine partial results in any order."""
_ACCUMULATORS = 64  # long words of accumulators per reduced output, at most


@dataclass(frozen=True, slots=True)
class Plan:
    """`parts[segment][part]` lists the iterations of an accumulator, whose number is part * segments + segment."""

    parts: list[list[list[int]]]
    segments: int
    count: int

    def accumulators(self) -> list[list[int]]:
        return [self.parts[s][p] for p in range(self.count) for s in range(self.segments)]


def emit_reductions(builder: Builder, kernel: VectorKernel, pool: ConstantPool) -> None:
    """Emit a kernel with reduced outputs. All of them must group the iterations in the same way. Raises InternalError
    if they do not."""
    reduced = [output for output in kernel.outputs if output.reduce]
    labels = _labels(reduced[0].access.offsets)
    if any((_labels(output.access.offsets) != labels).any() for output in reduced):
        raise InternalError("the reduced outputs of a vector kernel group its iterations differently")
    segments = [np.flatnonzero(labels == label).tolist() for label in range(labels.max() + 1)]
    for start in range(0, len(segments), _ACCUMULATORS):
        _emit_segments(builder, kernel, segments[start : start + _ACCUMULATORS], pool)


def _labels(offsets: np.ndarray) -> np.ndarray:
    """Number of the segment of each iteration, in order of first appearance."""
    _, first, inverse = np.unique(offsets, return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    return rank[inverse]


def _plan(segments: list[list[int]]) -> Plan:
    """Enough parts per segment to fill the groups side by side, with at least two iterations in the longest's parts.
    Part p of a segment with no more than p iterations is empty."""
    longest = max(len(segment) for segment in segments)
    count = 1
    while 4 * count <= longest and len(segments) * count < LANES * GROUPS // 2:
        count *= 2
    parts = [[segment[p::count] for p in range(count)] for segment in segments]
    return Plan(parts, len(segments), count)


def _emit_segments(builder: Builder, kernel: VectorKernel, segments: list[list[int]], pool: ConstantPool) -> None:
    plan = _plan(segments)
    lanes = plan.accumulators()
    buffers = {
        number: builder.temporary(len(lanes), (Memory.GRF0,), f"accumulator{number}", spare=LANES)
        for number, output in enumerate(kernel.outputs)
        if output.reduce
    }
    for round_number in range(max(len(lane) for lane in lanes)):
        if round_number < 2:
            emitters = _round_emitter(builder, kernel, buffers, lanes, pool, first=round_number == 0)
        emitters.emit(_round_groups(lanes, round_number))
    for number, output in enumerate(kernel.outputs):
        if output.reduce:
            targets = np.array([output.access.offsets[segment[0]] for segment in segments])
            _combine_parts(builder, output, buffers[number], plan, pool)
            if output.initial == _NEUTRAL.get(output.reduce) and min(map(len, segments)) > 1:
                output = replace(output, initial=None)
            _finish(builder, output, buffers[number], targets, pool)


def _round_groups(lanes: Sequence[Sequence[int]], round_number: int) -> list[Group]:
    """Groups of accumulators that still have an iteration in this round. Iteration numbers of the derived kernel are
    original iterations; exhausted lanes repeat an active one and write to the spare end of the accumulators."""
    groups = []
    for start in range(0, len(lanes), LANES):
        block = lanes[start : start + LANES]
        current = [lane[round_number] if round_number < len(lane) else None for lane in block]
        alive = [iteration for iteration in current if iteration is not None]
        if alive:
            active = "".join("0" if i is None else "1" for i in current).ljust(LANES, "0")
            filled = [alive[0] if i is None else i for i in current] + alive[:1] * (LANES - len(current))
            groups.append(Group((filled[0], filled[1], filled[2], filled[3]), active))
    return groups


def _round_emitter(
    builder: Builder,
    kernel: VectorKernel,
    buffers: dict[int, Buffer],
    lanes: list[list[int]],
    pool: ConstantPool,
    *,
    first: bool,
) -> MapEmitter:
    """The body, storing into the accumulators (first round) or combining with them."""
    address = np.zeros(kernel.iterations, dtype=np.int64)
    for number, lane in enumerate(lanes):
        address[lane] = number
    body = Body(list(kernel.body.operations), kernel.body.inputs)
    inputs = list(kernel.inputs)
    outputs: list[tuple[Access, Scalar]] = []
    for number, output in enumerate(kernel.outputs):
        access, value = output.access, output.value
        if output.reduce:
            access = Access(buffers[number], address)
            if not first:
                inputs.append(access)
                value = body.op(output.reduce, body.input(value.type), value)
        outputs.append((access, value))
    return MapEmitter(builder, body, tuple(inputs), outputs, pool)


def _combine_parts(builder: Builder, output: Output, buffer: Buffer, plan: Plan, pool: ConstantPool) -> None:
    """Halve the number of parts until one is left, in place."""
    count = plan.count
    while count > 1:
        count //= 2
        low = _occupied(plan, count)
        body = Body()
        a, b = body.input(output.value.type), body.input(output.value.type)
        result = Output(Access(buffer, low), body.op(output.reduce, a, b))
        reads = (Access(buffer, low), Access(buffer, low + count * plan.segments))
        emit_vector(builder, VectorKernel(len(low), reads, body, (result,)), pool)


def _occupied(plan: Plan, first_part: int) -> np.ndarray:
    """Accumulators whose partner, `first_part` parts further on, has received something."""
    lanes = plan.accumulators()
    partner = first_part * plan.segments
    return np.array([number for number in range(partner) if lanes[number + partner]])


def _finish(builder: Builder, output: Output, buffer: Buffer, targets: np.ndarray, pool: ConstantPool) -> None:
    """Combine with the initial value and store."""
    body = Body()
    value = body.input(output.value.type)
    reads = [Access(buffer, np.arange(len(targets)))]
    target = Access(output.access.buffer, targets)
    if output.initial == "previous":
        reads.append(target)
        value = body.op(output.reduce, body.input(value.type), value)
    elif output.initial is not None and not isinstance(output.initial, str):
        value = body.op(output.reduce, body.constant(output.initial, value.type), value)
    emit_vector(builder, VectorKernel(len(targets), tuple(reads), body, (Output(target, value),)), pool)
