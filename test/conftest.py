"""Settings for all tests: no deadlines (a busy machine is no failure); the same examples on every CI run."""

import atexit
import os
import tempfile
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import settings

from mnc.options import EFFORT_VARIABLE

settings.register_profile("mnc", deadline=None, derandomize=bool(os.environ.get("CI")))
settings.load_profile("mnc")
os.environ["MNC_NO_CACHE"] = "1"  # no test reads or writes the cache of whoever runs it
_reproducers = tempfile.TemporaryDirectory(prefix="mnc-reproducers-")
atexit.register(_reproducers.cleanup)
os.environ["MNC_REPRODUCER_DIR"] = _reproducers.name

FAST = "--fast"
SHARE = 3
"""Of each test of many cases that compiles and runs programs, every so many cases run with `--fast`."""
SLOW = Path(__file__).parent / "slow_tests.txt"
"""Names of tests that do not run with `--fast`, see scripts/list_slow_tests.py."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """The option that leaves out what takes long."""
    parser.addoption(FAST, action="store_true", help="leave slow tests and most cases of long tests out")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what takes long, if that is wanted. Of each test that is not slow at least the first case stays."""
    if not config.getoption(FAST):
        return
    slow, seen = set(SLOW.read_text().split()), Counter[str]()
    left: list[pytest.Item] = []
    for item in items:
        test = item.nodeid.partition("[")[0]
        if test in slow or (seen[test] % SHARE and _folder(item.path) in _COMPILING):
            left.append(item)
        seen[test] += 1
    out = set(left)
    items[:] = [item for item in items if item not in out]
    config.hook.pytest_deselected(items=left)


_OF_NUMBERS = "numerics", "onnx_suite", "unit/autodiff", "unit/importer", "unit/pytorch"
"""Folders of tests that ask whether numbers are right. One program of each model tells, whichever is the shortest."""
_COMPILING = *_OF_NUMBERS, "unit/commands"
"""Folders whose tests take long, because each case compiles and runs a program."""


def _folder(path: Path) -> str:
    """The folder of a test, from here."""
    return path.parent.relative_to(Path(__file__).parent).as_posix()


@pytest.fixture(autouse=True)
def _little_effort(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Compile with little effort what only has to be right, unless the test is marked `normal_effort`."""
    if _folder(request.path) in _OF_NUMBERS and request.node.get_closest_marker("normal_effort") is None:
        monkeypatch.setenv(EFFORT_VARIABLE, "quick")
