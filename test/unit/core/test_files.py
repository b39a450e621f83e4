"""Files in the making: whole or not at all, nothing left behind, one writer."""

import errno
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mnc import checksums
from mnc.core.diagnostics import CompileError
from mnc.core.files import PARTIAL, no_empty_directories, partial_directory, remove_leftovers, sole_use, whole_file


def test_a_file_takes_the_place_of_the_old_one(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    path.write_text("old")
    with whole_file(path) as file:
        file.write(b"new")
        assert path.read_text() == "old"
    assert path.read_text() == "new"
    assert os.listdir(tmp_path) == ["model.onnx"]


FULL = OSError(errno.ENOSPC, "No space left on device")


@pytest.mark.parametrize("failure", [FULL, KeyboardInterrupt(), ValueError()])
def test_what_fails_leaves_the_old_one(tmp_path: Path, failure: BaseException) -> None:
    path = tmp_path / "model.onnx"
    path.write_text("old")
    expected = CompileError if failure is FULL else type(failure)
    with pytest.raises(expected) as told, whole_file(path) as file:
        file.write(b"new")
        raise failure
    assert path.read_text() == "old" and os.listdir(tmp_path) == ["model.onnx"]
    if isinstance(told.value, CompileError):
        assert "model.onnx" in told.value.message and "No space left" in told.value.message


def test_a_full_disk_names_the_file(tmp_path: Path) -> None:
    script = (
        "import resource, signal, sys; from pathlib import Path; from mnc.core.files import whole_file\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN); resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))\n"
        "with whole_file(Path(sys.argv[1])) as file: file.write(bytes(5000))\n"
    )
    done = subprocess.run([sys.executable, "-c", script, tmp_path / "model.onnx"], capture_output=True, text=True)
    assert "cannot write" in done.stderr and "model.onnx" in done.stderr
    assert not os.listdir(tmp_path)


def test_directories_that_stay_empty_go_away(tmp_path: Path) -> None:
    (tmp_path / "old").mkdir()
    for path, rest in ("old/new/newest", {"old"}), ("kept/new", {"old", "kept", "kept/file"}):
        with pytest.raises(KeyError), no_empty_directories(tmp_path / path):
            (tmp_path / path).mkdir(parents=True)
            if path == "kept/new":
                (tmp_path / "kept/file").touch()
            raise KeyError
        assert {str(found.relative_to(tmp_path)) for found in tmp_path.rglob("*")} == rest
    with no_empty_directories(tmp_path / "fine"):
        (tmp_path / "fine").mkdir()
    assert (tmp_path / "fine").exists()


def test_what_a_killed_process_leaves_is_removed(tmp_path: Path) -> None:
    script = (
        "import os, signal, sys; from pathlib import Path; from mnc.core.files import partial_directory, whole_file\n"
        "with partial_directory(Path(sys.argv[1])) as scratch, whole_file(Path(sys.argv[1]) / 'x') as file:\n"
        "    (scratch / 'y').touch(); os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    done = subprocess.run([sys.executable, "-c", script, tmp_path])
    assert done.returncode == -signal.SIGKILL
    assert len(os.listdir(tmp_path)) == 2
    with partial_directory(tmp_path) as scratch, whole_file(tmp_path / "y") as file:
        file.write(b"y")
        remove_leftovers(tmp_path)  # what is held stays
        assert scratch.is_dir() and len(list(tmp_path.glob(f"{PARTIAL}*"))) == 2
    assert os.listdir(tmp_path) == ["y"]


def test_what_is_removed_before_it_is_locked_is_made_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another process may look for leftovers between the making of a temporary and its lock."""
    meddled = []

    def meddling(make: Any) -> Any:
        def made(*args: Any, **how: Any) -> Any:
            result = make(*args, **how)
            if len(meddled) in (0, 2):
                remove_leftovers(tmp_path)
            meddled.append(result)
            return result

        return made

    for name in ("mkstemp", "mkdtemp"):
        monkeypatch.setattr(tempfile, name, meddling(getattr(tempfile, name)))
    with partial_directory(tmp_path) as scratch:
        (scratch / "y").touch()
    with whole_file(tmp_path / "y") as file:
        file.write(b"y")
    assert len(meddled) == 4 and (tmp_path / "y").read_bytes() == b"y" and os.listdir(tmp_path) == ["y"]


def test_the_second_writer_is_refused(tmp_path: Path) -> None:
    with (
        sole_use(tmp_path, "training"),
        pytest.raises(CompileError, match="another training"),
        sole_use(tmp_path, "training"),
    ):
        pass
    with sole_use(tmp_path, "training"):
        pass


def test_a_checksum_covers_everything() -> None:
    description, arrays = {"a": [1, "x"]}, {"v": np.arange(3)}
    signed = {**description, checksums.KEY: checksums.checksum(description, arrays)}
    checksums.check(signed, arrays)
    others = [
        ({**signed, "a": [2, "x"]}, arrays), ({**signed, "b": 1}, arrays), (description, arrays), ([], arrays),
        (signed, {"v": np.arange(3).astype(np.int32)}), (signed, {"w": np.arange(3)}), (signed, {}),
        (signed, {"v": np.arange(3)[:, None]}), (signed, {"v": np.array([0, 1, 3])}),
    ]  # fmt: skip
    for other, found in others:
        with pytest.raises(ValueError, match=r"checksum|description"):
            checksums.check(other, found)
