"""A program with the nodes and kernels behind each line as comments."""

from itertools import zip_longest
from pathlib import Path
from typing import Any

from mnc.core.diagnostics import one_line
from mnc.core.files import replace_file
from mnc.executable import Executable
from mnc.explanation.program import kernel_title

NAME = "annotated.vsm"
_COLUMN = 60
_MOST = 3


def annotated(executable: Executable, record: dict[str, Any]) -> str:
    """The text of a program; every line that works for somebody says for whom. It is a program like the original."""
    titles = {kernel["number"]: kernel_title(kernel) for kernel in record["kernels"]}
    lines = []
    for text, owners in zip_longest(executable.text.splitlines(), record["lines"], fillvalue=()):
        names = [titles.get(owner, str(owner)) for owner in owners]
        if len(names) > _MOST:
            names[_MOST:] = [f"{len(names) - _MOST} more"]
        note = "; ".join(map(one_line, names))
        lines.append(f"{text!s:<{_COLUMN}} # {note}" if note else str(text))
    return "".join(f"{line}\n" for line in lines)


def write_annotated(executable: Executable, record: dict[str, Any], directory: Path) -> Path:
    """Write ``annotated.vsm`` into a build directory; raises CompileError."""
    path = directory / NAME
    replace_file(path, annotated(executable, record), "choose another directory with -o")
    return path
