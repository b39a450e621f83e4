"""Helpers of operand placement: chains through latches, and the two-colouring that spreads registers over the files."""

from mnc.mncore_backend.assembly.records import Memory
from mnc.mncore_backend.kernels.math.micro import Instruction
from mnc.mncore_backend.kernels.vector.cleanup import registers_read
from mnc.mncore_backend.program import REGISTER_FILE


def chain_dependent_operations(instructions: list[Instruction]) -> None:
    """Let an operation take the result of the one before it from the latch if both belong to the same unit, which
    spares a register-file port, or if it reads three registers, which two files cannot deliver."""
    previous: Instruction | None = None
    for instruction in instructions:
        read = set(registers_read(instruction))
        if previous is not None and previous.result in read and previous.write_flag is None:
            instruction.chained = instruction.is_mau == previous.is_mau or len(read) == 3
        previous = instruction


def unchain_alu(instructions: list[Instruction]) -> None:
    """Give the results of the ALU back to registers where two files can deliver all that an operation reads."""
    for instruction in instructions:
        if not instruction.is_mau and len(set(registers_read(instruction))) < 3:
            instruction.chained = False


def chain_length(instruction: Instruction, before: list[Instruction]) -> int:
    """How many instructions at the end of `before` must stay in front of `instruction`."""
    length = 0
    while instruction.chained:
        length += 1
        instruction = before[-length]
    return length


def two_colour(
    neighbours: dict[int, set[int]], taken: dict[int, set[Memory]], reads: dict[int, int]
) -> dict[int, tuple[Memory, ...]]:
    """Breadth-first two-colouring; a node whose neighbours have both colours gets both. `taken` are colours that
    inputs in a register file occupy."""
    colour: dict[int, tuple[Memory, ...]] = {}
    count: dict[Memory, int] = {Memory.GRF0: 0, Memory.GRF1: 0}
    for start in [*taken, *neighbours]:
        queue = [start]
        while queue:
            node = queue.pop(0)
            if node in colour:
                continue
            used = {colour[n][0] for n in neighbours[node] if n in colour and len(colour[n]) == 1}
            used |= taken.get(node, set())
            free = [file for file in REGISTER_FILE if file not in used]
            colour[node] = (min(free, key=lambda file: count[file]),) if free else REGISTER_FILE
            for file in colour[node]:
                count[file] += reads.get(node, 1)
            queue += sorted(n for n in neighbours[node] if n not in colour)
    return colour
