"""Settings for all tests: no deadlines (a busy machine is no failure); the same examples on every CI run."""

import atexit
import os
import tempfile
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

_OF_NUMBERS = "numerics", "onnx_suite", "unit/autodiff", "unit/importer", "unit/pytorch"
"""Folders of tests that ask whether numbers are right. One program of each model tells, whichever is the shortest."""


@pytest.fixture(autouse=True)
def _little_effort(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Compile with little effort what only has to be right, unless the test is marked `normal_effort`."""
    folder = request.path.parent.relative_to(Path(__file__).parent).as_posix()
    if folder in _OF_NUMBERS and request.node.get_closest_marker("normal_effort") is None:
        monkeypatch.setenv(EFFORT_VARIABLE, "quick")
