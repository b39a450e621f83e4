"""A fixed part of ``onnx.backend.test`` that fits continuous integration: every passing test of a fixed sample.

The sample is every sixth test by name; a test that passed in the recorded results must pass again.
"""

import json
import sys
import warnings
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from cases import all_cases
from outcomes import PASSED, WRONG, run_case
from run import RESULTS

STRIDE, SLOWEST = 6, 20_000  # every sixth test; machine steps of the longest one that is repeated


def _recorded() -> dict[str, dict[str, object]]:
    return {entry["name"]: entry for entry in json.loads(RESULTS.read_text())}


def _sample() -> list[str]:
    recorded = _recorded()
    names = sorted(name for name, entry in recorded.items() if entry["verdict"] == PASSED)
    return [name for name in names[::STRIDE] if int(str(recorded[name]["steps"])) <= SLOWEST]


@pytest.mark.parametrize("name", _sample())
def test_passes_again(name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        outcome = run_case(all_cases()[name])
    assert outcome.verdict == PASSED, outcome.reason


def test_no_wrong_number_is_recorded() -> None:
    """A wrong number is a mistake of the compiler, never a limit of it."""
    assert [e["name"] for e in _recorded().values() if e["verdict"] == WRONG] == []


def test_results_cover_the_suite() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert set(_recorded()) == set(all_cases())
