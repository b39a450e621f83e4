"""The directory of the cache: old entries go, writers do not disturb each other, failures are no errors."""

import errno
import multiprocessing
import os
from pathlib import Path

import numpy as np
import pytest

from mnc.cache import settings, store
from mnc.cache.store import Store
from mnc.core.diagnostics import CompileError

KEYS = [f"{i:064x}" for i in range(20)]
KILOBYTE = {"a": np.zeros(1024, np.uint8)}


def make(directory: Path, limit: int = 1 << 30) -> Store:
    return Store(directory, limit)


def test_what_is_not_there() -> None:
    assert make(Path("/nowhere/at/all")).read("k", KEYS[0]) is None
    assert make(Path("/nowhere/at/all")).entries() == []


def test_kinds_are_apart(tmp_path: Path) -> None:
    cache = make(tmp_path)
    assert cache.write("one", KEYS[0], {"x": 1}, {}) and cache.write("two", KEYS[0], {"x": 2}, {})
    found = [cache.read(kind, KEYS[0]) for kind in ("one", "two")]
    assert [contents.description for contents in found if contents] == [{"x": 1}, {"x": 2}]


def test_used_longest_ago_goes_first(tmp_path: Path) -> None:
    cache = make(tmp_path, 10 * 1024)
    for age, key in enumerate(KEYS[:6]):
        cache.write("k", key, {}, KILOBYTE)
        os.utime(cache.path("k", key), (1000 + age, 1000 + age))
    assert cache.read("k", KEYS[0]) is not None  # used now
    for key in KEYS[6:10]:
        cache.write("k", key, {}, KILOBYTE)
    kept = {entry.path.stem for entry in cache.entries()}
    assert KEYS[0] in kept and KEYS[1] not in kept and KEYS[9] in kept
    assert sum(entry.size for entry in cache.entries()) <= cache.limit


def test_what_is_larger_than_the_limit_is_not_written(tmp_path: Path) -> None:
    assert not make(tmp_path, 1000).write("k", KEYS[0], {}, KILOBYTE)
    assert make(tmp_path).entries() == []


def test_a_damaged_entry_is_removed(tmp_path: Path) -> None:
    cache = make(tmp_path)
    cache.write("k", KEYS[0], {}, KILOBYTE)
    path = cache.path("k", KEYS[0])
    path.write_bytes(path.read_bytes()[:-700])
    assert cache.read("k", KEYS[0]) is None and not path.exists()


def test_a_full_disk_is_no_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(store, "write_contents", full)
    assert not make(tmp_path).write("k", KEYS[0], {}, KILOBYTE)
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


def test_a_file_in_the_place_of_the_directory(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    cache = make(tmp_path / "file")
    assert not cache.write("k", KEYS[0], {}, KILOBYTE)
    assert cache.read("k", KEYS[0]) is None and cache.entries() == []


def _write_often(directory: Path, seed: int) -> None:
    cache = Store(directory, 6 * 1024)
    for i in range(60):
        key = KEYS[(i * 7 + seed) % 8]
        cache.write("k", key, {"key": key}, {"a": np.full(1024, int(key, 16), np.uint8)})
        contents = cache.read("k", KEYS[i % 8])
        if contents is not None:
            assert contents.description == {"key": KEYS[i % 8]} and set(contents.arrays["a"]) == {i % 8}


def test_writers_at_once(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    writers = [context.Process(target=_write_often, args=(tmp_path, seed)) for seed in range(3)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert [writer.exitcode for writer in writers] == [0, 0, 0]
    assert not list(tmp_path.rglob("partial-*"))


def test_abandoned_files_go(tmp_path: Path) -> None:
    cache = make(tmp_path, 3000)
    cache.write("k", KEYS[0], {}, KILOBYTE)
    old = cache.path("k", KEYS[0]).parent / "partial-xyz"
    young = old.with_name("partial-abc")
    for path in (old, young):
        path.write_text("x")
    os.utime(old, (1, 1))
    for key in KEYS[1:4]:
        cache.write("k", key, {}, KILOBYTE)
    assert not old.exists() and young.exists()


def test_clear_says_how_much(tmp_path: Path) -> None:
    cache = make(tmp_path)
    for key in KEYS[:3]:
        cache.write("k", key, {}, KILOBYTE)
    number, size = cache.clear()
    assert number == 3 and size > 3 * 1024 and cache.entries() == [] and cache.clear() == (0, 0)


@pytest.mark.parametrize("text, size", [("1", 1), ("2K", 2048), ("3m", 3 << 20), ("4 GB", 4 << 30), ("5GiB", 5 << 30)])
def test_sizes(text: str, size: int) -> None:
    assert settings.parse_size(text) == size


@pytest.mark.parametrize("text", ["", "many", "-1", "1.5G", "G", "5X", "1 2"])
def test_what_is_no_size(text: str) -> None:
    with pytest.raises(CompileError, match="no size"):
        settings.parse_size(text)


def test_where_it_is(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("MNC_CACHE_DIR", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert settings.directory() == tmp_path / ".cache" / "mnc"
    monkeypatch.setenv("XDG_CACHE_HOME", "not/absolute")
    assert settings.directory() == tmp_path / ".cache" / "mnc"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert settings.directory() == tmp_path / "xdg" / "mnc"
    monkeypatch.setenv("MNC_CACHE_DIR", str(tmp_path / "own"))
    assert settings.directory() == tmp_path / "own"


def test_tests_do_not_use_it() -> None:
    assert store.open_store() is None
