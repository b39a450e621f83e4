"""Expectations of a testcase: what the comment of a ``d get`` says, and whether an element fulfils it.

Two notations are read. The vendor's names a type, which says how the bits of the dumped long words are read whatever
the dtype of the statement, and may name positions in one result tensor::

    d getd $lm0n0c0b0m0p0 2   # expect=[1, 2, 3, 4] / Float @[0,0],[0,1],[1,0],[1,1] atol=1e-6 rtol=1e-4
    d getd $lb0n0c0b0 1       # expect="MN-Core2" / String

Ours has no type: numbers are read by the dtype of the statement (without dtype: 64-bit integers) or by ``dtype=``.
Hexadecimal literals are bit patterns in both. An element fails when its error exceeds `atol` and `rtol` times what was
expected; both are 0 by default.
"""

import math
import re
from dataclasses import dataclass, replace
from fractions import Fraction

from mnc.mncore_backend.assembly.records import DebugGet
from mnc.mncore_backend.emulator.debug_format import block_number, elements, number
from mnc.mncore_backend.emulator.element_types import BYTE_OF_TEXT, TYPES, ElementType, Number
from mnc.mncore_backend.emulator.expectation_spelling import check_spelling

_LIST = re.compile(r"\bexpect(?:ed)?\s*=\s*\[([^\]]*)\]")
_TEXT = re.compile(r'\bexpect(?:ed)?\s*=\s*"((?:[^"\\]|\\.)*)"')
_TYPE = re.compile(r"\s*/\s*([A-Za-z][A-Za-z0-9_]*)")
_POSITIONS = re.compile(r"@\s*(\[[^\]]*\](?:\s*,?\s*\[[^\]]*\])*)")
_POSITION = re.compile(r"\[([^\]]*)\]")
_OPTION = re.compile(r"\b(atol|rtol|dtype)\s*=\s*([^\s,;]+)")
_ESCAPE = re.compile(r"\\(x[0-9a-fA-F]{2}|.)")
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "0": "\0", '"': '"', "\\": "\\", "'": "'"}
_OUR_TYPES = {"int64": "Long", "int32": "Int", "int16": "Short", "uint64": "ULong", "uint32": "UInt",
              "uint16": "UShort", "float64": "Double", "double": "Double", "float32": "Float", "float": "Float",
              "float16": "Half", "half": "Half"}  # fmt: skip
Position = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Tolerance:
    """Errors that are forgiven, absolute and relative to what was expected. Finite or infinite, never negative."""

    absolute: float = 0.0
    relative: float = 0.0

    def forgives(self, value: Number, wanted: Number) -> bool:
        """Is the error of `value` within one of the two? Exact, whatever the size of the numbers."""
        if isinstance(wanted, float) and not math.isfinite(wanted):
            return value == wanted
        if isinstance(value, float) and not math.isfinite(value):
            return math.inf in (self.absolute, self.relative)
        error, size = abs(Fraction(value) - Fraction(wanted)), abs(Fraction(wanted))
        return math.inf in (self.absolute, self.relative) or (
            error <= Fraction(self.absolute) or error <= Fraction(self.relative) * size
        )


@dataclass(frozen=True, slots=True)
class Expectation:
    """One ``d get`` with what it must show. `bits` marks values given as bit patterns; `element` is the type that the
    comment names; `positions` are those of the values in the result tensor, if the comment names them."""

    statement: DebugGet
    values: tuple[Number, ...]
    bits: tuple[bool, ...]
    tolerance: Tolerance
    element: ElementType | None = None
    is_vendor: bool = False
    positions: tuple[Position, ...] = ()

    def with_tolerance(self, tolerance: Tolerance) -> "Expectation":
        """The same with other tolerances."""
        return replace(self, tolerance=tolerance)


@dataclass(frozen=True, slots=True)
class Element:
    """An element that a ``d get`` shows."""

    value: Number
    pattern: int
    width: int


def read_expectation(statement: DebugGet, comment: str) -> Expectation | None:
    """The expectation in the comment behind a ``d get``, None if it has none. Raises ValueError."""
    text = _TEXT.search(comment)
    found = text or _LIST.search(comment)
    check_spelling(comment, is_read=found is not None)
    if found is None:
        return None
    before, behind = comment[: found.start()], comment[found.end() :]
    options = dict(_OPTION.findall(behind + " " + before))
    tolerance = Tolerance(_tolerance(options.get("atol", "0")), _tolerance(options.get("rtol", "0")))
    named = _TYPE.match(behind)
    positions = _positions(behind)
    if text is not None:
        if named is not None and named[1] != "String":
            raise ValueError(f"a text is of type String, not {named[1]}")
        values: tuple[Number, ...] = tuple(_unescaped(text[1]).encode())
        return Expectation(statement, values, (False,) * len(values), tolerance, BYTE_OF_TEXT, True)
    element = _element(named[1]) if named else _our_element(options.get("dtype", ""))
    values, bits = _values(found[1])
    return Expectation(statement, values, bits, tolerance, element, named is not None, positions)


