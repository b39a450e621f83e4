"""Cost and roofline on programs counted by hand."""

import pytest

from mnc.mncore_backend.assembly import parse_program
from mnc.mncore_backend.cost import DRAM_LONGS_PER_CYCLE, IDLE, cost_of, multiply_adds

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
    assert cost.multiply_adds == 4096 * (64 + 8)


def test_roofline() -> None:
    cost = cost_of(parse_program(TEXT), NODES)
    assert cost.compute_limit == 8
    assert cost.dram_limit == pytest.approx(704 / DRAM_LONGS_PER_CYCLE)
    assert cost.bound == "DRAM" and cost.roofline == cost.dram_limit
    assert cost.utilisation == pytest.approx(cost.roofline / cost.cycles)
    assert cost.as_dict()["bound"] == "DRAM"


def test_shares_of_nodes() -> None:
    nodes = {n.node: n for n in cost_of(parse_program(TEXT), NODES).nodes}
    assert nodes[IDLE].steps == 4
    assert nodes["Gemm"].steps == nodes["Relu"].steps == 0.5
    assert nodes["Add"].mau_steps == 1
    assert (nodes["load"].mv_transfers, nodes["load"].dram_long_words) == (1, 2560)
    assert sum(n.steps for n in nodes.values()) == 6


def test_multiply_adds_per_precision() -> None:
    """256 per MAB and step in pseudo-single, four times as many in half."""
    assert multiply_adds("gmmul") == 1024 * 256
    assert multiply_adds("hmfma") == 4 * multiply_adds("gmfma")
    assert multiply_adds("fvfma") == 4096 * 8
    assert multiply_adds("iadd") == multiply_adds("l1bmd") == 0
