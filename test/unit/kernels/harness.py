"""Runs kernels on the emulator, allocated and scheduled, on different data in every processing element."""

import struct
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from mnc.mncore_backend.assembly.records import Memory
from mnc.mncore_backend.codegen.allocation import allocate
from mnc.mncore_backend.codegen.scheduling import schedule
from mnc.mncore_backend.emulator import Machine
from mnc.mncore_backend.kernels.vector import Access, Body, Output, Scalar, VectorKernel, emit_vector
from mnc.mncore_backend.program import LOCAL_MEMORY, Buffer, BufferOperand, Builder, MachineOp, Program

PES = (8, 8, 16, 4)
PE_COUNT = 4096


class Bench:
    """A program under construction and the machine it will run on. Some buffers have a memory, drawn at random, and
    some long words behind their elements."""

    def __init__(self, seed: int = 0) -> None:
        self.random = np.random.default_rng(seed)
        self.program = Program()
        self.builder = Builder(self.program)
        self.machine = Machine("strict")
        self._contents: list[tuple[Buffer, NDArray[np.uint32]]] = []

    def buffer(self, size: int, contents: NDArray | None = None, name: str = "data") -> Buffer:
        """A local-memory buffer; `contents` are words [4096, 2 * size]."""
        made = self.program.buffer(name, size, LOCAL_MEMORY, pinned=True, spare=int(self.random.integers(4)))
        pick = int(self.random.integers(4))
        if pick < 2:  # else left to allocation: kernels must not depend on where a buffer will be
            made.memory = LOCAL_MEMORY[pick]
        if contents is not None:
            self._contents.append((made, np.ascontiguousarray(contents).view(np.uint32).reshape(PE_COUNT, 2 * size)))
        return made

    def run(self) -> None:
        for operation in self.program.operations:
            check_ports(operation)
        allocate(self.program)
        for buffer, words in self._contents:
            assert buffer.memory is not None and buffer.base is not None
            self.machine.poke_words(buffer.memory, 2 * buffer.base, words.reshape(*PES, -1))
        self.schedule = schedule(self.program)
        self.machine.run(self.schedule.statements)

    def words(self, buffer: Buffer) -> NDArray[np.uint32]:
        """Words of a buffer after the run, [4096, 2 * size]."""
        assert buffer.memory is not None and buffer.base is not None
        return self.machine.peek_words(buffer.memory, 2 * buffer.base, 2 * buffer.used).reshape(PE_COUNT, -1)


def possible(operand: BufferOperand) -> set[Memory]:
    buffer = operand.buffer
    return set(buffer.choices) if buffer.memory is None else {buffer.memory}


def check_ports(operation: MachineOp) -> None:
    """An operation is legal wherever allocation puts its buffers: different long words it reads, and local memory it
    reads and writes, can never meet in one memory (SDM 3.6.4)."""
    reads = [o for o in operation.sources if isinstance(o, BufferOperand)]
    writes = [o for o in operation.destinations if isinstance(o, BufferOperand)]
    for i, first in enumerate(reads):
        for second in reads[i + 1 :]:
            same = first.buffer is second.buffer and first.offsets == second.offsets
            assert same or not possible(first) & possible(second), operation
        for written in writes:
            same = first.buffer is written.buffer and first.offsets == written.offsets
            meet = possible(first) & possible(written) & set(LOCAL_MEMORY)
            assert same or not meet, operation
    for i, first in enumerate(writes):
        assert not any(possible(first) & possible(o) for o in writes[i + 1 :]), operation
        assert operation.opcode != "imm" or Memory.LM0 not in possible(first)


def apply(
    function: Callable[..., Scalar],
    *arguments: NDArray,
    types: Sequence[str] = (),
    result: type = np.float32,
    seed: int = 0,
) -> NDArray:
    """Value of a scalar function, given as ``function(body, *scalars)``, on flat arrays of 32-bit values."""
    count = len(arguments[0])
    longs = -(-count // (2 * PE_COUNT))
    bench, body = Bench(seed), Body()
    inputs, scalars = [], []
    for number, argument in enumerate(arguments):
        words = np.resize(np.ascontiguousarray(argument).view(np.uint32), 2 * PE_COUNT * longs)
        inputs.append(Access(bench.buffer(longs, words.reshape(PE_COUNT, -1)), np.arange(longs)))
        scalars.append(body.input(types[number] if types else "f32"))
    target = bench.buffer(longs, name="result")
    output = Output(Access(target, np.arange(longs)), function(body, *scalars))
    emit_vector(bench.builder, VectorKernel(longs, tuple(inputs), body, (output,)))
    bench.run()
    return bench.words(target).reshape(-1)[:count].view(result)


def ulp_error(result: NDArray, reference: NDArray) -> NDArray[np.float64]:
    """abs(result - reference) in units of the last place of the reference, which is float64 and normal in single."""
    place = np.spacing(np.abs(reference).astype(np.float32)).astype(np.float64)
    return np.abs(result.astype(np.float64) - reference) / place


def random_singles(random: np.random.Generator, count: int, low: float = 2.0**-126, high: float = 3.4e38) -> NDArray:
    """Positive singles, uniform in their exponent."""
    first, last = (struct.unpack("<I", struct.pack("<f", value))[0] for value in (low, high))
    return random.integers(first, last, count).astype(np.uint32).view(np.float32)
