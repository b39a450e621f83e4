"""A reader of the output that goes away, and paths that are empty."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest

from .model_files import tiny
from .running import Shell


@pytest.mark.parametrize(
    "command",
    [
        ["mnc", "--help"], ["mnc", "supports", "m.onnx"], ["mnc", "compile", "m.onnx"], ["mnc-opt", "--list-passes"],
    ],
)  # fmt: skip
def test_the_signal_of_a_broken_pipe_ends_a_command(tmp_path: Path, command: list[str]) -> None:
    """1 would say that a check failed."""
    onnx.save(tiny(), tmp_path / "m.onnx")
    reading, writing = os.pipe()
    os.close(reading)
    script = f"import sys; from mnc_command import {command[0].replace('-', '_')} as run; sys.argv = {command!r}; run()"
    with os.fdopen(writing, "w") as pipe:
        done = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, stdout=pipe, stderr=subprocess.PIPE)
    assert done.returncode == -signal.SIGPIPE
    assert done.stderr == b""


@pytest.mark.parametrize(
    "arguments",
    [
        ("compile", "m.onnx", "-o", ""), ("compile", "m.onnx", "--dump-dir", ""), ("compile", "m.onnx", "--trace", ""),
        ("train", "-o", ""), ("bisect", "m.onnx", "-o", ""), ("unit-tests", "m.onnx", "-o", ""), ("run", ""),
        ("check", ""), ("supports", ""), ("compile", ""),
    ],
)  # fmt: skip
def test_an_empty_path_is_not_the_current_directory(shell: Shell, arguments: tuple[str, ...]) -> None:
    onnx.save(tiny(), shell.directory / "m.onnx")
    done = shell("mnc", *arguments)
    assert done.code == 2
    assert "it is empty; name a place" in done.err
    assert shell.files() == {"m.onnx"}


def test_what_a_file_name_is_not(shell: Shell) -> None:
    """Standard input, nothing, an archive: each is told what to write."""
    onnx.save(tiny(), shell.directory / "m.onnx")
    assert shell("mnc", "compile", "m.onnx", "-o", "out").code == 0
    np.savez(shell.directory / "x.npz", x=np.zeros(3))
    for arguments, words in (
        (("compile", "-"), "/dev/stdin"), (("run", "out", "--input", "x="), "--input x=FILE.npy"),
        (("run", "out", "--input", "x.npz"), "'x.npz' is an archive of arrays (x), not one array"),
        (("-v", "compile", "m.onnx"), "Options of a command follow it"),
    ):  # fmt: skip
        done = shell("mnc", *arguments)
        assert done.code == 2
        assert words in done.err
