"""Parts of an MV bring what it brings, for every form that is cut."""

import numpy as np
import pytest
from numpy.typing import NDArray

from mnc.mncore_backend.assembly import print_statement
from mnc.mncore_backend.assembly.records import Memory, Transfer
from mnc.mncore_backend.codegen.program_ir import Unit
from mnc.mncore_backend.codegen.split_transfers import MOST, SCATTERS, SHORTEST, SplitTransfers
from mnc.mncore_backend.emulator import Machine
from mnc.mncore_backend.program import Buffer, BufferOperand, MachineOp, Program
from mnc.mncore_backend.target import CYCLES_PER_STEP, MvForm, Shape, chip

SIZES = 64, 960, 1024, 2048, 3136, 8192
MEMORY = {
    Shape.PDM_ONE: Memory.PDM, Shape.PDM_ALL: Memory.PDM, Shape.DRAM_ONE: Memory.DRAM, Shape.DRAM_ALL: Memory.DRAM,
}  # fmt: skip
WHERE: dict[Shape, tuple[int | None, int | None]] = {
    Shape.PDM_ONE: (1, None), Shape.DRAM_ONE: (1, None), Shape.L2BM_ONE: (1, 1), Shape.L2BM_EACH: (None, 1)
}  # fmt: skip
"""Group and L2B that an operand names."""
FORMS = [form for form in chip().mv_forms if form.opcode != SCATTERS]


def _random(shape: tuple[int, ...], seed: int) -> NDArray[np.uint64]:
    """Long words of ordinary floats."""
    return np.random.default_rng(seed).integers(0, 1 << 63, shape, dtype=np.uint64) & np.uint64(0x3FFFFFFF3FFFFFFF)


def _operand(shape: Shape, base: int) -> BufferOperand:
    memory = MEMORY.get(shape, Memory.L2BM)
    buffer = Buffer(f"{memory.name}{base}", 8192, (memory,))
    buffer.memory, buffer.base = memory, base
    group, l2b = WHERE.get(shape, (None, None))
    return BufferOperand(buffer, (0,), 2, group=group, l2b=l2b)


def _transfer(form: MvForm, size: int) -> MachineOp:
    opcode = form.opcode + "ffadd" if form.opcode.startswith("mvr") else form.opcode
    return MachineOp(opcode, (_operand(form.source, 0),), (_operand(form.destination, 8192),), size=size)


def _parts(op: MachineOp) -> list[MachineOp]:
    unit = Unit(None, Program([], [op]))
    SplitTransfers().run_on(unit)
    assert unit.is_rewritten == (len(unit.program.operations) > 1)
    return unit.program.operations


def _text(op: MachineOp) -> str:
    source, destination = (o.resolve() for o in (*op.sources, *op.destinations) if isinstance(o, BufferOperand))
    return print_statement(Transfer(op.opcode, op.size, source, destination))


def _after(texts: list[str]) -> list[NDArray[np.uint64]]:
    """DRAM, PDM and L2BM."""
    machine, count = Machine("strict"), 16384
    for group in range(4):
        machine.write_dram(group, 0, _random((count,), group))
        machine.write_pdm(group, 0, _random((count,), 4 + group))
    machine.poke(Memory.L2BM, 0, _random((8, count), 8))
    machine.run("\n".join(texts))
    upper = [read(g, 0, count) for read in (machine.read_dram, machine.read_pdm) for g in range(4)]
    return [*upper, machine.l2bm()[:, :count].copy()]


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.identifier)
def test_parts_bring_the_same(form: MvForm, size: int) -> None:
    whole = _transfer(form, size)
    parts = _parts(whole)
    before, after = _after([_text(whole)]), _after([_text(part) for part in parts])
    assert all(np.array_equal(one, other) for one, other in zip(before, after, strict=True))
    assert sum(part.size for part in parts) == size
    if len(parts) > 1:
        assert len(parts) <= MOST
        steps = form.data_cycles(size) / CYCLES_PER_STEP
        assert steps / len(parts) >= SHORTEST


def test_long_ones_are_cut_and_others_are_not() -> None:
    forms = {form.identifier: form for form in chip().mv_forms}
    assert len(_parts(_transfer(forms["P3"], 8192))) == MOST
    assert len(_parts(_transfer(forms["P3"], 2 * SHORTEST * CYCLES_PER_STEP * 16))) == 2
    assert len(_parts(_transfer(forms["P3"], 2 * SHORTEST * CYCLES_PER_STEP * 16 - 64))) == 1
    assert len(_parts(_transfer(forms["P3"], 8192 - 8))) == 1
    assert all(len(_parts(_transfer(forms[name], 8192))) == 1 for name in ("D1", "D2", "D3", "D4"))
