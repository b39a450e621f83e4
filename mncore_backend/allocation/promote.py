"""Small, short-lived buffers to register files.

A local memory that is written cannot be read in the two steps after, and a step that reads it writes it at the same
addresses only; a register file is read and written side by side (SDM 3.6.4). So what is small and used soon is better
off there, as long as the operands of every step find different memories.
"""

from mnc.mncore_backend.allocation.ports import Ports, operands_of
from mnc.mncore_backend.program import LOCAL_MEMORY, REGISTER_FILE, Buffer, Program

SIZE = 16  # long words of a buffer at most
SPAN = 256  # operations from its first use to its last at most
TOGETHER = 128  # long words of promoted buffers that live at the same time at most


def promote_buffers(program: Program) -> list[Buffer]:
    """Let small buffers of the local memories live in a register file instead; returns those that shall."""
    uses: dict[Buffer, list[int]] = {}
    fixed: set[Buffer] = set()
    for index, op in enumerate(program.operations):
        for operand, _ in operands_of(op):
            uses.setdefault(operand.buffer, []).append(index)
            if operand.t_indirect:
                fixed.add(operand.buffer)
    ports: Ports | None = None
    alive: list[tuple[int, int]] = []
    promoted: list[Buffer] = []
    for buffer, places in uses.items():
        alive = [(end, size) for end, size in alive if end >= places[0]]
        room = TOGETHER - sum(size for _, size in alive)
        if buffer in fixed or not _is_small(buffer, room) or places[-1] - places[0] > SPAN:
            continue
        ports = ports or Ports(program.operations)
        buffer.choices = REGISTER_FILE
        if ports.change(program.operations, {i: program.operations[i] for i in dict.fromkeys(places)}):
            alive.append((places[-1], buffer.size))
            promoted.append(buffer)
        else:
            buffer.choices = LOCAL_MEMORY
    return promoted


def _is_small(buffer: Buffer, room: int) -> bool:
    movable = buffer.choices == LOCAL_MEMORY and buffer.memory is None and not buffer.pinned
    return movable and buffer.size <= min(SIZE, room)
