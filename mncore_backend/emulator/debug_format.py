"""Text of a ``d get`` element (SDM 3.4.3, tutorial output)."""

import struct

_DIGITS = {"d": 16, "f": 8, "h": 4}
_BITS = {"d": 64, "f": 32, "h": 16}
_FIELDS = {"d": (11, 52), "f": (8, 23), "g": (8, 23), "h": (6, 9)}


def _general(value: float) -> str:
    """C ``%g``; infinities as ``inf`` and ``-inf`` (OPEN-02)."""
    return f"{value:g}"


def number(bits: int, letter: str) -> float:
    """Value of a floating-point pattern: exponent 0 is a zero, all ones an infinity whatever the mantissa (SDM 4.2)."""
    exponent_bits, mantissa_bits = _FIELDS[letter]
    sign = -1.0 if bits >> (exponent_bits + mantissa_bits) else 1.0
    exponent = bits >> mantissa_bits & ((1 << exponent_bits) - 1)
    if exponent == 0:
        return 0.0 * sign
    if exponent == (1 << exponent_bits) - 1:
        return float("inf") * sign
    if letter == "d":
        return struct.unpack(">d", bits.to_bytes(8, "big"))[0]
    mantissa = bits & ((1 << mantissa_bits) - 1)
    return sign * (1 + mantissa / (1 << mantissa_bits)) * 2.0 ** (exponent - (1 << (exponent_bits - 1)) + 1)


def block_number(bits: int, letter: str) -> float:
    """Value of a block-float pattern: no hidden bit, the mantissa MSB weighs 2^(e - bias) (SDM 4.5)."""
    exponent_bits, mantissa_bits = _FIELDS[letter]
    sign = -1.0 if bits >> (exponent_bits + mantissa_bits) else 1.0
    exponent = bits >> mantissa_bits & ((1 << exponent_bits) - 1)
    mantissa = bits & ((1 << mantissa_bits) - 1)
    if letter == "g":
        mantissa &= ~31
    if exponent == (1 << exponent_bits) - 1:
        return float("inf") * sign
    if exponent == 0:
        return 0.0 * sign
    bias = (1 << (exponent_bits - 1)) - 1
    return sign * mantissa * 2.0 ** (exponent - bias - (mantissa_bits - 1))


def elements(long: int, letter: str) -> list[int]:
    """Element patterns of a long word, MSB side first."""
    bits = _BITS["f" if letter == "g" else letter]
    return [long >> shift & ((1 << bits) - 1) for shift in range(64 - bits, -1, -bits)]


def format_element(value: int, dtype: str, is_word: bool) -> str:
    """What stands between the colon and the echo. A single word stands in the MSB half of `value` (OPEN-02: one element
    of a single-word operand prints its word only)."""
    if not dtype:
        return _plain(value, is_word)
    letter = dtype[-1]
    shape = "f" if letter == "g" else letter
    parts = elements(value, letter)
    if is_word and shape != "d":
        parts = parts[: len(parts) // 2]
    convert = block_number if dtype.startswith("b") else number
    texts = ", ".join(_general(convert(part, letter)) for part in parts)
    hexadecimal = ", ".join(f"0x{part:0{_DIGITS[shape]}x}" for part in parts)
    return f"({texts}) ({hexadecimal})"


def _plain(value: int, is_word: bool) -> str:
    halves = [value >> shift & 0xFFFF for shift in (48, 32, 16, 0)]
    if is_word:
        word = value >> 32
        return f"(f:{_general(number(word, 'f'))}, i:{{0x{halves[0]:X},0x{halves[1]:X}}}, v:0x{word:X})"
    a, b, c, d = (f"0x{half:X}" for half in halves)
    return f"(f:{_general(_double(value))}, i:{{{{{a},{b}}},{{{c},{d}}}}}, v:0x{value:X})"


def _double(value: int) -> float:
    return number(value, "d")


def format_mask(scope: str, entry: int, nibble: int, echo: str) -> str:
    """One nibble of a mask register; bit 0 of the manual counts 8 (OPEN-04)."""
    return f"DEBUG-OMR({scope},{entry}):Mask{{{nibble}}} #{echo}"
