"""Cost and its shares, on programs counted by hand and on random ones."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mnc.mncore_backend.assembly import parse_program
from mnc.mncore_backend.codegen.report.cost import cost_of, multiply_adds
from mnc.mncore_backend.codegen.report.ideal import Ideal
from mnc.mncore_backend.target import chip

TEXT = """
mvp/n640i01 $d0 $lc0@.0
nop/3
nop; wait i01
gmfma $lx $lr0v $ls0v $lr8v; ilsr $lm0v $ln0v $ls16v
fvadd $lr0v $ls0v $lr8v
mvp/n64i02 $lc0@1.0 $d640@2
"""
NODES = [["load"], [], [], ["Gemm", "Relu"], ["Add"], ["store"]]


def test_counts() -> None:
    cost = cost_of(parse_program(TEXT), NODES)
    assert (cost.steps, cost.idle_steps, cost.mv_transfers, cost.mau_steps) == (6, 4, 2, 2)
    assert cost.dram_read == 4 * 640 and cost.dram_written == 64
    assert cost.busiest_dram == 640 + 64
    assert cost.dram_long_words == 4 * 640 + 64
    assert cost.stall_cycles == 4 * (64 + 10 - 3)
    assert cost.cycles == 4 * (3 + 71 + 3 + 64 + 2)
    assert cost.padded_multiply_adds == 4096 * (64 + 8)


def test_limits_of_the_program() -> None:
    cost = cost_of(parse_program(TEXT), NODES)
    assert cost.compute_limit == 8
    assert cost.dram_limit == 704 / 16


def test_limits_of_the_model() -> None:
    """All four ports carry 64 long words a cycle."""
    ideal = Ideal(65536 * 30, 30.0, 64 * 40)
    assert (ideal.dram_cycles, ideal.cycles, ideal.bound) == (40, 40, "DRAM")
    assert ideal.share_of(80) == 0.5 and ideal.share_of(0) == 0
    assert Ideal(65536 * 50, 50.0, 64 * 40).bound == "compute"


def test_shares_of_nodes() -> None:
    """The three nops and the wait stand before the wait's data, which belong to "load", or before what works next."""
    cost = cost_of(parse_program(TEXT), NODES)
    nodes = {n.node: n for n in cost.nodes}
    assert (nodes["load"].idle_steps, nodes["load"].stall_cycles) == (3, 4 * (64 + 10 - 3))
    assert nodes["Gemm"].idle_steps == nodes["Relu"].idle_steps == nodes["Gemm"].steps == nodes["Relu"].steps == 0.5
    assert nodes["Add"].mau_steps == 1
    assert (nodes["load"].mv_transfers, nodes["load"].dram_long_words) == (1, 2560)
    (wait,) = nodes["load"].waits
    assert (wait.line, wait.transfer, wait.cycles) == (1, "mvp/n640i01 $d0 $lc0@.0", 284)
    assert nodes["store"].stall_cycles == 4 * (64 + 2), "the last transfer is waited for, too"
    assert sum(n.cycles for n in cost.nodes) == cost.cycles
    assert [n.node for n in cost.nodes] == ["load", "store", "Add", "Gemm", "Relu"]


_LINES = {
    "mvp/n640i{tag:02x} $d0 $lc0@.0": True,
    "mvp/n64i{tag:02x} $lc4096@1.0 $d640@2": True,
    "nop/5": False,
    "nop": False,
    "fvadd $lr0v $ls0v $lr8v": False,
    "gmfma $lx $lr0v $ls0v $lr8v; ilsr $lm0v $ln0v $ls16v": False,
}


@st.composite
def _programs(draw):
    """Steps, transfers and waits in any order, each with some names, nops with some as well."""
    lines, names, running = [], [], []
    for text in draw(st.lists(st.sampled_from([*_LINES, "wait"]), min_size=1, max_size=30)):
        if text == "wait":
            if not running:
                continue
            waited = f"wait i{running.pop(draw(st.integers(0, len(running) - 1))):02x}"
            lines.append(draw(st.sampled_from([f"nop; {waited}", f"fvadd $lr0v $ls0v $lr8v; {waited}"])))
        elif _LINES[text]:
            running.append(len(lines) + 1)
            lines.append(text.format(tag=len(lines) + 1))
        else:
            lines.append(text)
        names.append(draw(st.frozensets(st.sampled_from("abc"))))
    return "\n".join(lines), names


@settings(max_examples=300, deadline=None)
@given(_programs())
def test_every_cycle_belongs_to_a_node(program) -> None:
    text, names = program
    cost = cost_of(parse_program(text), names)
    assert sum(node.cycles for node in cost.nodes) == pytest.approx(cost.cycles)
    assert sum(node.steps + node.idle_steps for node in cost.nodes) == pytest.approx(cost.steps)
    assert sum(node.idle_steps for node in cost.nodes) == pytest.approx(cost.idle_steps)
    for node in cost.nodes:
        assert sum(wait.cycles for wait in node.waits) == pytest.approx(node.stall_cycles)
        assert all(names[wait.line - 1] == frozenset() or node.node in names[wait.line - 1] for wait in node.waits)


@settings(max_examples=300, deadline=None)
@given(_programs())
def test_no_program_is_faster_than_its_dram_ports(program) -> None:
    """Loads and stores of a group together move 16 long words a cycle (OPEN-38)."""
    text, names = program
    cost = cost_of(parse_program(text), names)
    assert cost.cycles >= cost.busiest_dram / chip().dram_port_longs_per_cycle


def test_multiply_adds_per_precision() -> None:
    """256 per MAB and step in pseudo-single, four times as many in half."""
    assert multiply_adds("gmmul") == 1024 * 256
    assert multiply_adds("hmfma") == 4 * multiply_adds("gmfma")
    assert multiply_adds("fvfma") == 4096 * 8
    assert multiply_adds("iadd") == multiply_adds("l1bmd") == 0
