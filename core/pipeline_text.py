"""Reading and printing pipeline text such as ``builtin.module(a,b{opt=1},func.func(c))``."""

import re
from dataclasses import dataclass

from mnc.core.diagnostics import CompileError

_NAME = re.compile(r"\s*([A-Za-z_][\w.-]*)\s*")
_BRACE = re.compile(r'"(?:[^"\\]|\\.)*"|[{}]')
_TOKEN = re.compile(r'\),?|(?:[^{}(),"]|\{(?:[^{}"]|"(?:[^"\\]|\\.)*"|\{[^{}]*\})*\})+(?:\(|,)?')
"""The beginning of a nested list, one pass, or the end of a list."""
ROOT = "builtin.module"
ANY = "any"
"""Anchor of passes that run on operations of every kind; outermost it is a module, as all our input is."""


@dataclass(frozen=True)
class Element:
    """One pass of a pipeline: where it is nested, its name, the text between its braces, and the passes that it runs
    itself. What passes run on has a dot in its name, as ``func.func``, or is `ANY`; passes have none."""

    path: tuple[str, ...]
    name: str
    options: str
    column: int = 0
    nested: tuple["Element", ...] = ()

    @property
    def text(self) -> str:
        """`name` or `name{options}`."""
        return f"{self.name}{{{self.options}}}" if self.options else self.name


def _error(text: str, position: int, message: str, hint: str | None = None) -> CompileError:
    line = text.count("\n", 0, position) + 1
    column = position - (text.rfind("\n", 0, position) + 1) + 1
    hint = hint or f"write it as '{ROOT}(first-pass,second-pass{{option=1}},func.func(third-pass))'"
    return CompileError(message, location=f"<pipeline>:{line}:{column}", hint=hint)


def _closing_brace(text: str, start: int) -> int:
    """Position after the brace that closes the one at `start`."""
    depth = 0
    for match in _BRACE.finditer(text, start):
        depth += {"{": 1, "}": -1}.get(match[0], 0)
        if not depth and match[0] == "}":
            return match.end()
    raise _error(text, start, "'{' is never closed")


def _parse_nested(text: str, position: int, path: tuple[str, ...], out: list[Element]) -> int:
    """Parse a list in the parentheses that open at `position`; return the position behind them."""
    position = _parse_list(text, position + 1, path, out)
    if not text.startswith(")", position):
        raise _error(text, position, "expected ',' or ')'")
    return position + 1


def _parse_list(text: str, position: int, path: tuple[str, ...], out: list[Element]) -> int:
    """Parse a comma-separated list up to its closing parenthesis; return the position of that."""
    while True:
        match = _NAME.match(text, position)
        if not match:
            raise _error(text, position, "expected the name of a pass")
        start, position = match.start(1), match.end()
        if text.startswith("(", position) and ("." in match[1] or match[1] == ANY):
            position = _parse_nested(text, position, (*path, match[1]), out)
        else:
            options, nested = "", []
            if text.startswith("{", position):
                end = _closing_brace(text, position)
                options, position = text[position + 1 : end - 1].strip(), end
            if text.startswith("(", position):
                position = _parse_nested(text, position, (ROOT,), nested)
            out.append(Element(path, match[1], options, start, tuple(nested)))
        position += len(text[position:]) - len(text[position:].lstrip())
        if not text.startswith(",", position):
            return position
        position += 1


def parse_elements(text: str) -> list[Element]:
    """Read pipeline text into its passes, in order.

    Raises:
        CompileError: malformed text, with line and column inside it.
    """
    if not isinstance(text, str):
        message = f"a value of type {type(text).__name__} is no pipeline"
        raise CompileError(message, hint=f"write it as '{ROOT}(first-pass)'")
    match = _NAME.match(text)
    if not match or match[1] not in (ROOT, ANY) or not text.startswith("(", match.end()):
        raise _error(text, match.start(1) if match else 0, f"a pipeline starts with '{ROOT}('")
    if re.fullmatch(r"\s*\)\s*", text[match.end() + 1 :]):
        return []
    elements: list[Element] = []
    position = _parse_list(text, match.end() + 1, (ROOT,), elements)
    if text[position:].strip() != ")":
        if text.startswith(")", position):
            raise _error(text, position + 1, "text after the closing ')'")
        raise _error(text, position, "expected ',' or ')'")
    return elements


def element_error(text: str, element: Element, message: str, hint: str | None) -> CompileError:
    """A `CompileError` pointing at `element` inside `text`."""
    return _error(text, element.column, message, hint)


def print_elements(items: list[tuple[tuple[str, ...], str]]) -> str:
    """Inverse of `parse_elements` for (path, pass text) pairs; neighbours on one path share it."""
    out: list[str] = []
    current: tuple[str, ...] = ()
    for path, text in items or [((ROOT,), "")]:
        common = 0
        while common < min(len(current), len(path)) and current[common] == path[common]:
            common += 1
        out.append(")" * (len(current) - common))
        if common:
            out.append(",")
        out.extend(f"{anchor}(" for anchor in path[common:])
        out.append(text)
        current = path
    return "".join(out) + ")" * len(current)


def pretty(text: str) -> str:
    """Pipeline text with one pass per line, nested passes indented."""
    lines: list[str] = []
    depth = position = 0
    while match := _TOKEN.match(text, position):
        token, position = match[0], match.end()
        if token.startswith(")"):
            depth -= 1
        lines.append("  " * depth + token)
        depth += token.endswith("(")
    return "\n".join(lines)
