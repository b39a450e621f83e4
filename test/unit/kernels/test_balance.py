"""Memories of constants and registers: trips become shorter, and what was legal stays so."""

import numpy as np
import pytest

from mnc.mncore_backend.assembly.records import Memory
from mnc.mncore_backend.codegen.allocation import allocate
from mnc.mncore_backend.codegen.scheduling import schedule
from mnc.mncore_backend.kernels.math.micro import Instruction, Value
from mnc.mncore_backend.kernels.vector import Access, Body, Output, VectorKernel, emit_vector
from mnc.mncore_backend.kernels.vector.balance import balanced
from mnc.mncore_backend.kernels.vector.placed import Place, Placed, Unit
from mnc.mncore_backend.program import LOCAL_MEMORY, Builder, Program

EITHER = frozenset(LOCAL_MEMORY)


def product(number: int, constant: Memory, register: Memory, *, source: Place | None = None) -> Unit:
    """register := source * constant."""
    source = source or Place("input", 0)
    instruction = Instruction("fvmul", (Value("input", 0), Value("constant", number)), number)
    places = (source, Place("constant", number, constant))
    return [Placed(instruction, places, [Place("register", number, register)])]


def copy(number: int, memory: Memory) -> Unit:
    """Store a register by the ALU."""
    instruction = Instruction("ipassa", (Value("register", number),))
    return [Placed(instruction, (Place("register", number, memory),), [Place("output", 0)])]


def test_ports_of_one_file_are_relieved() -> None:
    """Two products and two stores fit in two steps, but not if GRF0 has all registers and constants."""
    units = [
        *(product(n, Memory.GRF0, Memory.GRF0, source=Place("latch", 0, Memory.MAUF)) for n in range(2)),
        *(copy(n, Memory.GRF0) for n in range(2)),
    ]
    moved, (steps, _) = balanced(units, (), (frozenset([Memory.LM0]),))
    assert steps == 2 * 2  # of both tables
    assert [[p.instruction for p in unit] for unit in moved] == [[p.instruction for p in unit] for unit in units]
    assert any(place.memory is not Memory.GRF0 for unit in moved for p in unit for place in p.sources)


def test_a_constant_never_meets_an_open_input() -> None:
    """The input may come to be in either local memory, so that neither can have the constant."""
    units = [product(n, Memory.GRF0, Memory.GRF0) for n in range(3)]
    moved, _ = balanced(units, (EITHER,), ())
    assert all(p.sources[1].memory not in LOCAL_MEMORY for unit in moved for p in unit)


def test_what_cannot_be_shorter_stays() -> None:
    units = [product(n, Memory.GRF0, Memory.GRF1) for n in range(3)]
    moved, (steps, _) = balanced(units, (EITHER,), ())
    assert steps == 2 * 3
    assert [[p.sources for p in unit] for unit in moved] == [[p.sources for p in unit] for unit in units]


def steps_of(name: str, longs: int) -> int:
    """Of a function of so many long words per PE, in buffers that allocation places."""
    program, body = Program(), Body()
    reads, writes = (
        Access(program.buffer(which, longs, LOCAL_MEMORY, pinned=True), np.arange(longs)) for which in "xy"
    )
    result = body.op(name, body.input())
    emit_vector(Builder(program), VectorKernel(longs, (reads,), body, (Output(writes, result),)))
    allocate(program)
    return schedule(program).steps


@pytest.mark.parametrize(("name", "most"), [("exp", 11), ("log", 17.5), ("log1p", 21.5)])
def test_steady_state(name: str, most: float) -> None:
    """Steps per four long words. Without the search they are 15, 19.3 and 23.6."""
    assert (steps_of(name, 192) - steps_of(name, 96)) / 24 <= most
