# pyright: reportOptionalMemberAccess=false, reportOptionalSubscript=false
"""The host's side: snapshots, single steps, traces, counters and time."""

import gc
import weakref
from pathlib import Path

import numpy as np
import pytest

from mnc.core.diagnostics import CompileError
from mnc.mncore_backend.assembly import parse_program
from mnc.mncore_backend.assembly.records import Memory
from mnc.mncore_backend.codegen.report.cost import cost_of
from mnc.mncore_backend.emulator import Machine
from mnc.mncore_backend.emulator.snapshot import Snapshot
from mnc.mncore_backend.emulator.state import longs_of, words_of
from mnc.mncore_backend.target import chip

from .harness import random_longs, run

PROGRAM = 'imm i"1" $lr0v\nnop/2\niadd $lr0v $lr0v $lm0v\nnop/2\nlpassa $lm0v $ls0v\nquit\nlpassa $lm0v $ls8v'


def test_words_and_longs_are_big_endian():
    longs = np.array([[0x0123456789ABCDEF, 2]], np.uint64)
    words = words_of(longs)
    assert [hex(w) for w in words[0]] == ["0x1234567", "0x89abcdef", "0x0", "0x2"]
    assert np.array_equal(longs_of(words), longs)


def test_single_steps_and_run_until():
    machine = Machine("strict")
    machine.load_text(PROGRAM)
    assert machine.step().line == 1
    assert machine.grf(0)[0, 0, 0, 0, 0] == 0x100000001
    assert machine.run_until(5).line == 5
    assert machine.lm(0)[0, 0, 0, 0, 0] == 0x200000002
    assert machine.run_until(lambda m: bool(m.grf(1).any())).line == 6
    machine.run()
    assert machine.next_statement is None
    assert machine.grf(1)[1, 0, 0, 0, 3] == 0x200000002
    assert not machine.grf(1)[..., 4:].any()
    assert machine.statistics.steps == 7
    assert machine.step() is None


def test_run_again_from_the_start_of_a_new_load():
    machine = Machine("strict")
    for _ in range(3):
        machine.run(PROGRAM)
    assert machine.statistics.steps == 21


def test_snapshot_restore_and_difference(tmp_path: Path):
    machine = Machine("strict")
    machine.poke(Memory.LM0, 0, random_longs((8, 8, 16, 4, 8)))
    machine.write_dram(3, 1 << 28, [1, 2, 3])
    machine.run("gmwrite $lm0v $lx0\ngmwrite $lm8v $lx4")
    before = machine.snapshot()
    machine.run('lpassa $lm0v $lr0v/1000\nimm i"4" $mb')
    machine.write_dram(3, (1 << 28) + 1, [7])
    machine.longs(Memory.PDM)[1, 5] = 9
    machine.l2bm()[6, 7] = 1
    lines = machine.compare(before, limit=20000)
    assert any(line.startswith("GRF0 n3c1b7m15p3 word 0:") for line in lines)
    assert f"DRAM n3 long {(1 << 28) + 1}: 0x{7:016x} / 0x{2:016x}" in lines
    assert f"PDM n1 long 5: 0x{9:016x} / 0x{0:016x}" in lines
    assert f"L2BM n3c0 long 7: 0x{1:016x} / 0x{0:016x}" in lines
    assert any("differences in all" in line for line in machine.compare(before, limit=3))
    before.save(tmp_path / "state.npz")
    machine.restore(Snapshot.load(tmp_path / "state.npz"))
    assert machine.compare(before) == []
    machine.run("lpassa $lm0v $lr0v\ngmread $lx0 $ls0v")
    (tmp_path / "bad.npz").write_bytes(b"PK\x03\x04 nonsense")
    with pytest.raises(CompileError, match="snapshot"):
        Snapshot.load(tmp_path / "bad.npz")


def test_trace_of_one_statement():
    machine = Machine("strict")
    machine.poke_words(Memory.GRF0, 0, np.arange(8, dtype=np.uint32))
    machine.load_text("iinc $lr0v $lm16v4")
    trace = machine.trace()
    read = next(a for a in trace.accesses if not a.write and a.memory is Memory.GRF0)
    write = next(a for a in trace.accesses if a.write and a.memory is Memory.LM0)
    assert read.addresses == ((0, 1), (2, 3), (4, 5), (6, 7))
    assert write.addresses == ((16, 17), (20, 21), (24, 25), (28, 29))
    assert read.values[5, 5, 5, 2].tolist() == list(range(8))
    assert write.values[5, 5, 5, 2].tolist() == list(range(1, 9))
    assert "write LM0" in trace.render()
    assert machine.trace() is None


def test_counters():
    machine = Machine("strict")
    machine.write_pdm(0, 0, np.arange(1024))
    machine.poke(Memory.LM0, 0, [0] * 8)
    machine.run(
        "mvnop\nmvp/n64i01 $p0@0 $lc0@0.0\nmvb/n64i02 $p0@0 $lc64\nnop; wait i02\nl2bmb $lc64 $lb0\n"
        "fvadd $lm0v $lm0v $lr0v; ipassa $lm0v $ls0v\nnop/3"
    )
    found = machine.statistics
    assert (found.steps, found.mv_lines, found.mv_transfers, found.score) == (6, 3, 2, 9)
    assert found.units == {"mv": 2, "nop": 4, "l2bm": 1, "mau": 1, "alu": 1}
    assert found.longs["PDM read by MV"] == 128
    assert found.longs["L2BM written by MV"] == 64 + 8 * 64
    assert found.longs["L1BM written by L2BM transfers"] == 64 * 64