def _tolerance(text: str) -> float:
    value = float(text)
    if not value >= 0:
        raise ValueError(f"a tolerance is a number from 0, not {text}")
    return value


def _element(name: str) -> ElementType:
    by_lower_case = {key.lower(): element for key, element in TYPES.items()}
    if name.lower() == "string":
        raise ValueError('a String is expected as expect="text"')
    if name.lower() not in by_lower_case:
        known = ", ".join(TYPES)
        raise ValueError(f"unknown type '{name}'; known are {known} and String")
    return by_lower_case[name.lower()]


def _our_element(name: str) -> ElementType | None:
    if not name:
        return None
    if name not in _OUR_TYPES:
        raise ValueError(f"unknown dtype '{name}'")
    return TYPES[_OUR_TYPES[name]]


def _values(text: str) -> tuple[tuple[Number, ...], tuple[bool, ...]]:
    """Numbers of an ``expect`` list and which of them are bit patterns."""
    tokens = [token.strip().strip("'\"") for token in text.split(",") if token.strip()]
    bits = tuple(token.lower().startswith("0x") for token in tokens)
    parsed: list[Number] = []
    for token, is_bits in zip(tokens, bits, strict=True):
        if is_bits:
            parsed.append(int(token, 16))
        else:
            parsed.append(int(token) if re.fullmatch(r"[+-]?\d+", token) else float(token))
    return tuple(parsed), bits


def _positions(text: str) -> tuple[Position, ...]:
    match = _POSITIONS.search(text)
    if match is None:
        return ()
    groups: list[str] = _POSITION.findall(match[1])
    found = tuple(tuple(int(index) for index in group.split(",")) for group in groups)
    if any(index < 0 for position in found for index in position):
        raise ValueError("positions count from 0")
    return found


def _unescaped(text: str) -> str:
    def character(match: re.Match[str]) -> str:
        code = match[1]
        if code[0] == "x" and len(code) == 3:
            return chr(int(code[1:], 16))
        return _ESCAPES.get(code, match[0])

    return _ESCAPE.sub(character, text)


def shown_elements(expectation: Expectation, longs: list[int]) -> list[Element]:
    """The elements of the payload longs of the ``d get``, in the order it prints them. A single word stands in the
    MSB half of its long."""
    statement = expectation.statement
    single = statement.operand.width == 1 and statement.operand.memory.value in ("m", "n", "r", "s")
    element = expectation.element
    if element is not None:
        size = 32 if single and element.width <= 32 else 64
        values = [value >> 32 for value in longs] if size == 32 else longs
        parts = [value >> shift & element.ones for value in values for shift in element.shifts(size)]
        return [Element(element.value(part), part, element.width) for part in parts]
    letter = statement.dtype[-1:] or ("f" if single else "d")
    width = {"d": 64, "f": 32, "g": 32, "h": 16}[letter]
    found: list[Element] = []
    for long in longs:
        parts = elements(long, letter)
        for pattern in parts[: len(parts) // 2] if single and letter != "d" else parts:
            if not statement.dtype:
                value = pattern - (1 << width) if pattern >> (width - 1) else pattern
            else:
                value = (block_number if statement.dtype.startswith("b") else number)(pattern, letter)
            found.append(Element(value, pattern, width))
    return found


def holds(expectation: Expectation, index: int, found: Element) -> bool:
    """Does an element fulfil value `index` of an expectation? Without a type, an integer may be written signed or
    unsigned."""
    wanted = expectation.values[index]
    tolerance = expectation.tolerance
    if expectation.bits[index]:
        return wanted == found.pattern
    if found.value == wanted or tolerance.forgives(found.value, wanted):
        return True
    element = expectation.element
    if element is not None and element.is_float and math.isfinite(found.value):
        rounded = element.rounded(wanted)
        return math.isfinite(rounded) and (found.value == rounded or tolerance.forgives(found.value, rounded))
    if expectation.is_vendor or not (isinstance(wanted, int) and isinstance(found.value, int)):
        return False
    turn = 1 << found.width
    return abs(wanted) < turn and any(tolerance.forgives(found.value + way, wanted) for way in (-turn, turn))
