"""One expression of a PE statement: text to `Expression`, memoised by text."""

import difflib
import re

from mnc.mncore_backend.assembly.errors import TokenError
from mnc.mncore_backend.assembly.isa import OPCODES, OpcodeInfo, Port, Unit, UnknownOpcode, split_mnemonic
from mnc.mncore_backend.assembly.operands import (
    NUMBER,
    parse_dar,
    parse_destination,
    parse_l1bm,
    parse_l2bm,
    parse_mask,
    parse_matrix,
    parse_source,
)
from mnc.mncore_backend.assembly.records import Expression, Literal, Mask, Operand

_TOKEN = re.compile(r"[^ \t]+")
_MNEMONIC = re.compile(r"[a-z][a-z0-9]*", re.ASCII)
_TAG = re.compile(r"i([0-9a-f]{2})", re.ASCII)
_LITERAL = re.compile(r'(ui|us|f|h|i|s)"([^"]*)"', re.ASCII)
_INTEGER = re.compile(r"[+-]?(?:0x[0-9a-fA-F]+|0b[01]+|0|[1-9][0-9]*)", re.ASCII)
_FLOAT = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|[+-]?inf", re.ASCII)
_SELECTOR = re.compile(rf"@{NUMBER}", re.ASCII)
_SHIFT = re.compile(rf"[+-]{NUMBER}", re.ASCII)
_SET = re.compile(r"@(?:[0-7](?:/[0-7])?|\[[0-7](?:,[0-7])*\]|[0-7](?:,[0-7])+)", re.ASCII)
_MANTISSA = re.compile(r"/[6789]", re.ASCII)
_CACHE_LIMIT = 1 << 19
_cache: dict[str, Expression] = {}


def parse_expression(text: str) -> Expression:
    """The expression written in `text` (no ``;``, no comment). Raises `TokenError` without a position for a token that
    `text` contains."""
    found = _cache.get(text)
    if found is None:
        if len(_cache) > _CACHE_LIMIT:
            _cache.clear()
        found = _cache[text] = _parse(text)
    return found


def _tokens(text: str) -> list[str]:
    """Tokens, a detached ``/mask`` joined to the destination before it."""
    tokens = text.split()
    if any(t[0] == "/" for t in tokens):
        joined: list[str] = []
        for token in tokens:
            if token[0] == "/" and len(joined) > 1 and "/" not in joined[-1]:
                joined[-1] += token
            else:
                joined.append(token)
        return joined
    return tokens


def _parse(text: str) -> Expression:
    tokens = _tokens(text)
    if not tokens:
        raise TokenError("", "an expression")
    head = _MNEMONIC.match(tokens[0])
    name = head[0] if head else tokens[0]
    try:
        info, narrow = split_mnemonic(name)
    except UnknownOpcode:
        raise TokenError(tokens[0], _suggestion(name)) from None
    rest = tokens[0][len(name) :]
    operands = tokens[1:]
    if info.unit in (Unit.NOP, Unit.NOFORWARD, Unit.WAIT, Unit.L2BMDARW):
        return _control(info, rest, operands)
    if info.unit is Unit.L2BM:
        return _l2bm(info, rest, operands)
    if info.unit is Unit.L1BM:
        return _l1bm(info, narrow, rest, operands)
    if info.unit is Unit.MV:
        raise TokenError(tokens[0], "an MV statement alone on its line, with its size")
    return _calculation(info, narrow, rest, operands)


def _suggestion(name: str) -> str:
    """What was expected, with the known ones that look like it."""
    close = difflib.get_close_matches(name[:20].lower(), OPCODES, 3)
    return f"a mnemonic (did you mean {' or '.join(close)}?)" if close else "a mnemonic"


def _no_suffix(rest: str) -> None:
    if rest:
        raise TokenError(rest, "no suffix on this mnemonic")


def _count(operands: list[str], wanted: int, what: str) -> None:
    """Exactly `wanted` operands."""
    if len(operands) < wanted:
        raise TokenError("", what)
    if len(operands) > wanted:
        raise TokenError(operands[wanted], "no further operand")


def _control(info: OpcodeInfo, rest: str, operands: list[str]) -> Expression:
    _no_suffix(rest)
    if info.unit is not Unit.WAIT:
        _count(operands, 0, "")
        return Expression(info.mnemonic)
    _count(operands, 1, "a tag such as i02")
    match = _TAG.fullmatch(operands[0])
    if match is None:
        raise TokenError(operands[0], "a tag: i and two lower-case hexadecimal digits")
    return Expression("wait", tag=int(match[1], 16))


def _zero_flush(rest: str) -> Mask | None:
    if not rest:
        return None
    if rest[0] != "/":
        raise TokenError(rest, "a zero-flush mask such as /1000 or a blank")
    return parse_mask(rest[1:], check_suffix=False)


def _destinations(tokens: list[str]) -> tuple[Operand, ...]:
    if not tokens:
        raise TokenError("", "a destination")
    return tuple([parse_destination(t) for t in tokens])


