"""Program order of the kernels.

Matrix banks cannot be renamed: the scheduler uses them in program order, so a kernel that stands early in the program
holds up all that follow, however urgent they are. The kernels are therefore put into the order in which a simulation
would start them, with the banks as the one exclusive resource: what lies on a longer path to the end goes first, and
what is less urgent gets the banks only while nobody more urgent wants them.
"""

from collections.abc import Container, Mapping, Sequence
from collections.abc import Set as AbstractSet
from itertools import islice

from mnc.mncore_backend.assembly.records import Memory, Operand
from mnc.mncore_backend.codegen.ordering.kernels import Kernel, Region, apart, kernel_of
from mnc.mncore_backend.codegen.ordering.streams import around_exchanges
from mnc.mncore_backend.codegen.scheduling.chains import produced_latch
from mnc.mncore_backend.codegen.scheduling.timeline import Port
from mnc.mncore_backend.program import LOCAL_MEMORY, REGISTER_FILE, Buffer, BufferOperand, MachineOp, Program
from mnc.mncore_backend.target import chip

_ABOVE = (Memory.L1BM, Memory.L2BM)
_KERNELS = 400  # more than that are left as they are: the simulation takes quadratic time


def ordered_kernels(program: Program, runs: Sequence[Sequence[MachineOp]]) -> list[MachineOp] | None:
    """The operations of `runs`, whose given order is correct, in an order that serves the most urgent first; large
    loads are set around what fills all L2BMs (`streams`), by buffers that are added to `program`. None for programs of
    which only a part lives in local memory at a time, and for long ones."""
    common = _common(runs)
    parts = list(islice((part for run in runs for part in _parts(run, common)), _KERNELS + 1))
    if len(parts) > _KERNELS or not _fit_side_by_side(runs):
        return None
    kernels = [kernel_of(part) for part in parts]
    _connect(kernels)
    kernels = around_exchanges(kernels, program)
    _connect(kernels)
    _simulate(kernels)
    place = {kernel: i for i, kernel in enumerate(kernels)}
    kernels.sort(key=lambda k: (k.start, place[k]))
    made = [op for kernel in kernels for op in kernel.operations]
    return made if _fits_above(made) else None


def _fit_side_by_side(runs: Sequence[Sequence[MachineOp]]) -> bool:
    """Whether no buffer needs the place of another one in local memory: in another order they live longer."""
    choices: dict[Buffer, tuple[Memory, ...]] = {}
    for operand in (o for run in runs for op in run for o in (*op.sources, *op.destinations)):
        if isinstance(operand, BufferOperand) and operand.buffer.choices[0] in LOCAL_MEMORY:
            known = choices.get(operand.buffer, operand.buffer.choices)
            choices[operand.buffer] = (Memory.LM0,) if operand.t_indirect else known  # T addresses LM0 only
    longs = {memory: chip().memories[memory].longs for memory in LOCAL_MEMORY}
    bound = {m: sum(b.size for b, allowed in choices.items() if allowed == (m,)) for m in LOCAL_MEMORY}
    total = sum(buffer.size for buffer in choices)
    return total <= sum(longs.values()) and all(bound[m] <= longs[m] for m in LOCAL_MEMORY)


def _fits_above(operations: Sequence[MachineOp]) -> bool:
    """Whether L1BM and L2BM hold what lives in them at the same time, and register files what lives nowhere else."""
    first: dict[Buffer, int] = {}
    last: dict[Buffer, int] = {}
    for index, op in enumerate(operations):
        for operand in (*op.sources, *op.destinations):
            if isinstance(operand, BufferOperand) and _is_scarce(operand.buffer):
                first.setdefault(operand.buffer, index)
                last[operand.buffer] = index
    changes = [(place, buffer.size, buffer) for buffer, place in first.items()]
    changes += [(place + 1, -buffer.size, buffer) for buffer, place in last.items()]
    used: dict[Memory, int] = dict.fromkeys((*_ABOVE, *REGISTER_FILE), 0)
    for _, size, buffer in sorted(changes, key=lambda c: c[:2]):
        used[buffer.choices[0]] += size
        if used[buffer.choices[0]] > chip().memories[buffer.choices[0]].longs:
            return False
    return True


def _is_scarce(buffer: Buffer) -> bool:
    return buffer.choices[0] in _ABOVE or (len(buffer.choices) == 1 and buffer.choices[0] in REGISTER_FILE)


def _common(runs: Sequence[Sequence[MachineOp]]) -> set[Buffer]:
    """What several runs use."""
    user: dict[Buffer, int] = {}
    common: set[Buffer] = set()
    for number, run in enumerate(runs):
        for operand in (o for op in run for o in (*op.sources, *op.destinations)):
            if isinstance(operand, BufferOperand) and user.setdefault(operand.buffer, number) != number:
                common.add(operand.buffer)
    return common


def _parts(run: Sequence[MachineOp], common: AbstractSet[Buffer]) -> list[list[MachineOp]]:
    """A run without what need not stay together with it: constants that other kernels use, too, and every MV, unless a
    register (masks, T, latches) keeps something over it. (Constants of one kernel would wait for it from the program's
    beginning on, and hundreds of them fill the register files.)"""
    own = _constants(run, common)
    constants: list[MachineOp] = []
    rest: list[list[MachineOp]] = [[]]
    for index, op in enumerate(run):
        if index in own:
            constants.append(op)
        elif op.is_transfer:
            rest += [[op], []]
        else:
            rest[-1].append(op)
    if _keeps_registers(rest):
        rest = [[op for part in rest for op in part]]
    return [part for part in (constants, *rest) if part]


