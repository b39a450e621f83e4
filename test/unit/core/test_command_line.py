"""Writing files from commands."""

import os
import stat
import threading
import warnings
from pathlib import Path

from mnc.core.command_line import errors_to_exit_codes, write_text


def test_a_pipe_is_written_to_and_not_replaced(tmp_path: Path) -> None:
    """`-o` on a device once put a regular file in its place."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    received: list[str] = []
    reader = threading.Thread(target=lambda: received.append(pipe.read_text()))
    reader.start()
    write_text(str(pipe), "text")
    reader.join(timeout=10)
    assert received == ["text"]
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_a_file_is_replaced_whole(tmp_path: Path) -> None:
    target = tmp_path / "out.mlir"
    target.write_text("old and longer")
    write_text(str(target), "new")
    assert target.read_text() == "new"
    assert list(tmp_path.iterdir()) == [target]


def test_a_warning_is_one_line_without_the_place_in_the_source() -> None:
    before = warnings.formatwarning
    with errors_to_exit_codes():
        shown = warnings.formatwarning(UserWarning("the file is odd"), UserWarning, "source.py", 1)
    assert shown == "warning: the file is odd\n"
    assert warnings.formatwarning is before
