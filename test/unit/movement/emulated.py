"""The same interface as `interpreter.Interpreter`, on the emulator: real allocation, real schedule, strict checks."""

from collections.abc import Callable

import numpy as np

from mnc.mncore_backend.assembly import print_statement
from mnc.mncore_backend.codegen.scheduling import Schedule, schedule
from mnc.mncore_backend.emulator import Machine
from mnc.mncore_backend.program import Buffer, Program
from mnc.mncore_backend.target import chip


class Emulated:
    """Buffers that hold input or output must be pinned."""

    def __init__(self, emit: Callable[[Program], Schedule] = schedule) -> None:
        self.machine = Machine()
        self.emit = emit
        self.steps = 0

    def poke(self, buffer: Buffer, words: np.ndarray) -> None:
        assert buffer.memory is not None and buffer.base is not None
        self.machine.poke_words(buffer.memory, 2 * buffer.base, words)

    def peek(self, buffer: Buffer) -> np.ndarray:
        assert buffer.memory is not None and buffer.base is not None
        return self.machine.peek_words(buffer.memory, 2 * buffer.base, 2 * buffer.size).reshape(*chip().shape, -1)

    def write_dram(self, buffer: Buffer, contents: dict[int, np.ndarray]) -> None:
        assert buffer.base is not None
        for g, longs in contents.items():
            self.machine.write_dram(g, buffer.base, longs)

    def read_dram(self, buffer: Buffer) -> dict[int, np.ndarray]:
        assert buffer.base is not None
        return {g: self.machine.read_dram(g, buffer.base, buffer.size) for g in range(4)}

    def run(self, program: Program) -> None:
        """Through the text, as everything does."""
        result = self.emit(program)
        self.machine.run("\n".join(print_statement(s) for s in result.statements))
        self.steps = result.steps


