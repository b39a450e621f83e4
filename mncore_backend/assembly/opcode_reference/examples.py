"""A program for every opcode: sets inputs, runs the opcode, prints the result. All of them keep the strict rules."""

import struct

from mnc.mncore_backend.assembly.isa import ELEMENT_BITS, OpcodeInfo, Port, Unit
from mnc.mncore_backend.assembly.opcode_reference.transfer_examples import WAIT_EXAMPLE, transfer_example

FLOAT_INPUTS = {"x": (2.25, -3.5, 0.5, -0.75), "y": (1.5, 4.0, -2.0, 8.0), "z": (10.0, 20.0, 30.0, 40.0)}
"""Values of the four cycles; all elements of a long word are alike."""
INTEGER_INPUTS = {"x": (6.0, -3.0, 0.0, 100.0), "y": (3.0, 5.0, 1.0, 2.0)}
_MANTISSA = {"d": (11, 52), "f": (8, 23), "g": (8, 23), "h": (6, 9)}


def element(value: float, precision: str) -> int:
    """Bits of a number that the precision holds exactly."""
    if precision in "lis":
        return int(value) & ((1 << ELEMENT_BITS[precision]) - 1)
    (double,) = struct.unpack(">Q", struct.pack(">d", value))
    exponent_bits, mantissa_bits = _MANTISSA[precision]
    exponent = (double >> 52 & 2047) - 1023 + (1 << (exponent_bits - 1)) - 1 if value else 0
    mantissa = double >> (52 - mantissa_bits) & ((1 << mantissa_bits) - 1)
    return double >> 63 << (exponent_bits + mantissa_bits) | exponent << mantissa_bits | mantissa


