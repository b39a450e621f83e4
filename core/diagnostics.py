"""The two exceptions of the project and their rendering.

`CompileError` is about the user's model, file or command line (exit code 2); `InternalError` is
about a mistake of the compiler (exit code 70). Neither is ever shown with a traceback.
"""

import re
from functools import lru_cache
from pathlib import Path
from typing import ClassVar

_FILE_LOCATION = re.compile(r'"((?:[^"\\]|\\.)*)":(\d+):(\d+)')
_QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"(:\d)?')
_NAME_LOCATION = re.compile(r'loc\("((?:[^"\\]|\\.)*)"(?:\(|\))')

_ESCAPE = re.compile(rb'\\([0-9A-Fa-f]{2}|[\\"nt])')
_PLAIN_ESCAPES = {b"\\": b"\\", b'"': b'"', b"n": b"\n", b"t": b"\t"}

NODE_SEPARATOR = " + "


def unescaped(text: str) -> str:
    """The string that MLIR prints as `text` between quotes: bytes that are no printable ASCII stand there as two hex
    digits behind a backslash, so that a letter of another script is several of them."""
    if "\\" not in text:
        return text
    found = _ESCAPE.sub(lambda match: _PLAIN_ESCAPES.get(match[1]) or bytes.fromhex(match[1].decode()), text.encode())
    return found.decode("utf-8", "replace")


def file_position(location: object) -> tuple[str, int, int] | None:
    """First (file, line, column) inside the text of an MLIR location, or None if it has none."""
    match = _FILE_LOCATION.search(str(location))
    return (unescaped(match[1]), int(match[2]), int(match[3])) if match else None


def node_name(location: object) -> str | None:
    """Name of the ONNX node that an MLIR location carries as its outermost name, or None.

    Where several nodes were fused, their names are joined by `NODE_SEPARATOR`.
    """
    return _node_name(str(location))


@lru_cache(1 << 14)
def _node_name(text: str) -> str | None:
    if text.startswith("loc(fused"):
        names = [unescaped(name) for name, line in _QUOTED.findall(text) if not line]
        return NODE_SEPARATOR.join(dict.fromkeys(names)) or None
    match = _NAME_LOCATION.match(text)
    return unescaped(match[1]) if match else None


def location_text(location: object) -> str:
    """`file:line:col` or `file` of an MLIR location (line 0 means no line); other text as it is."""
    position = file_position(location)
    if position is None:
        text = str(location)
        return "" if text.startswith("loc(") else text
    name, line, column = position
    return f"{name}:{line}:{column}" if line else name


_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
_BREAK = re.compile("[\t\n\u2028\u2029]")
_LONGEST_PART = 2000
_LONGEST_NAME = 200


def printable(text: str, longest: int = _LONGEST_PART) -> str:
    """Text of a message for a terminal: names of a model may hold anything. Control characters are escaped, and of what
    is longer than `longest` characters the middle is left out."""
    if len(text) > longest:
        text = f"{text[: longest * 3 // 4]}... ({len(text)} characters) ...{text[-(longest // 8) :]}"
    return _CONTROL.sub(lambda found: found[0].encode("unicode_escape", "surrogatepass").decode(), text)


def one_line(text: str, longest: int = _LONGEST_PART) -> str:
    """As `printable`, for names: line breaks and tabs are escaped, too, also those that only Unicode takes for one."""
    return _BREAK.sub(lambda found: found[0].encode("unicode_escape").decode(), printable(text, longest))


class CompileError(Exception):
    """A mistake in what the user gave us: model, file, option or pipeline text.

    Args:
        message: one sentence saying what is wrong and why.
        node: name of the ONNX node at fault.
        op_type: operator of that node, such as ``Gemm``.
        hint: the nearest thing that would work.
        location: an MLIR location, or text such as ``model.mlir:3:7`` or a path.
    """

    exit_code: ClassVar[int] = 2

    def __init__(
        self,
        message: str,
        node: str | None = None,
        op_type: str | None = None,
        hint: str | None = None,
        location: object | None = None,
    ) -> None:
        super().__init__(message)
        self.message = str(message)  # also an exception that somebody hands on
        self.node = str(node) if node is not None else None if location is None else node_name(location)
        self.op_type = None if op_type is None else str(op_type)
        self.hint = None if hint is None else str(hint)
        self.location = location
        self.notes: tuple[str, ...] = ()
        """Lines that belong to this error, such as ``model.mlir:2:8: note: the other operation``."""

    def render(self) -> str:
        """`file:line:col: error: node 'x' (Op): message`, followed by the notes and the hint on lines of their own."""
        where = location_text(self.location) if self.location is not None else ""
        subject = f"node '{one_line(self.node, _LONGEST_NAME)}'" if self.node else ""
        if self.op_type:
            op_type = one_line(self.op_type, _LONGEST_NAME)
            subject = f"{subject} ({op_type})" if subject else f"operator {op_type}"
        parts = [printable(where), "error", subject, printable(self.message)]
        lines = [": ".join(part for part in parts if part), *map(printable, self.notes)]
        return "\n".join([*lines, f"  hint: {printable(self.hint)}"] if self.hint else lines)

    def __str__(self) -> str:
        return self.render()


class InternalError(Exception):
    """A mistake of the compiler itself.

    Args:
        message: what went wrong.
        failing_pass: pipeline text of the pass that failed.
        passes_before: pipeline texts of the passes that had run.
        reproducer: file holding the input and the exact ``mnc-opt`` line that fails again.
    """

    exit_code: ClassVar[int] = 70

    def __init__(
        self,
        message: str,
        failing_pass: str | None = None,
        passes_before: tuple[str, ...] = (),
        reproducer: Path | None = None,
    ) -> None:
        super().__init__(message)
        self.message = str(message)
        self.failing_pass = failing_pass
        self.passes_before = passes_before
        self.reproducer = reproducer

    def render(self) -> str:
        """The message, the failing pass, what ran before it and where the reproducer is."""
        lines = [f"internal error: {printable(self.message)}"]
        if self.failing_pass:
            lines.append(f"  in pass: {self.failing_pass}")
        if self.passes_before:
            lines.append(f"  after: {', '.join(self.passes_before)}")
        if self.reproducer:
            lines.append(f"  reproducer: {self.reproducer} (its first line is the command that fails)")
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.render()


def exit_code_of(error: BaseException) -> int:
    """Exit code of a command that ended with `error`: 2 for the user's mistake, 70 for ours."""
    return error.exit_code if isinstance(error, CompileError | InternalError) else InternalError.exit_code
