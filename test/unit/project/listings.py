"""Listings of documents as a reader would use them: files to write, commands to type, output to see.

A block below a line like "`twice.vsm`:" is that file. In a ``console`` block, lines after ``$ `` are typed into a shell
in the folder of those files, and what follows is what the shell prints; ``...`` stands for any text. Below a comment
``figures vary``, numbers and the widths of tables may differ, and which reference judged, nothing else.
"""

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

_BLOCK = re.compile(
    r"^(?:`([\w./-]+)`:\n\n|(<!-- figures vary -->)\n\n)?```(\w*)[^\n]*\n(.*?)^```$", re.MULTILINE | re.DOTALL
)
_NUMBER = re.compile(r"\d[\d,.]*(?:e[+-]?\d+)?")
_JUDGE = re.compile("the ONNX reference evaluator|ONNX Runtime")
_RULE = re.compile("[ \u2500-\u257f]+")


@dataclass(frozen=True)
class Block:
    """A fenced block: the file it is for ("" for none), its language, its text."""

    file: str
    language: str
    text: str
    figures_vary: bool = False


@dataclass(frozen=True)
class Command:
    """What is typed, and what is shown below it."""

    typed: str
    shown: str
    figures_vary: bool = False


def blocks(page: Path) -> list[Block]:
    """All fenced blocks of a document."""
    found = _BLOCK.findall(page.read_text(encoding="utf-8"))
    return [Block(file, language, text, bool(vary)) for file, vary, language, text in found]


def commands(block: Block) -> list[Command]:
    """The commands of a console block; a backslash at the end of a line continues it."""
    found: list[Command] = []
    for part in re.split(r"^\$ ", block.text, flags=re.MULTILINE)[1:]:
        match = re.match(r"((?:[^\n]*\\\n)*[^\n]*)\n?(.*)", part, re.DOTALL)
        assert match is not None
        found.append(Command(match[1], match[2], block.figures_vary))
    return found


def _pattern(command: Command) -> re.Pattern[str]:
    shown = re.escape(command.shown.strip()).replace(r"\.\.\.", r".*?").replace("\\ ", " ").replace("\\\n", "\n")
    if command.figures_vary:
        shown = _NUMBER.sub(lambda _: _NUMBER.pattern, shown.replace("\\.", "."))
        shown = _JUDGE.sub(lambda _: f"(?:{_JUDGE.pattern})", shown)
        shown = _RULE.sub(lambda _: _RULE.pattern, shown)
    return re.compile(shown, re.DOTALL)


def printed_by(command: Command, folder: Path) -> str:
    """What a command prints in a folder, without the spaces at the ends of lines."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    environment = {**os.environ, "PATH": path, "COLUMNS": "80", "TERM": "dumb", "NO_COLOR": "1"}
    done = subprocess.run(
        ["bash", "-c", command.typed], cwd=folder, env=environment, text=True, timeout=300, check=False,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    return "\n".join(line.rstrip() for line in done.stdout.strip().splitlines())


def type_command(command: Command, folder: Path) -> None:
    """Run a command; AssertionError when it prints something else than what is shown."""
    printed = printed_by(command, folder)
    assert _pattern(command).fullmatch(printed), f"$ {command.typed}\n{printed}\n--- shown:\n{command.shown}"


def write_file(block: Block, folder: Path) -> None:
    """Write the file a block is for, if it is for one."""
    if block.file:
        target = folder / block.file
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(block.text, encoding="utf-8")


def follow(page: Path, folder: Path) -> int:
    """Write the files and type the commands of a document in their order; the number of commands."""
    typed = 0
    for block in blocks(page):
        write_file(block, folder)
        if block.language == "console":
            for command in commands(block):
                type_command(command, folder)
                typed += 1
    return typed
