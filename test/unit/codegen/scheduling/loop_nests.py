"""Random loop nests as machine operations, and modulo schedules of them as statements."""

from itertools import product
from random import Random

import numpy as np

from mnc.mncore_backend.assembly.records import Expression, Memory, Operand, Statement, Step
from mnc.mncore_backend.codegen.scheduling.modulo import Loop, LoopBody, ModuloSchedule
from mnc.mncore_backend.emulator import Machine
from mnc.mncore_backend.program import PE_MEMORY, Buffer, Builder, Program, local

from .running import bits

EXTENTS = (1, 1, 2, 3, 5, 7)
MOST = 40
"""Iterations of a nest at most."""
SIZE = 64
"""Long words of a buffer."""


class NestMaker:
    """A nest of `depth` loops around one body, one operation behind the other. Every operation reads and writes
    addresses that follow the loops with strides of its own, so that iterations meet at random distances."""

    def __init__(self, random: Random, depth: int) -> None:
        self.random = random
        extents: list[int] = []
        for _ in range(depth):
            extents.append(random.choice([e for e in EXTENTS if e * int(np.prod(extents)) <= MOST]))
        self.points = list(product(*map(range, extents)))
        self.program = Program()
        self.buffers = {memory: self._buffer(memory) for memory in PE_MEMORY}
        self.body = [self._operation(depth) for _ in range(random.randrange(1, 6))]
        self.size = self._emit()

    def _buffer(self, memory: Memory) -> Buffer:
        buffer = self.program.buffer(memory.name, SIZE, (memory,), pinned=True)
        buffer.memory, buffer.base = memory, 0
        return buffer

    def _operation(self, depth: int) -> tuple:
        """Opcodes of a chain, and places: memory, first vector, strides in vectors of four long words."""
        strides = [[self.random.randrange(3) for _ in range(depth)] for _ in range(3)]
        memories = self.random.sample(PE_MEMORY, 3)  # one port each
        places = [(m, self.random.randrange(4), own) for m, own in zip(memories, strides, strict=True)]
        opcode = self.random.choice(["iadd", "isub", "fvadd", "fvmul", "iinc", "fvpassa"])
        return opcode, self.random.random() < 0.3, places

    def _operand(self, place: tuple, point: tuple[int, ...]):
        memory, first, strides = place
        start = 4 * ((first + sum(s * i for s, i in zip(strides, point, strict=True))) % (SIZE // 4))
        return local(self.buffers[memory], range(start, start + 4))

    def _emit(self) -> int:
        builder = Builder(self.program, "nest")
        for point in self.points:
            for opcode, chained, places in self.body:
                sources = [self._operand(place, point) for place in places[: 1 if opcode in ("iinc", "fvpassa") else 2]]
                if chained:
                    builder.emit(opcode, sources, [Operand(Memory.NOWRITE)])
                    latch = Memory.MAUF if opcode.startswith("f") else Memory.ALUF
                    opcode, sources = "iinc", [Operand(latch)]
                builder.emit(opcode, sources, [self._operand(places[2], point)])
        return len(self.program.operations) // len(self.points)

    @property
    def loop(self) -> Loop:
        """All of the nest as one loop."""
        return Loop(0, self.size, len(self.points), ())


def unrolled(program: Program, loop: Loop, read: LoopBody, schedule: ModuloSchedule) -> list[Statement]:
    """All iterations of a modulo schedule, each `interval` steps behind the one before."""
    rows: dict[int, list[Expression]] = {}
    for trip in range(loop.trips):
        for position, (item, row) in enumerate(read.places):
            step = schedule.starts[item] + read.body.items[item].offsets[row] + trip * schedule.interval
            rows.setdefault(step, []).append(program.operations[loop.first + trip * loop.size + position].resolve())
    nop = (Expression("nop"),)
    return [Step(tuple(rows.get(step, nop))) for step in range(min(rows), max(rows) + 1)]


def memories_after(statements: list[Statement]) -> dict[Memory, np.ndarray]:
    """What a strict run leaves in the memories of the PEs, from fixed contents."""
    machine, random = Machine(), np.random.default_rng(3)
    for memory in PE_MEMORY:
        machine.poke(memory, 0, bits(random, SIZE))
    machine.run(statements)
    return {memory: machine.longs(memory).copy() for memory in PE_MEMORY}
