"""Kernels that store to the destination themselves: only where nothing else of the step touches that memory."""

import numpy as np
import pytest

from mnc.mncore_backend.assembly.records import Memory
from mnc.mncore_backend.emulator import Machine, plan
from mnc.mncore_backend.emulator.merged_stores import store_at_once
from mnc.mncore_backend.emulator.plan import Call, Calls
from mnc.mncore_backend.emulator.snapshot import Snapshot

MERGED = {  # stores that kernels do at once
    "fvfma $lm0v $lr0v $lm0v $ls8v": 1,
    "fvfma $lm0v $lr0v $lm0v $ls8v $ln0v": 1,
    "gmfma $lx $lr0v $lm0v $ls0v": 1,
    "iadd $lm0v $lr0v $ln8v": 1,
    "hvfma $lm0v $lr0v $llm8v $lln0v": 1,
    "hvfma $lm0v $lr0v $llm8v $lln[0,4,0,4]": 1,
    "l1bmd $lb0 $ln0v": 1,
    "l1bmm $lb0 $ls0v": 1,
    "iadd $lm0v $ln0v $lr8v; fvmul $lm0v $ln0v $ls0v": 2,
    "gmread $lx0 $ls0v": 1,
    "gbfn $lm0v $lr0v": 1,
    "lpassa $llm0v $lln0v": 2,
    "ladd $lr0v $ls0v $lr2v": 0,  # a cycle would read what the one before has written
    "iinc $lm0v $lm0v": 0,
    "iadd $lm0v $ln0v $lr8v; fvmul $lr8v $ln0v $ls0v": 1,
    "fvmul $lr8v $ln0v $ls0v; iadd $lm0v $ln0v $lr8v": 2,
    "gmwrite $lr0v $lx0; linc $ln0v $lr0v": 0,
    "l1bmrffadd $lr0v $lb4096; linc $ln0v $lr2v": 1,
    "linc $ln0v $lr2v; l1bmrffadd $lr0v $lb4096": 0,
    "linc $ln0v $lr2v; fvmul $lm0v $ln0v $lr0v": 2,
    "linc $ln0v $lr2v/1010; fvmul $lm0v $ln0v $lr0v": 0,
    "ipassa $m0v $n0v": 0,
    "linc $lm0v $lr0v/$imr1": 0,
    "linc $lm0v $lr0v/1010": 0,
    "linc/1100 $lm0v $lr0v": 0,
}


def left_behind(text: str) -> Snapshot:
    """All memories after a step on a machine full of data."""
    machine = Machine("vendor", threads=1)
    rng = np.random.default_rng(0)
    for memory in (Memory.LM0, Memory.LM1, Memory.GRF0, Memory.GRF1):
        words = rng.integers(0, 1 << 16, (8, 8, 16, 4, 64), dtype=np.uint32) << np.uint32(5) | np.uint32(0x3F800000)
        machine.poke_words(memory, 0, words)
    machine.poke(Memory.L1BM, 0, rng.integers(0, 1 << 62, (8, 8, 8192), dtype=np.uint64))
    machine.run(f"gmwrite $lr0v $lx0\ngmwrite $lr8v $lx4\nipassa $lr0v $omr1\nnop/4\n{text}\nnop/4")
    return machine.snapshot()


@pytest.mark.parametrize(("text", "wanted"), MERGED.items())
def test_results_are_the_same(text: str, wanted: int, monkeypatch: pytest.MonkeyPatch) -> None:
    merged: list[int] = []

    def watch(base: int, compute: Calls, carries: Calls, stores: Calls) -> tuple[list[Call], list[Call]]:
        found = store_at_once(base, compute, carries, stores)
        merged.append(len(stores) - len(found[1]))
        return found

    monkeypatch.setattr(plan, "store_at_once", watch)
    found = left_behind(text)
    assert merged[-1] == wanted
    monkeypatch.setattr(plan, "store_at_once", lambda base, compute, carries, stores: (compute, stores))
    assert found.differences(left_behind(text)) == []
