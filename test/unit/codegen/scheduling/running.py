"""Programs on the emulator, and every memory they leave behind."""

import numpy as np
from numpy.typing import NDArray

from mnc.mncore_backend.assembly.records import Memory, Statement
from mnc.mncore_backend.emulator import Machine, Statistics

from .programs import ProgramMaker

COMPARED = (
    Memory.LM0,
    Memory.LM1,
    Memory.GRF0,
    Memory.GRF1,
    Memory.T,
    Memory.MATRIX_X,
    Memory.MATRIX_Y,
    Memory.L1BM,
    Memory.L2BM,
)


def bits(random: np.random.Generator, count: int) -> NDArray[np.uint64]:
    """Long words of ordinary floats."""
    pattern = np.uint64(0x3FFFFFFF3FFFFFFF)
    return random.integers(0, 1 << 63, count, dtype=np.uint64) & pattern


def run(statements: list[Statement], maker: ProgramMaker) -> tuple[dict[str, NDArray], Statistics]:
    """Strict run with fixed inputs; the final state."""
    machine, random = Machine(), np.random.default_rng(7)
    assert maker.dram.base is not None and maker.results.base is not None
    for group in range(4):
        machine.write_dram(group, maker.dram.base, bits(random, maker.dram.size))
    for buffer in maker.inputs:
        assert buffer.memory is not None and buffer.base is not None
        machine.poke(buffer.memory, buffer.base, bits(random, buffer.size))
    statistics = machine.run(statements)
    state: dict[str, NDArray] = {memory.name: machine.longs(memory).copy() for memory in COMPARED}
    state["MASK"] = machine.masks().copy()
    for group in range(4):
        state[f"DRAM{group}"] = machine.read_dram(group, maker.results.base, maker.results.size)
    return state, statistics
