"""Large loads around MVs that fill all L2BMs.

While an MV brings sums back to all L2Bs, from PDM, nothing else can be written to L2BM, and DRAM would idle. A load
that is under way then goes to PDM meanwhile, in part: from there it reaches one half of every group, the even L2Bs or
the odd ones, while DRAM serves the other half. When that happens is known only here, where kernels have their order.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from mnc.mncore_backend.assembly.records import Memory
from mnc.mncore_backend.codegen.ordering.kernels import Kernel, kernel_of
from mnc.mncore_backend.movement.transfers import MV_UNIT
from mnc.mncore_backend.program import Buffer, BufferOperand, MachineOp, Program, upper
from mnc.mncore_backend.target import chip


@dataclass(eq=False)
class _Stream:
    """A tensor on its way from DRAM to one buffer of L2BM: the kernels of its MVs, and those that bring it on."""

    moves: list[Kernel] = field(default_factory=list)
    hops: list[Kernel] = field(default_factory=list)


def around_exchanges(kernels: list[Kernel], program: Program) -> list[Kernel]:
    """The kernels, those of the first large load set around what fills all L2BMs meanwhile, with the times at which
    they are to start; the same list where there is nothing to do."""
    for stream in _streams(kernels):
        own = {*stream.moves, *stream.hops}
        found = [k for k in kernels if _comes_back_to_all(k) and own.isdisjoint(_before(k)) and _before(k)]
        exchanges = [k for k in found if own.isdisjoint(_after(k))]
        if exchanges:
            return _around(kernels, program, stream, exchanges)
    return kernels


def _streams(kernels: Sequence[Kernel]) -> list[_Stream]:
    """Loads of several pieces to the halves in turn."""
    found: dict[Buffer, _Stream] = {}
    for kernel in kernels:
        target = _piece(kernel)
        if target is not None:
            found.setdefault(target.buffer, _Stream()).moves.append(kernel)
    for kernel in kernels:
        for buffer in {o.buffer for op in kernel.operations for o in op.sources if isinstance(o, BufferOperand)}:
            if buffer in found:
                found[buffer].hops.append(kernel)
    return [stream for stream in found.values() if len(stream.moves) > chip().l2bs_per_group and _is_plain(stream)]


def _is_plain(stream: _Stream) -> bool:
    """Whether every place is written once."""
    places = [(o.offsets[0], o.l2b) for k in stream.moves if (o := _piece(k)) is not None]
    return len(places) == len(set(places))


def _piece(kernel: Kernel) -> BufferOperand | None:
    """Where an MV brings data from DRAM, if that is one half of every group."""
    op = kernel.operations[0]
    if op.opcode != "mvp":
        return None
    source, target = op.sources[0], op.destinations[0]
    if not isinstance(source, BufferOperand) or not isinstance(target, BufferOperand) or source.group is not None:
        return None
    return target if source.buffer.choices[0] is Memory.DRAM and target.l2b is not None else None


def _comes_back_to_all(kernel: Kernel) -> bool:
    """Whether it fills all L2BMs from PDM."""
    written = sum(memory is Memory.L2BM and write is True for memory, _, write in kernel.ports)
    return written == chip().l2bs and any(memory is Memory.PDM for memory, _, _ in kernel.ports)


def _around(kernels: Sequence[Kernel], program: Program, stream: _Stream, exchanges: Sequence[Kernel]) -> list[Kernel]:
    moves = _Moves(program)
    left = list(stream.moves)
    for begin, exchange in sorted(((_soonest(k), k) for k in exchanges), key=lambda pair: pair[0]):
        while left and moves.now < begin:
            moves.from_dram(left.pop(0))
        exchange.not_before = moves.now
        moves.by_pdm(left, exchange.data_steps)
    while left:
        moves.from_dram(left.pop(0))
    made: list[Kernel] = []
    for kernel in kernels:
        if kernel in stream.hops:
            made += _in_parts(kernel, moves.arrivals)
        elif kernel not in stream.moves:
            made.append(kernel)
    return [*moves.kernels, *made]


@dataclass
class _Moves:
    """MVs of a stream in the order of their data phases. `now`: when DRAM is free. `arrivals`: long words from..to of
    an L2BM, and when they are there."""

    program: Program
    now: int = 0
    kernels: list[Kernel] = field(default_factory=list)
    arrivals: list[tuple[int, int, int]] = field(default_factory=list)

    def from_dram(self, kernel: Kernel) -> None:
        """A piece comes as it is."""
        self.kernels.append(_fixed(kernel.operations[0], self.now))
        self._note(kernel.operations[0], self.now + kernel.data_steps)
        self.now += kernel.data_steps

    def by_pdm(self, left: list[Kernel], steps: int) -> None:
        """Pieces of one half that DRAM gives in `steps`, by PDM; the other half gets as many pieces meanwhile."""
        half = _half(left[0]) if left else None
        chosen: list[Kernel] = []
        for kernel in left:
            if _half(kernel) == half and sum(k.data_steps for k in chosen) + kernel.data_steps <= steps:
                chosen.append(kernel)
        others = [k for k in left if _half(k) != half][: len(chosen)]
        if len(others) < len(chosen):
            self.now += steps
            return
        begin = self.now
        staged = [(kernel, self._stage(kernel)) for kernel in chosen]
        self.now = max(self.now, begin + steps)
        behind = self.now
        for (kernel, buffer), other in zip(staged, others, strict=True):
            op = kernel.operations[0]
            begin = max(behind, begin + kernel.data_steps + chip().mv_latency_steps)
            again = MachineOp("mvp", (upper(buffer),), op.destinations, size=op.size, location=op.location)
            self.kernels.append(_fixed(again, begin))
            self._note(op, begin + kernel.data_steps)
            self.from_dram(other)
        left[:] = [k for k in left if k not in chosen and k not in others]

    def _stage(self, kernel: Kernel) -> Buffer:
        op = kernel.operations[0]
        source = op.sources[0]
        assert isinstance(source, BufferOperand)
        buffer = self.program.buffer("ahead", op.size, (Memory.PDM,), alignment=MV_UNIT)
        for group in range(chip().groups):
            ends = (source._replace(group=group),), (upper(buffer, group=group),)
            self.kernels.append(_fixed(MachineOp("mvp", *ends, size=op.size, location=op.location), self.now))
        self.now += kernel.data_steps
        return buffer

    def _note(self, op: MachineOp, end: int) -> None:
        target = op.destinations[0]
        assert isinstance(target, BufferOperand)
        self.arrivals.append((target.offsets[0], target.offsets[0] + op.size, end + chip().mv_latency_steps))


def _half(kernel: Kernel) -> int | None:
    target = _piece(kernel)
    return target.l2b if target is not None else None


def _before(kernel: Kernel) -> set[Kernel]:
    """All that a kernel depends on."""
    return _reached(kernel, lambda k: k.before)


def _after(kernel: Kernel) -> set[Kernel]:
    """All that depends on a kernel."""
    return _reached(kernel, lambda k: k.after)


def _reached(kernel: Kernel, following: Callable[[Kernel], set[Kernel]]) -> set[Kernel]:
    found: set[Kernel] = set()
    left = [kernel]
    while left:
        for other in following(left.pop()) - found:
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


def _fixed(op: MachineOp, begin: int) -> Kernel:
    kernel = kernel_of([op])
    kernel.start, kernel.is_fixed = begin, True
    return kernel


def _in_parts(hop: Kernel, arrivals: Sequence[tuple[int, int, int]]) -> Iterator[Kernel]:
    """What the PEs do with the tensor, cut where more of it must have come."""
    parts: list[tuple[int, list[MachineOp]]] = [(0, [])]
    for op in hop.operations:
        offsets = [o.offsets[0] for o in op.sources if isinstance(o, BufferOperand) and _is_in_l2bm(o)]
        reach = 4 * MV_UNIT  # an L2BM instruction takes so many long words at most
        here = [end for first, last, end in arrivals if any(first < at + reach and at < last for at in offsets)]
        if here and max(here) > parts[-1][0]:
            parts.append((max(here), []))
        parts[-1][1].append(op)
    for arrival, operations in parts:
        if operations:
            made = kernel_of(operations)
            made.not_before = arrival
            yield made


def _is_in_l2bm(operand: BufferOperand) -> bool:
    return operand.buffer.choices[0] is Memory.L2BM