def test_an_mv_that_moves_nothing_is_issued_like_another():
    """Isa 4: one MV every four steps, ``mvnop`` included."""
    text = "mvnop\nmvnop\nnop\nmvnop\nnop"
    machine = Machine("strict")
    machine.run(text)
    assert machine.statistics.cycles == 4 * (2 * chip().mv_issue_interval_steps + 1)
    assert machine.statistics.cycles == cost_of(parse_program(text)).cycles


def test_loads_and_stores_of_a_group_share_its_dram_port():
    """OPEN-38: their data phases follow each other, those of other groups do not wait."""
    for group, data in (0, 3 * 16), (1, 2 * 16 + chip().mv_issue_interval_steps):
        machine = Machine("strict")
        for number in range(2):
            machine.write_dram(number, 0, np.arange(2048))
        text = "mvp/n1024i01 $d0@0 $lc0@0.0\nnop; wait i01\nmvp/n1024 $lc0@0.0 $d2048@0\n"
        text += f"mvp/n1024 $d1024@{group} $lc4096@{group}.0"
        machine.run(text)
        assert machine.statistics.cycles == 4 * (2 * chip().mv_latency_steps + data + 1)
        assert machine.statistics.cycles == cost_of(parse_program(text)).cycles


def test_time_of_one_transfer():
    """OPEN-48: the latency plus the long words over the rate; a wait stalls until then."""
    machine = Machine("strict")
    machine.write_pdm(0, 0, np.arange(2048))
    machine.run("mvp/n1024i01 $p0@0 $lc0@0.0\nnop/10\nnop; wait i01")
    assert machine.statistics.cycles == 4 * (chip().mv_latency_steps + 1024 // 64 + 1)
    assert machine.statistics.stall_cycles == 4 * (chip().mv_latency_steps + 16 - 10)
    slow = Machine("strict")
    slow.write_pdm(0, 0, np.arange(2048))
    slow.run("mvp/n1024i01 $p0@0 $lc0@1.0\nnop; wait i01")
    assert slow.statistics.cycles == 4 * (chip().mv_latency_steps + 1024 // 32 + 1)


def test_transfers_share_ports_and_the_issue_interval():
    machine = Machine("strict")
    machine.write_pdm(0, 0, np.arange(2048))
    machine.write_pdm(1, 0, np.arange(2048))
    machine.run("mvp/n1024i01 $p0@0 $lc0@0.0\nmvp/n1024i02 $p0@0 $lc0@0.1\nmvp/n1024i03 $p0@1 $lc0@1.0\nnop; wait i02")
    issue = chip().mv_issue_interval_steps
    second = 16 + 16 + chip().mv_latency_steps
    assert machine.engine.timeline.in_flight[0].tag == 1 or machine.engine.timeline.in_flight[0].tag == 3
    assert machine.statistics.cycles == 4 * max(second + 1, 2 * issue + 16 + chip().mv_latency_steps)


def test_time_covers_transfers_nobody_waits_for():
    machine = Machine("strict")
    machine.write_pdm(0, 0, np.arange(64))
    machine.run("mvp/n64 $p0@0 $d0@0\nnop/3")
    assert machine.statistics.cycles == 4 * (chip().mv_latency_steps + 1)
    assert run("nop/3\nnop").statistics.cycles == 16


def test_determinism_over_threads():
    """One thread and two leave the same state."""
    text = "\n".join(f"fvfma $lm{8 * i}v $lr0v $lm{8 * i}v $ls{8 * i}v" for i in range(40))
    states = []
    for threads in (1, 2, 3):
        machine = Machine("strict", threads=threads)
        machine.poke(Memory.LM0, 0, random_longs((8, 8, 16, 4, 160)))
        machine.poke(Memory.GRF0, 0, random_longs((8, 8, 16, 4, 4), 3))
        machine.run(text)
        states.append(machine.snapshot())
    assert states[0].differences(states[1]) == states[0].differences(states[2]) == []


def test_a_machine_is_freed_with_its_last_reference():
    """Two hundred mebibytes must not wait for the cycle collector."""
    gc.collect()
    gc.disable()
    try:
        machine = Machine("strict", output=lambda line: None)
        machine.run(PROGRAM + "\nlpassa $lmt0v $ln0v")
        alive = weakref.ref(machine.engine)
        del machine
        assert alive() is None
    finally:
        gc.enable()


def test_running_leaves_no_reference_cycles():
    """Garbage collection rests while a program runs, so nothing may need it."""
    lines = []
    for i in range(300):
        source = f"$lr{8 * (i % 4)}v"
        lines.append(f"fvfma {source} $t {source} $ls{8 * (i % 8)}v; lpassa {source} $lm{8 * i}v")
    machine = Machine("vendor")
    machine.load_text("\n".join(lines))
    gc.collect()
    machine.run()
    assert gc.isenabled()
    assert gc.collect() < 100


def test_the_example_of_the_document_holds():
    text = (Path(__file__).parents[3] / "docs" / "emulator.md").read_text(encoding="utf-8")
    example = text.split("```python\n")[1].split("```")[0]
    assert "assert" in example
    exec(example, {})
