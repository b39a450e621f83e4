"""The table of transfers against the emulator: one instruction each, every long word followed."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from mnc.mncore_backend.assembly.records import Memory
from mnc.mncore_backend.emulator import Machine
from mnc.mncore_backend.movement.transfers import (
    Form,
    distinct_l1bs,
    every_l1b,
    pe_families,
)

PE_FORMS = [form for family in pe_families() for form in (family.short, family.long) if form is not None]


def offset(form: Form, coordinates: Mapping[Any, np.ndarray]) -> np.ndarray:
    """Offset in the upper block that the fields of a form give."""
    total = np.zeros((), np.int64)
    for name, size in form.fields:
        total = total * size + coordinates[name]
    return total


@pytest.mark.parametrize("form", PE_FORMS, ids=lambda f: f.opcode + ("-2" if f.two_long else ""))
def test_down(form: Form) -> None:
    machine = Machine()
    ids = np.arange(64)[:, None] * 1000 + np.arange(form.block)
    machine.poke(Memory.L1BM, 256, ids.reshape(8, 8, -1))
    wide = "ll" if form.two_long else "l"
    machine.run(f"{form.opcode} ${wide}b256 ${wide}m0v")
    longs = 8 if form.two_long else 4
    found = machine.peek(Memory.LM0, 0, longs).reshape(64, 4, 4, 4, 4, -1)
    names = dict(zip(("q", "r", "p", "c", "h"), np.ogrid[:4, :4, :4, :4, : longs // 4], strict=True))
    expected = np.broadcast_to(offset(form, names), (4, 4, 4, 4, longs // 4))
    assert (found == np.arange(64).reshape(64, 1, 1, 1, 1, 1) * 1000 + expected).all()


@pytest.mark.parametrize(
    "form", [f for f in PE_FORMS if f.up is not None], ids=lambda f: f.opcode + ("-2" if f.two_long else "")
)
@pytest.mark.parametrize("copy", [0, 3])
def test_up(form: Form, copy: int) -> None:
    machine = Machine()
    longs = 8 if form.two_long else 4
    machine.poke(Memory.LM0, 0, np.arange(4096 * longs).reshape(8, 8, 16, 4, longs))
    wide = "ll" if form.two_long else "l"
    assert form.up is not None
    opcode = f"{form.up}{copy}" if form.up.endswith("@") else form.up
    machine.run(f"{opcode} ${wide}m0v ${wide}b256")
    found = machine.peek(Memory.L1BM, 256, form.block).reshape(64, *(size for _, size in form.fields))
    grid = dict(zip(form.names, np.ogrid[tuple(slice(n) for _, n in form.fields)], strict=True))
    chosen = {"q": 0, "r": copy if form.opcode == "l1bmm4" else 0, "p": 0, "c": 0, "h": 0, **grid}
    mab = 4 * chosen["q"] + chosen["r"] if form.opcode != "l1bmm" else copy
    inside = chosen["c"] * (longs // 4) + chosen["h"]
    expected = ((np.arange(64).reshape(-1, *(1,) * len(grid)) * 16 + mab) * 4 + chosen["p"]) * longs + inside
    assert (found == expected).all()


def test_l2bm_down() -> None:
    machine = Machine()
    machine.poke(Memory.L2BM, 256, np.arange(8)[:, None] * 1000 + np.arange(256))
    machine.run("l2bmd $lc256 $lb0\nnop/4\nl2bmb $lc256 $lb256")
    names = dict(zip(("b", "c", "j"), np.ogrid[:8, :4, :8], strict=True))
    expected = np.arange(8).reshape(8, 1, 1, 1) * 1000 + offset(distinct_l1bs(), names)
    assert (machine.peek(Memory.L1BM, 0, 32).reshape(8, 8, 4, 8) == expected).all()
    plain = np.arange(8).reshape(8, 1, 1) * 1000 + np.arange(every_l1b().block)
    assert (machine.peek(Memory.L1BM, 256, 64) == plain).all()
