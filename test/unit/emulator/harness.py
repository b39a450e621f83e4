"""Helpers of the emulator tests."""

import numpy as np
import pytest
from numpy.typing import NDArray

from mnc.mncore_backend.assembly.records import Memory
from mnc.mncore_backend.emulator import EmulationError, Machine

PE_MEMORIES = (Memory.LM0, Memory.LM1, Memory.GRF0, Memory.GRF1)


def random_longs(shape: tuple[int, ...], seed: int = 0) -> NDArray[np.uint64]:
    """Uniform 64-bit patterns."""
    return np.random.default_rng(seed).integers(0, 1 << 64, shape, dtype=np.uint64)


def pattern(memory: Memory, machine: Machine, count: int, seed: int = 0) -> NDArray[np.uint64]:
    """Fill the first `count` long words of every instance of a memory with random bits and return them."""
    values = random_longs((*machine.longs(memory).shape[:-1], count), seed)
    machine.poke(memory, 0, values)
    return values


def singles(machine: Machine, memory: Memory, address: int, count: int) -> NDArray[np.float32]:
    """32-bit words of a PE memory read as floats, [8, 8, 16, 4, count]."""
    return machine.peek_words(memory, address, count).view(np.float32)


def run(text: str, mode: str = "strict") -> Machine:
    """A fresh machine after a program."""
    machine = Machine(mode)
    machine.run(text)
    return machine


def refused(machine: Machine, text: str, rule: str) -> EmulationError:
    """The error a program must end with."""
    with pytest.raises(EmulationError) as caught:
        machine.run(text)
    assert caught.value.rule == rule, str(caught.value)
    return caught.value
