"""Lines of MN-Core 2 assembly to statement records.

`parse_program` reads a whole file, `parse_line` one line. Both memoise the parts of a line by their text, because
programs are unrolled loops whose lines repeat; positions are computed only when something is wrong.
"""

import re
from collections.abc import Callable

from mnc.core.garbage import no_collection
from mnc.mncore_backend.assembly.debug_lines import parse_debug, parse_preset
from mnc.mncore_backend.assembly.errors import AsmSyntaxError, TokenError, locate
from mnc.mncore_backend.assembly.expressions import parse_expression
from mnc.mncore_backend.assembly.isa import OPCODES, Unit
from mnc.mncore_backend.assembly.operands import NUMBER, parse_mv_operand
from mnc.mncore_backend.assembly.records import (
    Expression,
    MaskSetting,
    Quit,
    RepeatedNop,
    Statement,
    Step,
    Transfer,
)
from mnc.mncore_backend.assembly.shapes import Shape, form_of

_COMMENT = re.compile(r"[#!]")  # OPEN-05: `!` too
_MASK_SETTING = re.compile(rf"mask(ll|l)?([rstmnk]*)[ \t]+({NUMBER})", re.ASCII)
_NOP = re.compile(rf"nop/({NUMBER})", re.ASCII)
_MV_OPTION = re.compile(rf"(nd|n|p)({NUMBER})|(i)([0-9a-f]{{2}})", re.ASCII)
_DEBUG = re.compile(r"d[ \t]+[gs]et", re.ASCII)
_CACHE_LIMIT = 1 << 18
_SHAPE_LIMIT = 1 << 14

_Expressions = tuple[Expression, ...]
_steps: dict[str, _Expressions] = {}

# Static addresses of operands in PE memory, L1BM and L2BM. The digits come first, so that the search looks for a digit.
_ADDRESS = re.compile(
    r"([0-9](?:(?<=\$l[mnrsbc][0-9])|(?<=\$ll[mnrsbc][0-9])|(?<=\$[mnrs][0-9]))[0-9]{0,9}(?![0-9]))", re.ASCII
)
_shapes: dict[tuple[str, ...], tuple[tuple[Shape, int], ...]] = {}
"""Shapes of the expressions of a line, and the numbers of their addresses, by what stands around the addresses."""


def parse_program(
    text: str, file_name: str = "<program>", errors: list[AsmSyntaxError] | None = None
) -> list[Statement]:
    """Statements of a file, in order; nothing after ``quit``. Raises `AsmSyntaxError` for the first line that is not
    assembly; with a list for `errors`, such lines are left out and their errors collected there."""
    statements: list[Statement] = []
    with no_collection():
        _parse_lines(text, file_name, statements, errors)
    return statements


def _parse_lines(text: str, file_name: str, statements: list[Statement], errors: list[AsmSyntaxError] | None) -> None:
    """Append the statements of a file."""
    append = statements.append
    known = _steps.get
    for number, raw in enumerate(text.split("\n"), 1):
        expressions = known(raw)
        if expressions is None:
            expressions = _filled(raw)
        if expressions is not None:
            append(Step(expressions, number))
            continue
        try:
            statement = parse_line(raw, number, file_name)
        except AsmSyntaxError as error:
            if errors is None:
                raise
            errors.append(error)
            continue
        if statement is None:
            continue
        append(statement)
        if isinstance(statement, Step):
            _remember(raw, statement.expressions)
        elif isinstance(statement, Quit):
            break


def _filled(raw: str) -> _Expressions | None:
    """The expressions of a line that differs from an earlier one in addresses only."""
    parts = _ADDRESS.split(raw)
    shapes = _shapes.get(tuple(parts[::2]))
    if shapes is None:
        return None
    addresses = tuple(map(int, parts[1::2]))
    if len(shapes) == 1:
        expressions = (shapes[0][0].at(addresses),)
    else:
        made: list[Expression] = []
        first = 0
        for shape, count in shapes:
            made.append(shape.at(addresses[first : first + count]))
            first += count
        expressions = tuple(made)
    if len(_steps) > _CACHE_LIMIT:
        _steps.clear()
    _steps[raw] = expressions
    return expressions


def _remember(raw: str, expressions: _Expressions) -> None:
    """Keep a line, and its shape if all addresses of the operands are where they are looked for."""
    if len(_steps) > _CACHE_LIMIT:
        _steps.clear()
    _steps[raw] = expressions
    parts = _ADDRESS.split(raw)
    forms = [form_of(expression) for expression in expressions]
    addresses = [address for _, own in forms for address in own]
    if list(map(int, parts[1::2])) == addresses and not _COMMENT.search(raw):
        if len(_shapes) > _SHAPE_LIMIT:
            _shapes.clear()
        _shapes[tuple(parts[::2])] = tuple([(shape, len(own)) for shape, own in forms])


