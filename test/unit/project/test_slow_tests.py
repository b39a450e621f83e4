"""The list of slow tests names tests that there are, and `--fast` leaves these out, and cases of long ones."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
LIST = ROOT / "test" / "slow_tests.txt"


def test_slow_tests_exist() -> None:
    for entry in LIST.read_text().split():
        path, _, test = entry.partition("::")
        assert f"def {test}(" in (ROOT / path).read_text(), f"{entry}: run scripts/list_slow_tests.py"


def _collected(*arguments: str) -> list[str]:
    command = [sys.executable, "-m", "pytest", "-o", "addopts=", "--collect-only", "-q", *arguments]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return [line for line in done.stdout.splitlines() if "::" in line]


def test_fast_leaves_out_slow_tests_and_most_cases() -> None:
    path = "test/numerics/test_scatter.py"
    every, fast = _collected(path), _collected("--fast", path)
    slow = set(LIST.read_text().split())
    kept = {case.partition("[")[0] for case in every} - slow
    assert set(fast) < set(every) and len(fast) < len(every) / 2
    assert {case.partition("[")[0] for case in fast} == kept
