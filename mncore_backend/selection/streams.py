"""Large loads around MVs that fill all L2BMs.

`movement.load` brings a large tensor to L2BM as a whole, in MVs of which the halves of every group take turns, wherever
another MV fills all L2BMs meanwhile: parameters that come first, or sums of all L2Bs that come back. When that happens
is known only here, where the kernels have their order; so here the tensor is cut anew (`movement.halves`), and its MVs
and what the PEs do with it are put where they belong.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import ceil

from mnc.mncore_backend.assembly.records import Memory
from mnc.mncore_backend.machine import L2BS
from mnc.mncore_backend.movement.halves import Exchange, Segment, plan_around
from mnc.mncore_backend.movement.transfers import MV_UNIT
from mnc.mncore_backend.movement.turns import Turn, planned_moves, turn_of
from mnc.mncore_backend.program import Buffer, BufferOperand, MachineOp, Program
from mnc.mncore_backend.selection.kernels import Kernel, kernel_of


@dataclass(eq=False)
class _Stream:
    """A tensor on its way to an L2BM, which has `total` long words of it. `moves` are the kernels of its MVs, `hops`
    those that bring it on."""

    turns: list[Turn] = field(default_factory=list)
    moves: list[Kernel] = field(default_factory=list)
    hops: list[Kernel] = field(default_factory=list)

    @property
    def dram(self) -> Buffer:
        return self.turns[0].dram

    @property
    def l2bm(self) -> Buffer:
        return self.turns[0].l2bm

    @property
    def total(self) -> int:
        return max(turn.start + turn.size for turn in self.turns)

    @property
    def is_cut(self) -> bool:
        """Whether it comes as a whole, in several MVs to each half."""
        alike = all(t.dram is self.dram and t.there == t.half * self.total + t.start for t in self.turns)
        return len(self.turns) > 2 and alike


def around_exchanges(kernels: list[Kernel], program: Program) -> list[Kernel]:
    """The kernels, those of the first large load cut anew around the first exchange, with the times at which they are
    to start; the same list where there is nothing to do."""
    for stream in _streams(kernels):
        own = {*stream.moves, *stream.hops}
        others = (k for k in kernels if k not in own and own.isdisjoint(_before(k)))
        exchange = next((k for k in others if _fills_all_l2bms(k)), None)
        if exchange is not None:
            return _around(kernels, program, stream, exchange)
    return kernels


def _streams(kernels: Sequence[Kernel]) -> list[_Stream]:
    found: dict[Buffer, _Stream] = {}
    for kernel in kernels:
        turn = turn_of(kernel.operations[0])
        if turn is not None:
            stream = found.setdefault(turn.l2bm, _Stream())
            stream.turns.append(turn)
            stream.moves.append(kernel)
    for kernel in kernels:
        for buffer in {o.buffer for op in kernel.operations for o in op.sources if isinstance(o, BufferOperand)}:
            if buffer in found:
                found[buffer].hops.append(kernel)
    return [stream for stream in found.values() if stream.is_cut]


def _fills_all_l2bms(kernel: Kernel) -> bool:
    return sum(memory is Memory.L2BM and written for memory, _, written in kernel.ports) == L2BS


def _around(kernels: Sequence[Kernel], program: Program, stream: _Stream, exchange: Kernel) -> list[Kernel]:
    work = sum(len(kernel.operations) for kernel in stream.hops)
    described = _described(exchange, stream)
    plan = plan_around(stream.total, work, described)
    exchange.not_before = ceil(plan.exchange)
    for other in kernels:  # what is less urgent than the tensor would only hold it up
        if other is not exchange and _fills_all_l2bms(other) and other.urgency < described.behind:
            other.not_before = ceil(max(segment.end for segment in plan.segments))
    location = stream.moves[0].operations[0].location
    planned = planned_moves(program, plan, stream.dram, stream.l2bm, stream.total, location)
    moves = [_fixed(op, begin) for op, begin in planned]
    made: list[Kernel] = []
    for kernel in kernels:
        if kernel in stream.hops:
            made += _in_parts(kernel, stream, plan.segments)
        elif kernel not in stream.moves:
            made.append(kernel)
    return [*moves, *made]


def _described(exchange: Kernel, stream: _Stream) -> Exchange:
    before = _before(exchange)
    pdm = [k for k in before if any(memory is Memory.PDM and written for memory, _, written in k.ports)]
    return Exchange(
        ready=_soonest(exchange),
        data=exchange.data_steps,
        uses_dram=any(memory is Memory.DRAM for memory, _, _ in exchange.ports),
        pdm_free=max((_soonest(k) + k.duration for k in pdm), default=0),
        tail=exchange.urgency - exchange.duration,
        behind=max((k.urgency for hop in stream.hops for k in hop.after), default=0),
    )


def _before(kernel: Kernel) -> set[Kernel]:
    """All that a kernel depends on."""
    found: set[Kernel] = set()
    left = [kernel]
    while left:
        for other in left.pop().before - found:
            found.add(other)
            left.append(other)
    return found


def _soonest(kernel: Kernel) -> int:
    """When a kernel can start if nothing has to wait for a unit or memory."""
    ends: dict[Kernel, int] = {}
    before = _before(kernel)
    while kernel not in ends:
        for k in (*before, kernel):
            if k not in ends and k.before <= ends.keys():
                ends[k] = max((ends[b] for b in k.before), default=0) + k.duration
    return ends[kernel] - kernel.duration


def _fixed(op: MachineOp, begin: float) -> Kernel:
    kernel = kernel_of([op])
    kernel.start, kernel.is_fixed = int(begin), True
    return kernel


def _in_parts(hop: Kernel, stream: _Stream, segments: Sequence[Segment]) -> list[Kernel]:
    """What the PEs do with the tensor, cut where more of it must have come."""
    parts: list[tuple[int, list[MachineOp]]] = [(0, [])]
    for op in hop.operations:
        for operand in op.sources:
            if isinstance(operand, BufferOperand) and operand.buffer is stream.l2bm:
                arrival = _arrival(operand.offsets[0], segments)
                if arrival > parts[-1][0]:
                    parts.append((arrival, []))
        parts[-1][1].append(op)
    kernels = []
    for arrival, operations in parts:
        if operations:
            kernels.append(kernel_of(operations))
            kernels[-1].not_before = arrival
    return kernels


def _arrival(offset: int, segments: Sequence[Segment]) -> int:
    """When both halves have what an L2BM instruction reads from `offset` on (a cycle takes 64 long words)."""
    reach = 4 * MV_UNIT
    return ceil(max(s.end for s in segments if s.start < offset + reach and offset < s.start + s.size))
