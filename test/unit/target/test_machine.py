"""The hardware table is consistent with itself and with published figures."""

import math

import pytest

from mnc.mncore_backend.assembly.records import Memory
from mnc.mncore_backend.target import chip, instruction_set


def test_totals_multiply_along_the_hierarchy() -> None:
    assert math.prod(level.count for level in chip().levels) == chip().levels[-1].total == chip().pes == 4096
    for parent, child in zip(chip().levels, chip().levels[1:], strict=False):
        assert child.total == parent.total * child.count


@pytest.mark.parametrize(
    ("memory", "longs", "total"),
    [
        (Memory.LM0, 2048, 64 << 20),
        (Memory.GRF0, 256, 8 << 20),
        (Memory.L1BM, 8192, 4 << 20),
        (Memory.L2BM, 32768, 2 << 20),
        (Memory.PDM, 524288, 16 << 20),
        (Memory.DRAM, 1 << 29, 16 << 30),
    ],
)
def test_capacities(memory: Memory, longs: int, total: int) -> None:
    facts = chip().memories[memory]
    assert (facts.longs, facts.total_bytes) == (longs, total)


def test_peaks() -> None:
    assert [chip().peak_flops(p) / 1e12 for p in "dfgh"] == [12.288, 49.152, 98.304, 393.216]


def test_data_phase_of_an_mv_is_that_of_its_slower_side() -> None:
    forms = {f.identifier: f for f in chip().mv_forms}
    assert forms["P3"].data_cycles(64) == 4
    assert forms["P3"].data_cycles(64, same_group=False) == 8
    assert forms["R2"].data_cycles(64) == 2
    assert forms["D1"].data_cycles(64) == 64


def test_every_number_has_a_source() -> None:
    for facts in (
        *chip().levels,
        *chip().memories.values(),
        *chip().hazards.values(),
        *chip().l2bm_families.values(),
    ):
        assert facts.source
    assert all(form.origin for form in chip().mv_forms)


def test_an_assumption_names_a_constant() -> None:
    for assumption in chip().assumptions:
        assert hasattr(chip(), assumption.constant) or hasattr(instruction_set, assumption.constant)
        assert assumption.identifier.startswith("OPEN-")
