"""A shell in an empty directory."""

from pathlib import Path

import pytest

from .running import Shell


@pytest.fixture
def shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Shell:
    """Commands run in `tmp_path`."""
    return Shell(tmp_path, monkeypatch, capfd)
