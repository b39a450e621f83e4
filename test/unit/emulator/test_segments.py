"""Segments of kernel calls: how long they are does not change what a program leaves behind."""

import random

import numpy as np
import pytest

from mnc.mncore_backend.assembly.parser import parse_program
from mnc.mncore_backend.assembly.records import Memory
from mnc.mncore_backend.emulator import Machine, kernels, table_runner
from mnc.mncore_backend.emulator.snapshot import Snapshot

from .harness import random_longs


def program(steps: int, seed: int) -> str:
    """Steps that use what earlier ones wrote, between PEs, L1BM and L2BM too."""
    rng, lines = random.Random(seed), []
    for _ in range(steps):
        a, b = (8 * rng.randrange(6) for _ in range(2))
        lines.append(
            rng.choice(
                [
                    f"iadd $lm{a}v $lr{b}v $ln{a}v",
                    f"ixor $ln{a}v $lr{b}v $ls{b}v",
                    f"lpassa $ls{b}v $lm{a}v",
                    f"l1bmriiadd $lm{a}v $lb{16 * rng.randrange(4)}\nnop/3\nl1bmm $lb0 $lr{b}v",
                    f"l2bmb $lc{64 * rng.randrange(4)} $lb0\nnop/4\nl2bmriiadd $lb0 $lc{64 * rng.randrange(4)}\nnop/4",
                ]
            )
        )
        lines.append("nop/3")
    return "\n".join(lines)


def left_behind(text: str, threads: int) -> Snapshot:
    """All memories after a program."""
    machine = Machine("strict", threads=threads)
    for memory in (Memory.LM0, Memory.LM1, Memory.GRF0, Memory.GRF1):
        machine.poke(memory, 0, random_longs((8, 8, 16, 4, 64), memory.value.encode()[0]))
    machine.poke(Memory.L1BM, 0, random_longs((8, 8, 1024), 1))
    machine.poke(Memory.L2BM, 0, random_longs((8, 1024), 2))
    machine.run(text)
    return machine.snapshot()


def lengths(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Collects the length of every segment that the first blocks go through."""
    found, run_table = [], kernels.run_table

    def watch(table: np.ndarray, first: int, last: int) -> None:
        if first == 0:
            found.append(len(table))
        run_table(table, first, last)

    monkeypatch.setattr(kernels, "run_table", watch)
    return found


@pytest.mark.parametrize("threads", [1, 2])
def test_segments_of_any_length_leave_the_same(threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    text = program(150, seed=5)
    wanted = left_behind(text, 1)
    monkeypatch.setattr(table_runner, "FIRST_SEGMENT", 32)
    monkeypatch.setattr(table_runner, "LARGEST_SEGMENT", 64)
    found = lengths(monkeypatch)
    assert wanted.differences(left_behind(text, threads)) == []
    assert max(found) <= 64 + table_runner.SMALLEST_SHARED_TABLE


def test_segments_grow_and_start_again_behind_a_flush(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table_runner, "FIRST_SEGMENT", 32)
    monkeypatch.setattr(table_runner, "LARGEST_SEGMENT", 300)
    monkeypatch.setattr(table_runner, "NEW", 1)
    found = lengths(monkeypatch)
    machine = Machine("vendor", threads=1)
    machine.run("\n".join(["lpassa $lm0v $lr0v"] * 600))
    assert len(set(found[2:-1])) == 1  # they grow up to the largest
    assert found[:2] == [32, 128]
    assert found[2] == 300
    found.clear()
    machine.run("\n".join(["lpassa $lm0v $lr0v"] * 40))
    assert found[0] == 32


def test_new_steps_are_handed_over_sooner(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table_runner, "FIRST_SEGMENT", 20 * table_runner.NEW)
    found = lengths(monkeypatch)
    machine = Machine("vendor", threads=1)
    statements = parse_program("\n".join(f"lpassa $lm{2 * i}v $lr0v" for i in range(50)))
    machine.run(statements)
    assert found[0] == 20
    found.clear()
    machine.run(statements)
    assert len(found) == 1
