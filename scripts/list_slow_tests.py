"""Write test/slow_tests.txt: the tests that `make test` leaves out, and `make test-all` runs.

    .venv/bin/python -m pytest --junitxml=build/tests.xml
    .venv/bin/python scripts/list_slow_tests.py build/tests.xml

These are tests of which a case takes more than some seconds, but for those that stand for what users see first.
"""

import sys
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from pathlib import Path

SECONDS = 3.0
"""Of a case, on average, from which on a test is slow."""
ALWAYS = frozenset([
    "test_a_training_step_is_much_shorter_than_without_preferences", "test_cycles_do_not_rise",
    "test_digits_keep_their_accuracy", "test_one_path", "test_optimizer_state", "test_page_is_up_to_date",
    "test_readme", "test_type_checkers_know_the_types", "test_vit",
])  # fmt: skip
"""Tests that run in any case: whole networks and training steps, cycles, documents that show what commands print."""
ROOT = Path(__file__).resolve().parents[1]
LIST = ROOT / "test" / "slow_tests.txt"


def durations(report: Path) -> Iterator[tuple[str, float]]:
    """Tests without their cases, as pytest names them, and seconds of each case, of a report in JUnit's form."""
    for case in ElementTree.parse(report).iter("testcase"):
        *folders, name = case.get("classname", "").split(".")
        path = "/".join([*folders, f"{name}.py"])
        yield f"{path}::{case.get('name', '').partition('[')[0]}", float(case.get("time", "0"))


def main(reports: list[str]) -> None:
    """Write the list."""
    found: dict[str, list[float]] = {}
    for report in reports:
        for test, seconds in durations(Path(report)):
            found.setdefault(test, []).append(seconds)
    slow = [
        test for test, cases in found.items()
        if sum(cases) > SECONDS * len(cases) and test.rpartition("::")[2] not in ALWAYS
    ]  # fmt: skip
    LIST.write_text("".join(f"{test}\n" for test in sorted(slow)))
    print(f"{len(slow)} of {len(found)} tests are slow")


if __name__ == "__main__":
    main(sys.argv[1:])
