"""Operands: text to `Operand`. Every function memoises by text, since programs repeat their operands."""

import re

from mnc.mncore_backend.assembly.errors import TokenError
from mnc.mncore_backend.assembly.records import Mask, Memory, Operand

NUMBER = r"[0-9]{1,10}"
_MASK = re.compile(rf"(?:(ll)?([01]{{4}})|\$(ll)?imr({NUMBER}))([tp]?)", re.ASCII)
_LOCAL = re.compile(
    rf"(-?)\$(ll|l|)([mnrs])(t?)(?:({NUMBER})(?:(v)({NUMBER})?)?|\[({NUMBER}),({NUMBER}),({NUMBER}),({NUMBER})\])?"
    rf"(?:j({NUMBER}))?([er]?)",
    re.ASCII,
)
_T = re.compile(r"(-?)\$(ll|l|)t([er]?)", re.ASCII)
_NAMED = re.compile(r"(-?)\$(mauf|aluf|lbf|mreadf)([er]?)", re.ASCII)
_FIXED = re.compile(r"\$(l2bid|l1bid|mabid|peid|subpeid|msb1)()", re.ASCII)
_BAR = re.compile(r"\$(l?)([mn]b)", re.ASCII)
_OMR = re.compile(rf"\$omr({NUMBER})", re.ASCII)
_L1BM = re.compile(rf"\$(ll|l)b(?:({NUMBER})|i)", re.ASCII)
_L2BM = re.compile(rf"\$lc({NUMBER})(?:@({NUMBER})?\.({NUMBER}))?", re.ASCII)
_MATRIX = re.compile(rf"\$(ll|l)([xy])({NUMBER})?", re.ASCII)
_DAR = re.compile(rf"\$dar({NUMBER})", re.ASCII)
_OFFCHIP = re.compile(rf"\$(p|di|d)({NUMBER})(?:@({NUMBER}))?", re.ASCII)

WIDTHS = {"": 1, "l": 2, "ll": 4}
_CACHE_LIMIT = 1 << 19
_sources: dict[str, Operand] = {}
_destinations: dict[str, Operand] = {}


def parse_mask(text: str, *, check_suffix: bool = True) -> Mask:
    """The mask after a ``/``: ``1000``, ``ll0111``, ``$imr3``, ``$llimr3``, with ``t`` or ``p`` on destinations."""
    match = _MASK.fullmatch(text)
    if match is None or (match[5] and not check_suffix):
        raise TokenError(text, "a mask such as 1000, ll1000, $imr1 or $llimr1")
    if match[2]:
        return Mask(match[2], None, match[1] is not None, match[5])
    return Mask(None, int(match[4]), match[3] is not None, match[5])


def _local(match: re.Match[str], text: str) -> Operand:
    sign, prefix, letter, indirect, first, strided, step, *flat, offset, suffix = match.groups()
    width = WIDTHS[prefix]
    if (indirect or offset is not None) and letter in "rs":
        raise TokenError(text, "a GRF operand without t and j, which exist on local memory only")
    if first is None and flat[0] is None and not indirect:
        raise TokenError(text, f"an address after ${prefix}{letter}")
    return Operand(
        Memory(letter),
        width,
        int(first) if first else 0,
        (int(step) if step else width) if strided else None,
        (int(flat[0]), int(flat[1]), int(flat[2]), int(flat[3])) if flat[0] is not None else None,
        bool(indirect),
        int(offset) if offset is not None else None,
        negate=bool(sign),
        suffix=suffix,
    )


def parse_pe_operand(text: str) -> Operand:
    """PE memory, T, a forwarding latch or a fixed value."""
    if match := _LOCAL.fullmatch(text):
        return _local(match, text)
    if match := _NAMED.fullmatch(text):
        return Operand(Memory(match[2]), negate=bool(match[1]), suffix=match[3])
    if match := _T.fullmatch(text):
        return Operand(Memory.T, WIDTHS[match[2]], negate=bool(match[1]), suffix=match[3])
    if match := _FIXED.fullmatch(text):
        return Operand(Memory(match[1]))
    raise TokenError(text, "a PE operand such as $lr0v, $llm0, $t or $aluf")