def _literal(text: str) -> Literal:
    match = _LITERAL.fullmatch(text)
    if match is None:
        raise TokenError(text, 'an immediate such as f"1.0", i"-3" or ui"0xff" in double quotes')
    pattern = _FLOAT if match[1] in "fh" else _INTEGER
    if pattern.fullmatch(match[2]) is None or (match[1][0] == "u" and match[2][:1] in "+-"):
        raise TokenError(text, "a decimal number" if match[1] in "fh" else "a decimal, 0x or 0b number")
    return Literal(match[1], match[2])


def _calculation(info: OpcodeInfo, narrow: str, rest: str, operands: list[str]) -> Expression:
    """ALU, MAU, matrix write and transposed read."""
    modifier = narrow
    if info.precision == "h" and info.operation in ("bfn", "bfe"):
        if _MANTISSA.fullmatch(rest) is None:  # OPEN-06: no zero flush behind the mantissa length
            raise TokenError(rest or info.mnemonic, f"a mantissa length, such as {info.mnemonic}/9")
        modifier, rest = rest, ""
    elif info.unit is Unit.MWRITE:
        _no_suffix(rest)
    zero_flush = _zero_flush(rest)
    if len(operands) < len(info.ports):
        raise TokenError("", f"{len(info.ports)} inputs of {info.mnemonic} and a destination")
    if info.ports[:1] == (Port.LITERAL,):
        literal = _literal(operands[0])
        return Expression(info.mnemonic, (), _destinations(operands[1:]), "", zero_flush, literal)
    sources: list[Operand] = []
    for port, token in zip(info.ports, operands, strict=False):
        if port in (Port.MATRIX, Port.ROW):
            sources.append(parse_matrix(token, addressed=port is Port.ROW))
        else:
            sources.append(parse_source(token))
    remaining = operands[len(info.ports) :]
    if info.unit is Unit.MWRITE:
        _count(remaining, 1, "a matrix bank such as $lx0")
        return Expression(info.mnemonic, tuple(sources), (parse_matrix(remaining[0], addressed=True),))
    return Expression(info.mnemonic, tuple(sources), _destinations(remaining), modifier, zero_flush)


def _l1bm(info: OpcodeInfo, narrow: str, rest: str, operands: list[str]) -> Expression:
    if not operands:
        raise TokenError("", "an L1BM or PE operand")
    down = "d" in info.directions and operands[0].startswith(("$lb", "$llb")) and not operands[0].startswith("$lbf")
    match = _SHIFT.match(rest) if info.family == "d" else None
    if match is None and not down and info.operation in ("l1bmm", "l1bmm4"):
        match = _SELECTOR.match(rest)
        if match is None:
            raise TokenError(rest or info.mnemonic, f"the MAB that is read, such as {info.mnemonic}@0")
    modifier = match[0] if match else narrow
    rest = rest[len(match[0]) :] if match else rest
    if down:
        if _SELECTOR.match(rest):
            raise TokenError(rest, f"no MAB, since every MAB receives: {info.mnemonic}{rest} reads a PE operand")
        zero_flush = _zero_flush(rest)
        return Expression(info.mnemonic, (parse_l1bm(operands[0]),), _destinations(operands[1:]), modifier, zero_flush)
    _no_suffix(rest)
    if "u" not in info.directions:
        raise TokenError(operands[0], "an L1BM operand such as $lb0")
    _count(operands, 2, "an L1BM destination such as $lb0")
    return Expression(info.mnemonic, (parse_source(operands[0]),), (parse_l1bm(operands[1]),), modifier)


def _single_l1bm(text: str) -> Operand:
    if not text.startswith("$lb"):
        raise TokenError(text, "an L1BM operand such as $lb0")
    operand = parse_l1bm(text)
    if text == "$lbi":
        raise TokenError(text, "an L1BM operand with an address")
    return operand


def _l2bm(info: OpcodeInfo, rest: str, operands: list[str]) -> Expression:
    _count(operands, 2, "two operands")
    first, second = operands
    if info.operation == "l2bmdars":
        _no_suffix(rest)
        return Expression(info.mnemonic, (parse_l2bm(first),), (parse_dar(second),))
    pattern = _SELECTOR if info.operation == "l2bm" else _SET
    down = "d" in info.directions and first.startswith("$lc")
    settable = info.operation != "l2bmr2" and (down or info.operation != "l2bmd")
    needed = info.operation in ("l2bm", "l2bmi")
    if rest and (not settable or pattern.fullmatch(rest) is None):
        raise TokenError(rest, "an L1B set such as @0/7" if settable else "no L1B set here")
    if needed and not rest:
        raise TokenError(info.mnemonic, f"an L1B: {info.mnemonic}@0" + ("/4" if info.operation == "l2bmi" else ""))
    if info.directions == "d" or down:
        return Expression(info.mnemonic, (_plain_l2bm(first),), (_single_l1bm(second),), rest)
    target = _single_l1bm(second) if info.directions == "i" else _plain_l2bm(second)
    return Expression(info.mnemonic, (_single_l1bm(first),), (target,), rest)


def _plain_l2bm(text: str) -> Operand:
    if "@" in text:
        raise TokenError(text, "an L2BM operand without @ here")
    return parse_l2bm(text)
