"""Small programs take no more cycles than they did: figures of benchmarks/results/ratchet.json."""

import pytest

from benchmarks.ratchet import ALLOWED, kept, programs
from mnc.report import report

pytestmark = pytest.mark.normal_effort

PROGRAMS = programs()


def test_every_program_has_a_figure() -> None:
    assert kept().keys() == PROGRAMS.keys()


@pytest.mark.parametrize("name", PROGRAMS)
def test_cycles_do_not_rise(name: str) -> None:
    cycles, most = report(PROGRAMS[name]())["total"]["cycles"], kept()[name]
    hint = "if that is worth it: python -m benchmarks.ratchet --write, and a word in the changelog"
    assert cycles <= most * ALLOWED, f"{name} took {most} cycles and takes {cycles} now; {hint}"
