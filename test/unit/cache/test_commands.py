"""mnc cache and --no-cache."""

from pathlib import Path

import onnx
import pytest
from click.testing import CliRunner, Result

from mnc.cache.store import open_store
from mnc.core.diagnostics import CompileError
from mnc.tools.mnc import cli

from .test_cached_compilation import product


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("MNC_NO_CACHE")
    monkeypatch.setenv("MNC_CACHE_DIR", str(tmp_path / "cache"))
    onnx.save(product(), tmp_path / "m.onnx")
    return tmp_path


def run(*arguments: str) -> Result:
    return CliRunner().invoke(cli, list(arguments), catch_exceptions=False)


def compiled(place: Path, *more: str) -> dict[str, bytes]:
    """Files of a build directory, without the record of the compilation, which says how long each pass took."""
    assert run("compile", str(place / "m.onnx"), "-o", str(place / "out"), *more).exit_code == 0
    files = sorted((place / "out").iterdir())
    return {path.name: path.read_bytes() for path in files if path.name != "record.json.gz"}


def test_build_directories_are_the_same_byte_for_byte(place: Path) -> None:
    without = compiled(place, "--no-cache")
    assert not (place / "cache").exists()
    assert without == compiled(place) == compiled(place)
    kinds = sorted(entry.kind for entry in (open_store() or pytest.fail()).entries())
    assert kinds == ["program", "record", "report"]


def test_no_cache_lasts_as_long_as_the_command(place: Path) -> None:
    compiled(place, "--no-cache")
    assert open_store() is not None


def test_looking_and_clearing(place: Path) -> None:
    assert run("cache", "path").output.strip() == str(place / "cache")
    compiled(place)
    assert "program    1 entries" in (text := run("cache", "info").output) and "in use     yes" in text
    assert len(run("cache", "list").output.splitlines()) == 3
    assert "removed 3 entries" in run("cache", "trim", "--size", "1").output
    compiled(place)
    assert "removed 3 entries" in run("cache", "clear").output
    assert "removed 0 entries" in run("cache", "clear").output
    assert run("cache", "list").output == ""


def test_wrong_sizes(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(CompileError, match="no size"):
        run("cache", "trim", "--size", "much")
    monkeypatch.setenv("MNC_CACHE_LIMIT", "much")
    with pytest.raises(CompileError, match="'much' is no size"):
        run("cache", "info")