def long_word(values: list[float], precision: str) -> str:
    """16 hexadecimal digits: the values, repeated until the long word is full, first one at the top."""
    bits, word = ELEMENT_BITS[precision], 0
    for index in range(64 // bits):
        word = word << bits | element(values[index % len(values)], precision)
    return f"{word:016x}"


def _setting(place: str, values: tuple[float, ...], precision: str, two_long: bool = False) -> str:
    longs = [long_word([value], precision) for value in values for _ in range(1 + two_long)]
    count = len(values)
    return f"d set {place} {count} {' '.join(longs)}"


def input_values(info: OpcodeInfo) -> dict[str, tuple[float, ...]]:
    """Values of x, y and z that the example of a calculation reads."""
    return INTEGER_INPUTS if info.precision in ("", "l", "i", "s") else FLOAT_INPUTS


def example(info: OpcodeInfo) -> str:
    """The text of a program that shows what the opcode does, ready for `mnc run`."""
    if info.unit in (Unit.NOP, Unit.NOFORWARD, Unit.WAIT):
        lines = _CONTROL.get(info.mnemonic, WAIT_EXAMPLE)
    elif info.unit in (Unit.MWRITE, Unit.MREAD) or Port.MATRIX in info.ports:
        lines = _matrix(info)
    elif info.unit in (Unit.ALU, Unit.MAU):
        lines = _calculation(info)
    else:
        lines = transfer_example(info)
    return "\n".join(lines) + "\n"


_CONTROL = {
    "nop": ["lpassa $peid $lr0", "nop/2", "linc $lr0 $ls0", "d get $ls0n0c0b0m0 1"],
    "noforward": [
        "d set $lr0 1 3ff0000000000000",
        "lpassa $peid $nowrite",
        "noforward; dvpassa $lr0 $ls8  # $aluf stays what it was",
        "linc $aluf $ls0",
        "d get $ls0n0c0b0m0 1",
    ],
}


def _dtype(info: OpcodeInfo, integer_result: bool) -> str:
    if info.precision in ("", "l", "i", "s") or integer_result:
        return ""
    return "f" if info.precision == "g" else info.precision


def _calculation(info: OpcodeInfo) -> list[str]:
    """ALU and vector operations: x in LM0, y in LM1, the addend in GRF0, the result in GRF1."""
    precision = info.precision or "l"
    differs = info.operation in ("bfn", "bfe", "msl", "msr") or bool(info.half)
    names = iter(("x", "y"))
    places = {"x": "m", "y": "n", "z": "r"}
    head, sources = [], []
    for port, width in zip(info.ports, info.widths, strict=True):
        if port is Port.LITERAL:
            sources.append('f"1.5"' if info.mnemonic == "imm" else 'i"0x40180000"')
            continue
        name = "z" if port is Port.ADDEND else next(names)
        wide = width == 4 and precision == "h"
        prefix = "ll" if wide else "l"
        at = "f" if port is Port.ADDEND and precision == "h" else precision
        values = input_values(info)[name]
        for pe in range(4) if differs and name == "x" else (None,):
            scope = "" if pe is None else f"p{pe}"
            shown = values if pe is None else tuple(value * (pe + 1) for value in values)
            head.append(_setting(f"${prefix}{places[name]}0{scope}", shown, at, wide))
        sources.append(f"${prefix}{places[name]}0v")
    wide = precision == "h" and (info.unit is Unit.MAU or info.operation in ("bfn", "bfe"))
    target = f"${'ll' if wide else 'l'}s0"
    name = info.mnemonic + ("/9" if info.mnemonic in ("hbfn", "hbfe") else "")
    line = " ".join([name, *sources, f"{target}v", *(["$omr1"] if info.flags else [])])
    where = "n0c0b0m0" + ("" if differs else "p0")
    dtype = _dtype(info, info.operation == "ftoi")
    dtype = f"b{info.precision}" if info.operation in ("bfn", "bfe") else dtype
    dtype = "f" if wide and info.unit is Unit.MAU else {"imm": "f", "immu": "d"}.get(info.mnemonic, dtype)
    shows = [f"d get{dtype} {target}{where} 4"]
    shows += ["d get $omr1n0c0b0m0p0 1"] if info.flags else []
    return [*head, line, *shows]


_ROWS = {"d": 4, "f": 8, "g": 8, "h": 16}


def _rows(precision: str, first: str, diagonal: bool) -> list[str]:
    """Lines that set every row of a matrix: PE p holds the elements of its part of the row."""
    size = _ROWS[precision]
    part = size // 4
    lines = []
    for pe in range(4):
        longs = []
        for row in range(size):
            columns = range(part * pe, part * (pe + 1))
            value = (lambda r, c: float(r + 1 if r == c else 0)) if diagonal else (lambda r, c: float(10 * r + c))
            longs.append(long_word([value(row, column) for column in columns], precision))
        lines.append(f"d set {first}p{pe} {size} {' '.join(longs)}")
    return lines


def _matrix(info: OpcodeInfo) -> list[str]:
    """A diagonal matrix times a vector of ones, or a matrix written and read back transposed."""
    precision = info.precision
    writes = _ROWS[precision] // 4
    transposes = info.unit in (Unit.MWRITE, Unit.MREAD)
    head = _rows(precision, "$lm0", not transposes)
    if transposes:
        fill = [f"{precision}mwrite $lm{8 * k}v $lx{4 * k}" for k in range(writes)]
        bank, wide = ("$llx0", "$lls0") if precision == "h" else ("$lx0", "$ls0")
        dtype = "f" if precision == "g" else precision
        return [*head, *fill, f"{precision}mread {bank} {wide}v", f"d get{dtype} {wide}n0c0b0m0 1"]
    convert = f"{precision}bfn" + ("/9" if precision == "h" else "")
    wide = "ll" if precision == "h" else "l"
    if precision == "h":  # conversion reads 2-longs: two rows at once
        fill = [line for k in range(2) for line in (f"{convert} $llm{16 * k}v $nowrite", f"hmwrite $aluf $llx{8 * k}")]
    else:
        fill = []
        for k in range(writes):
            fill += [f"{convert} $lm{8 * k}v $nowrite", f"{precision}mwrite $aluf $lx{4 * k}"]
    vector = [f"d set ${wide}n0 1 {' '.join([long_word([1.0], precision)] * (1 + (precision == 'h')))}"]
    used = [f"{convert} ${wide}n0 $lr0", "nop/2"]
    sources = ["$lx", "$r0" if precision == "f" else "$lr0"]
    if info.ports[-1] is Port.ADDEND:
        addend = "f" if precision == "h" else precision
        vector.append(f"d set ${wide}s8 1 {' '.join([long_word([0.5], addend)] * (1 + (precision == 'h')))}")
        sources.append(f"${wide}s8")
    target = f"${wide}s0"
    dtype = "d" if precision == "d" else "f"
    line = f"{info.mnemonic} {' '.join(sources)} {target}"
    return [*head, *vector, *fill, *used, line, f"d get{dtype} {target}n0c0b0m0 1"]