def parse_source(text: str) -> Operand:
    """A source operand of an ALU, MAU, matrix write or PE -> L1BM expression."""
    found = _sources.get(text)
    if found is None:
        if len(_sources) > _CACHE_LIMIT:
            _sources.clear()
        found = _sources[text] = parse_pe_operand(text)
    return found


def parse_destination(text: str) -> Operand:
    """PE memory, T, base register, mask register (each with an optional mask) or ``$nowrite``."""
    found = _destinations.get(text)
    if found is None:
        if len(_destinations) > _CACHE_LIMIT:
            _destinations.clear()
        found = _destinations[text] = _destination(text)
    return found


def _destination(text: str) -> Operand:
    if text == "$nowrite":
        return Operand(Memory.NOWRITE)
    place, slash, mask_text = text.partition("/")
    mask = parse_mask(mask_text) if slash else None
    if match := _BAR.fullmatch(place):
        return Operand(Memory(match[2]), WIDTHS[match[1]], mask=mask)
    if match := _OMR.fullmatch(place):
        return Operand(Memory.MASK, 1, int(match[1]), mask=mask)
    if match := _LOCAL.fullmatch(place):
        operand = _local(match, place)
    elif match := _T.fullmatch(place):
        operand = Operand(Memory.T, WIDTHS[match[2]], negate=bool(match[1]), suffix=match[3])
    else:
        raise TokenError(text, "a destination such as $lr0v, $t, $omr1, $mb or $nowrite")
    if operand.negate or operand.suffix:
        raise TokenError(text, "a destination, which has no sign and no e or r")
    if mask is None:
        return operand
    return Operand(
        operand.memory,
        operand.width,
        operand.address,
        operand.stride,
        operand.flat,
        operand.t_indirect,
        operand.pe_offset,
        mask=mask,
    )


def parse_l1bm(text: str) -> Operand:
    """``$lb0``, ``$llb0``, ``$lbi``, ``$llbi``."""
    match = _L1BM.fullmatch(text)
    if match is None:
        raise TokenError(text, "an L1BM operand such as $lb0, $llb0 or $lbi")
    if match[2] is None:
        return Operand(Memory.TURNAROUND, WIDTHS[match[1]])
    return Operand(Memory.L1BM, WIDTHS[match[1]], int(match[2]))


def parse_l2bm(text: str) -> Operand:
    """``$lc0``, ``$lc0@.1``, ``$lc0@2.1``."""
    match = _L2BM.fullmatch(text)
    if match is None:
        raise TokenError(text, "an L2BM operand such as $lc0")
    group = int(match[2]) if match[2] else None
    return Operand(Memory.L2BM, 1, int(match[1]), group=group, l2b=int(match[3]) if match[3] else None)


def parse_matrix(text: str, *, addressed: bool) -> Operand:
    """``$lx`` (addressed False) or ``$lx0``, ``$llx0``."""
    match = _MATRIX.fullmatch(text)
    if match is None or (match[3] is not None) != addressed:
        raise TokenError(text, "a matrix bank such as $lx0 or $llx0" if addressed else "a matrix bank, $lx or $ly")
    return Operand(Memory(match[2]), WIDTHS[match[1]], int(match[3]) if addressed else -1)


def parse_dar(text: str) -> Operand:
    """``$dar0``."""
    match = _DAR.fullmatch(text)
    if match is None:
        raise TokenError(text, "a DAR operand such as $dar0")
    return Operand(Memory.DAR, 1, int(match[1]))


def parse_mv_operand(text: str) -> Operand:
    """``$p0@0``, ``$d0``, ``$di0@1``, ``$lc0@.1``."""
    if match := _OFFCHIP.fullmatch(text):
        return Operand(Memory(match[1]), 1, int(match[2]), group=int(match[3]) if match[3] else None)
    if _L2BM.fullmatch(text):
        return parse_l2bm(text)
    raise TokenError(text, "an MV operand such as $p0@0, $d0, $di0 or $lc0@0.1")
