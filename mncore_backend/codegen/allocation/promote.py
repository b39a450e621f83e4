"""Small, short-lived buffers to register files.

A local memory that is written cannot be read in the two steps after, and a step that reads it writes it at the same
addresses only; a register file is read and written side by side (SDM 3.6.4). So what is small and used soon is better
off there, as long as the operands of every step find different memories.
"""

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from mnc.mncore_backend.codegen.allocation.ports import Ports, operands_of
from mnc.mncore_backend.codegen.scheduling.chains import Chain
from mnc.mncore_backend.program import LOCAL_MEMORY, REGISTER_FILE, Buffer, Program
from mnc.mncore_backend.target import chip

SIZE = 64  # long words of a buffer at most
SPAN = 256  # operations from its first use to its last at most
FULL = 3 / 4  # of the register files: more does not pack


def promote_buffers(program: Program, chains: Iterable[Chain] | None = None) -> list[Buffer]:
    """Let small buffers of the local memories live in a register file instead; returns those that shall. `chains` are
    those of the program, if somebody has found them."""
    uses: dict[Buffer, list[int]] = {}
    fixed: set[Buffer] = set()
    for index, op in enumerate(program.operations):
        for operand, _ in operands_of(op):
            uses.setdefault(operand.buffer, []).append(index)
            if operand.t_indirect:
                fixed.add(operand.buffer)
    load = _load(program, uses)
    most = FULL * sum(chip().memories[memory].longs for memory in REGISTER_FILE)
    ports: Ports | None = None
    promoted: list[Buffer] = []
    for buffer, places in uses.items():
        if buffer in fixed or not _is_small(buffer) or places[-1] - places[0] > SPAN:
            continue
        alive = load[places[0] : places[-1] + 1]
        if alive.max() + buffer.size > most:
            continue
        ports = ports or Ports(program.operations, chains)
        buffer.choices = REGISTER_FILE
        if ports.change(program.operations, {i: program.operations[i] for i in dict.fromkeys(places)}):
            alive += buffer.size
            promoted.append(buffer)
        else:
            buffer.choices = LOCAL_MEMORY
    return promoted


def _load(program: Program, uses: dict[Buffer, list[int]]) -> NDArray[np.int64]:
    """Long words of both register files in use at every operation."""
    change = np.zeros(len(program.operations) + 1, np.int64)
    for buffer, places in uses.items():
        if buffer.choices[0] in REGISTER_FILE:
            first, last = (0, len(program.operations)) if buffer.pinned else (places[0], places[-1] + 1)
            change[first] += buffer.size
            change[last] -= buffer.size
    return np.cumsum(change)


def _is_small(buffer: Buffer) -> bool:
    movable = buffer.choices == LOCAL_MEMORY and buffer.memory is None and not buffer.pinned
    return movable and buffer.size <= SIZE
