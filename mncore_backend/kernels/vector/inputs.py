"""Inputs of a kernel that are copied into registers before they are used."""

from collections.abc import Sequence

from mnc.mncore_backend.assembly.records import Memory
from mnc.mncore_backend.kernels.math.micro import Instruction, Value
from mnc.mncore_backend.kernels.vector.body import LANES, Access
from mnc.mncore_backend.program import LOCAL_MEMORY, Buffer, BufferOperand, Program

RECENT = 4096  # operations back to the one that has written an input: what is older has been there for long
_BUSY = 3  # instructions that read an input from which its memory is worth sparing


def inputs_to_load(
    instructions: Sequence[Instruction],
    inputs: Sequence[Access],
    outputs: Sequence[tuple[Access, Value]],
    arrivals: Sequence[int],
) -> set[int]:
    """Numbers of the inputs that cannot or should not be read where they are: those read by many instructions, stored
    as they are, replaced by an output, or meeting another input in one memory. Of two that meet it is the one that is
    there first (`arrivals`: numbers to compare): nobody waits for its copy."""
    readers: dict[int, int] = {}
    for instruction in instructions:
        for number in {s.number for s in instruction.sources if s.kind == "input"}:
            readers[number] = readers.get(number, 0) + 1
    busy = {number for number, count in readers.items() if count >= _BUSY}
    busy |= {value.number for _, value in outputs if value.kind == "input"}
    busy |= _replaced(inputs, outputs)
    for instruction in instructions:
        met: set[Memory] = set()
        read = dict.fromkeys(s.number for s in instruction.sources if s.kind == "input")
        for number in sorted(read, key=lambda n: -arrivals[n]):
            choices = memories(inputs[number])
            if number in busy or met & choices:
                busy.add(number)
            else:
                met |= choices
    return busy


def _replaced(inputs: Sequence[Access], outputs: Sequence[tuple[Access, Value]]) -> set[int]:
    """Inputs in local memory that an output overwrites. Read in the step that writes, or between such steps, each group
    of four iterations would wait until the write of the one before has freed the port (SDM 3.6.4)."""
    written = {id(access.buffer) for access, _ in outputs}
    return {
        number
        for number, read in enumerate(inputs)
        if len(read.offsets) > LANES and id(read.buffer) in written and local_memories(read)
    }


def last_written(program: Program, buffers: Sequence[Buffer]) -> list[int]:
    """Per buffer the operation that has written it last, -1 for those that none of the last `RECENT` has."""
    found: dict[Buffer, int] = {}
    missing = set(buffers)
    for index in reversed(range(max(0, len(program.operations) - RECENT), len(program.operations))):
        if len(missing) <= 1:
            break  # the one that is left is the earliest
        for operand in program.operations[index].destinations:
            if isinstance(operand, BufferOperand) and operand.buffer in missing:
                found[operand.buffer] = index
                missing.remove(operand.buffer)
    return [found.get(buffer, -1) for buffer in buffers]


def memories(access: Access) -> set[Memory]:
    """Memories the access may end up in."""
    buffer = access.buffer
    return set(buffer.choices) if buffer.memory is None else {buffer.memory}


def local_memories(access: Access) -> set[Memory]:
    """The local memories among them."""
    return memories(access) & set(LOCAL_MEMORY)