def parse_line(raw: str, line: int = 1, file_name: str = "<program>") -> Statement | None:
    """The statement of one line, None for a blank line or a comment. Raises `AsmSyntaxError`."""
    text = raw
    if "#" in raw or "!" in raw:
        text = _COMMENT.split(raw, maxsplit=1)[0]
    text = text.strip(" \t\r")
    if not text or text[0] == "c":  # no mnemonic starts with c: transfers of the host, written by other tools
        return None
    try:
        if not (text.isascii() and text.isprintable()):
            _refuse_foreign_characters(text)
        return _statement(text, line)
    except TokenError as error:
        column = _column(raw, text, error)
        raise AsmSyntaxError(line, column, error.token, error.expected, file_name) from None


def _refuse_foreign_characters(text: str) -> None:
    """Tabs are blanks; other control characters and everything beyond ASCII are no part of the language."""
    for offset, character in enumerate(text):
        if character != "\t" and not (character.isascii() and character.isprintable()):
            raise TokenError(character, "ASCII text", offset)


def _column(raw: str, text: str, error: TokenError) -> int:
    """Column, from 1, of the token at fault; behind the text if the token is empty."""
    offset = error.offset if error.offset >= 0 else locate(text, error.token)
    return raw.find(text) + offset + 1


def _statement(text: str, line: int) -> Statement:
    first = text[0]
    if first == "d" and _DEBUG.match(text):
        return parse_debug(text, line)
    if first == "r" and text[1:2] in (" ", "\t"):
        return parse_preset(text, line)
    if first == "m":
        if text.startswith("mv"):
            return _transfer(text, line)
        if text.startswith("mask"):
            return _mask_setting(text, line)
    if first == "q" and text == "quit":
        return Quit(line)
    if first == "n" and text.startswith("nop/"):
        match = _NOP.fullmatch(text)  # OPEN-05: alone on its line
        if match is None or int(match[1]) == 0:
            raise TokenError(text, "nop/<count> alone on its line, with a count from 1")
        return RepeatedNop(int(match[1]), line)
    return Step(_expressions(text), line)


def _expressions(text: str) -> _Expressions:
    if ";" not in text:
        return (parse_expression(text),)
    parts = text.split(";")
    if len(parts) > 1 and not parts[-1].strip():  # OPEN-05: trailing semicolon
        parts.pop()
    expressions: list[Expression] = []
    offset = 0
    for part in parts:
        try:
            expressions.append(parse_expression(part.strip()))
        except TokenError as error:
            raise TokenError(error.token, error.expected, offset + locate(part, error.token)) from None
        offset += len(part) + 1
    return tuple(expressions)


def _mask_setting(text: str, line: int) -> MaskSetting:
    match = _MASK_SETTING.fullmatch(text)
    if match is None:
        raise TokenError(text, "mask, optional l or ll, letters of rstmnk, a blank and an entry number")
    width = match[1] or ""
    if len(set(match[2])) != len(match[2]):
        raise TokenError(text, "each of the letters rstmnk at most once")
    return MaskSetting(match[2], int(match[3]), width == "ll", width, line)


_OPTION_RANGE: dict[str, Callable[[int], bool]] = {
    "n": lambda value: True,
    "nd": lambda value: value > 0,
    "p": lambda value: value < 4,
    "i": lambda value: True,
}


def _transfer(text: str, line: int) -> Transfer:
    tokens = text.split()
    opcode, slash, options = tokens[0].partition("/")
    if opcode not in OPCODES or OPCODES[opcode].unit is not Unit.MV:
        raise TokenError(tokens[0], "an MV mnemonic such as mvp or mvrdfadd")
    if ";" in text:
        raise TokenError(";", "an MV statement alone on its line")
    if opcode == "mvnop":
        if slash or len(tokens) > 1:
            raise TokenError(tokens[1] if len(tokens) > 1 else tokens[0], "mvnop without options and operands")
        return Transfer("mvnop", line=line)
    values = _options(options, tokens[0])
    if len(tokens) < 3:
        raise TokenError("", "a source and a destination")
    if len(tokens) > 3:
        raise TokenError(tokens[3], "no further operand")
    source, destination = parse_mv_operand(tokens[1]), parse_mv_operand(tokens[2])
    return Transfer(opcode, values["n"], source, destination, values.get("i"), values.get("nd"), values.get("p"), line)


def _options(options: str, token: str) -> dict[str, int]:
    """``n<size>`` and, in any order, ``i<tag>``, ``nd<repeat>``, ``p<priority>``, each at most once."""
    values: dict[str, int] = {}
    position = 0
    while position < len(options):
        match = _MV_OPTION.match(options, position)
        if match is None:
            raise TokenError(token, "MV options: n<size>, i<two hexadecimal digits>, nd<repeat>, p<priority>")
        name = match[1] or match[3]
        value = int(match[2]) if match[1] else int(match[4], 16)
        if name in values or not _OPTION_RANGE[name](value):
            raise TokenError(token, "each MV option once, nd from 1, priority 0 to 3")
        values[name] = value
        position = match.end()
    if "n" not in values:
        raise TokenError(token, "a size option n<longs>")
    return values