def _keeps_registers(parts: Sequence[Sequence[MachineOp]]) -> bool:
    """Whether a part reads a register that an earlier one has written: nothing else may come between them."""
    writer: dict[object, int] = {}
    for number, part in enumerate(parts):
        for op in part:
            if any(writer.get(register, number) != number for register in _registers_read(op)):
                return True
            written = [_register(o) for o in op.destinations if isinstance(o, Operand)]
            writer.update(dict.fromkeys([*written, *([] if op.is_transfer else [produced_latch(op)])], number))
    return len(parts) > 1 and bool({Memory.BAR0, Memory.BAR1} & writer.keys())


def _register(operand: Operand) -> object:
    return (operand.memory, operand.address) if operand.memory is Memory.MASK else operand.memory


def _registers_read(op: MachineOp) -> list[object]:
    operands = (*op.sources, *op.destinations)
    masks = [op.zero_flush, *(o.mask for o in operands)]
    read: list[object] = [_register(o) for o in op.sources if isinstance(o, Operand)]
    read += [(Memory.MASK, mask.entry) for mask in masks if mask is not None]
    return read + ([Memory.T] if any(o.t_indirect for o in operands) else [])


def _constants(run: Sequence[MachineOp], common: AbstractSet[Buffer]) -> set[int]:
    """Which operations of a run make constants that others use, too, or what such a constant is copied from."""
    made: dict[Buffer, int] = {}
    for index, op in enumerate(run):
        constant = _constant(op, made)
        if constant is not None:
            made[constant] = index
    found: set[int] = set()
    wanted = set(common)
    for constant, index in reversed(made.items()):
        if constant in wanted:
            found.add(index)
            wanted |= {o.buffer for o in run[index].sources if isinstance(o, BufferOperand)}
    return found


def _constant(op: MachineOp, made: Container[Buffer]) -> Buffer | None:
    """The long word that an operation fills with a literal, or with a copy of one of `made`."""
    if len(op.destinations) != 1 or op.zero_flush is not None:
        return None
    target = op.destinations[0]
    if not isinstance(target, BufferOperand) or target.mask is not None or target.buffer.size != 1:
        return None
    copied = op.opcode == "lpassa" and isinstance(op.sources[0], BufferOperand) and op.sources[0].buffer in made
    return target.buffer if op.literal is not None or copied else None


_Use = tuple[Kernel, bool, Region | None]
"""Who uses a buffer, whether it writes, and which part; None: any."""


def _connect(kernels: Sequence[Kernel]) -> None:
    """Edges between kernels of which one writes what the other one uses, and the urgency of each. Those that are fixed
    have their times."""
    uses: dict[Buffer, list[_Use]] = {}
    for kernel in kernels:
        kernel.before, kernel.after = set(), set()
    for kernel in (k for k in kernels if not k.is_fixed):
        region = kernel.region
        read = {o.buffer for op in kernel.operations for o in op.sources if isinstance(o, BufferOperand)}
        written = {o.buffer for op in kernel.operations for o in op.destinations if isinstance(o, BufferOperand)}
        for buffer in read | written:
            write, own = buffer in written, region if buffer in written else None
            earlier = uses.setdefault(buffer, [])
            for other, wrote, part in earlier:
                if other is not kernel and (write or wrote) and not apart(own, part):
                    kernel.before.add(other)
                    other.after.add(kernel)
            if write and own is None:
                earlier.clear()
            earlier.append((kernel, write, own))
    for kernel in reversed(kernels):
        kernel.urgency = kernel.duration + max((k.urgency for k in kernel.after), default=0)


def _simulate(kernels: Sequence[Kernel]) -> None:
    """Set `start` of every kernel. Those that move data out of the same memory keep their order: loads come as they are
    wanted first, and what else moves is not held up by loads that nobody waits for."""
    left = [k for k in kernels if not k.is_fixed]
    banks_free = 0
    ports: dict[Port, int] = {}
    while left:
        soonest = _soonest(left, banks_free, ports)
        ready = [k for k in _first_from_each_memory(left) if all(other.start >= 0 for other in k.before)]
        free = [k for k in ready if not _is_in_the_way(k, left, soonest)]
        chosen = min(free or ready, key=lambda k: (soonest[k], -k.urgency))
        chosen.start = soonest[chosen]
        left.remove(chosen)
        if chosen.uses_banks:
            banks_free = chosen.start + chosen.duration
        ports.update(dict.fromkeys(chosen.ports, chosen.start + chosen.data_steps))


def _first_from_each_memory(left: Sequence[Kernel]) -> list[Kernel]:
    """Without those that move data out of a memory after others that do."""
    taken: set[Port] = set()
    first = []
    for kernel in left:
        if kernel.sources.isdisjoint(taken):
            first.append(kernel)
        taken |= kernel.sources
    return first


def _soonest(left: Sequence[Kernel], banks_free: int, ports: Mapping[Port, int]) -> dict[Kernel, int]:
    """The step at which each kernel could start."""
    soonest: dict[Kernel, int] = {}
    for kernel in left:
        ends = [(soonest[k] if k.start < 0 else k.start) + k.duration for k in kernel.before]
        free = [banks_free] if kernel.uses_banks else []
        free += [ports.get(port, 0) for port in kernel.ports]
        soonest[kernel] = max([kernel.not_before, *ends, *free])
    return soonest


def _is_in_the_way(kernel: Kernel, left: Sequence[Kernel], soonest: dict[Kernel, int]) -> bool:
    """A kernel would hold the banks when a more urgent one wants them."""
    if not kernel.uses_banks:
        return False
    end = soonest[kernel] + kernel.duration
    return any(
        k.uses_banks and k.urgency > kernel.urgency and soonest[k] < end and kernel not in k.before for k in left
    )
