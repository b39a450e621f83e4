"""Debug statements (``d get``, ``d set``) and DRAM presets: text to records (SDM 3.4.3, 3.4.4)."""

import re

from mnc.mncore_backend.assembly.errors import TokenError
from mnc.mncore_backend.assembly.operands import NUMBER, WIDTHS
from mnc.mncore_backend.assembly.records import DebugGet, DebugOperand, DebugSet, DramPreset, Memory
from mnc.mncore_backend.target import chip

_SCOPE = "".join(rf"(?:{letter}({NUMBER}))?" for letter in "ncbmp")
_UPPER = re.compile(rf"\$(lc|p|d)({NUMBER}){_SCOPE}", re.ASCII)
_L1BM = re.compile(rf"\$(ll|l)b({NUMBER}){_SCOPE}", re.ASCII)
_PE = re.compile(rf"\$(ll|l|)([mnrsxy])({NUMBER}){_SCOPE}", re.ASCII)
_T = re.compile(rf"\$(ll|l|)t{_SCOPE}", re.ASCII)
_MASK = re.compile(rf"\$omr({NUMBER}){_SCOPE}", re.ASCII)
_HEAD = re.compile(r"d[ \t]+(get|set)([a-z]*)[ \t]+(\$[^ \t]+)[ \t]+([0-9]{1,10})(?:[ \t]+(.*))?", re.ASCII)
_HEX = re.compile(r"[0-9a-fA-F]+", re.ASCII)
_PRESET = re.compile(rf"r[ \t]+({NUMBER})[ \t]+([0-9a-fA-F]{{9}})[ \t]+([0-9a-fA-F]{{3}})[ \t]+(.+)", re.ASCII)
DTYPES = ("", "d", "f", "h", "bd", "bf", "bg", "bh")
LEVELS = {Memory.PDM: 1, Memory.DRAM: 1, Memory.L2BM: 2, Memory.L1BM: 3, Memory.MATRIX_X: 4, Memory.MATRIX_Y: 4}
_LARGEST_COUNT = 1 << 20  # of DRAM no dump needs more
_LIMITS = (4, 2, 8, 16, 4)


def largest_count(operand: DebugOperand) -> int:
    """Units that one ``d get`` may name: no more than the memory has. The four entries of T repeat."""
    memory = operand.memory
    limits = {Memory.T: 1 << 10, Memory.MASK: chip().memories[Memory.MASK].addresses - operand.address}
    return min(limits.get(memory, chip().memories[memory].addresses), _LARGEST_COUNT)


def parse_debug(text: str, line: int) -> DebugGet | DebugSet:
    """``d get[dtype] <memory><scope> <count>`` or ``d set <memory><scope> <count> <payload>``."""
    match = _HEAD.fullmatch(text)
    if match is None:
        raise TokenError(text, "d get[dtype] <memory><scope> <count> or d set <memory><scope> <count> <payload>")
    verb, dtype, operand, count, rest = match.groups()
    if dtype not in DTYPES or (verb == "set" and dtype):
        raise TokenError(verb + dtype, "get, getd, getf, geth, getbd, getbf, getbg, getbh or set")
    memory = debug_operand(operand)
    if verb == "get":
        if rest:
            raise TokenError(rest, "nothing after the count")
        return DebugGet(dtype, memory, int(count), line)
    if not rest:
        raise TokenError("", "a payload of 16 hexadecimal digits per long word")
    return DebugSet(memory, int(count), _payload(rest), line)


def parse_preset(text: str, line: int) -> DramPreset:
    """``r <group> <address> <count> <payload>``."""
    match = _PRESET.fullmatch(text)
    if match is None or int(match[1]) > 3:
        raise TokenError(text, "r, a group 0..3, 9 hexadecimal digits, 3 hexadecimal digits and a payload")
    payload = _payload(match[4])
    if len(payload) != int(match[3], 16):
        raise TokenError(match[3], f"the count of the payload, {len(payload):03x}")
    return DramPreset(int(match[1]), int(match[2], 16), payload, line)


def debug_operand(text: str) -> DebugOperand:
    """Memory, width, address and scope of a debug statement."""
    if match := _PE.fullmatch(text):
        memory, width, address, scope = Memory(match[2]), WIDTHS[match[1]], match[3], match.groups()[3:]
        if memory in (Memory.MATRIX_X, Memory.MATRIX_Y) and width == 1:
            raise TokenError(text, "a matrix bank with l or ll, such as $lx0")
    elif match := _L1BM.fullmatch(text):
        memory, width, address, scope = Memory.L1BM, WIDTHS[match[1]], match[2], match.groups()[2:]
    elif match := _UPPER.fullmatch(text):
        memory, width, address, scope = Memory(match[1]), 1, match[2], match.groups()[2:]
    elif match := _T.fullmatch(text):
        memory, width, address, scope = Memory.T, WIDTHS[match[1]], "0", match.groups()[1:]
    elif match := _MASK.fullmatch(text):
        memory, width, address, scope = Memory.MASK, 1, match[1], match.groups()[1:]
    else:
        raise TokenError(text, "a memory with its scope, such as $lm0n0c0b0m0p0")
    n, c, b, m, p = (int(s) if s else None for s in scope)
    for level, value in enumerate((n, c, b, m, p)):
        if value is not None and (value >= _LIMITS[level] or level >= LEVELS.get(memory, 5)):
            raise TokenError(text, "a scope within n0..3 c0..1 b0..7 m0..15 p0..3, levels of the memory only")
    return DebugOperand(memory, width, int(address), (n, c, b, m, p))


def _payload(text: str) -> tuple[int, ...]:
    """Long words: 16 hexadecimal digits each, or tokens ``l<16 digits>``; other tokens are refused (OPEN-03)."""
    digits = text.replace(" ", "").replace("\t", "")
    if digits[:1] == "l":
        longs = digits[1:].split("l")
        if any(len(group) != 16 for group in longs):
            raise TokenError(text, "tokens l<16 hexadecimal digits>")
        digits = "".join(longs)
    if len(digits) % 16 or _HEX.fullmatch(digits) is None:
        raise TokenError(text, "a payload of 16 hexadecimal digits per long word, or tokens l<16 digits>")
    return tuple([int(digits[i : i + 16], 16) for i in range(0, len(digits), 16)])
