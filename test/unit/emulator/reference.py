# pyright: reportGeneralTypeIssues=false, reportReturnType=false, reportCallIssue=false, reportArgumentType=false
"""A slow, independent interpreter of PE statements for the four PEs of one MAB, built on the integer definitions.

Memories are lists of 32-bit words; every cycle is a loop over PEs and elements. It knows nothing of rows, kernels or
plans, and follows SDM 3.6.1 (operands), 3.6.2 (masks), 3.6.9 to 3.6.12 (units) statement by statement.
"""

import struct

from mnc.mncore_backend.assembly.records import Expression, Literal, Mask, Memory, Operand, Step
from mnc.mncore_backend.emulator.numerics import alu_float, alu_integer, block_float, conversion, mau_matrix, mau_vector
from mnc.mncore_backend.emulator.numerics.formats import FORMATS, LANE_BITS

SIZES = {Memory.LM0: 4096, Memory.LM1: 4096, Memory.GRF0: 512, Memory.GRF1: 512}
Data = list[int]  # the words D0..D3
HALVED = ("dvfma", "dvmul", "dmfma", "dmmul")  # followed by u or d
ROWS = {"d": 4, "f": 8, "g": 8, "h": 16}


def split(words: list[int], bits: int) -> list[int]:
    """Elements of consecutive words, first at the MSB side."""
    if bits == 64:
        return [words[i] << 32 | words[i + 1] for i in range(0, len(words), 2)]
    if bits == 32:
        return list(words)
    return [part for word in words for part in (word >> 16, word & 0xFFFF)]


def merge(parts: list[int], bits: int) -> list[int]:
    """Inverse of `split`."""
    if bits == 64:
        return [word for part in parts for word in (part >> 32, part & 0xFFFFFFFF)]
    if bits == 32:
        return list(parts)
    return [parts[i] << 16 | parts[i + 1] for i in range(0, len(parts), 2)]


class Reference:
    """State of one MAB."""

    def __init__(self) -> None:
        self.memory = {m: [[0] * size for _ in range(4)] for m, size in SIZES.items()}
        self.t = [[[0] * 4 for _ in range(4)] for _ in range(4)]  # [cycle][pe]
        self.masks = [[[0] * 4 for _ in range(4)] for _ in range(16)]  # [entry][cycle][pe]
        self.banks = {m: [[[0, 0] for _ in range(4)] for _ in range(16)] for m in (Memory.MATRIX_X, Memory.MATRIX_Y)}
        self.latches: dict[Memory, list[list[Data]]] = {}

    def run(self, step: Step) -> None:
        """One PE statement: everything reads the state before it, then the writes happen in cycle order."""
        opcodes = [e.opcode for e in step.expressions]
        if "nop" in opcodes:
            return
        writes: list[tuple[int, Operand, list[Data], list[list[int]]]] = []
        results: dict[Memory, list[list[Data]]] = {}
        rows: list[tuple[Memory, int, list[list[int]]]] = []
        for expression in step.expressions:
            if expression.opcode in ("noforward", "wait"):
                continue
            if expression.opcode[1:] == "mwrite":
                rows += self.matrix_write(expression)
                continue
            latch, values, flags = self.compute(expression)
            if expression.zero_flush is not None:
                values = [self.flush(expression.zero_flush, c, values[c]) for c in range(4)]
            results[latch] = values
            for destination in expression.destinations:
                for cycle in range(4):
                    writes.append((cycle, destination, values[cycle], [flags[cycle]]))
        self.commit(writes)
        for bank, row, longs in rows:
            self.banks[bank][row] = longs
        if "noforward" not in opcodes:
            self.latches = results

    # ---- operands ----

    def address(self, operand: Operand, cycle: int, pe: int) -> int:
        """First word of an access."""
        address = operand.addresses()[cycle]
        if operand.t_indirect:
            address += self.t[cycle][pe][1]
        if operand.pe_offset is not None and pe <= operand.pe_offset:
            address += operand.width
        return address % SIZES[operand.memory] // operand.width * operand.width

    def fetch(self, operand: Operand, cycle: int, pe: int, bits: int = 64) -> Data:
        """D0..D3 before suffixes."""
        memory = operand.memory
        if memory in SIZES:
            first = self.address(operand, cycle, pe)
            words = self.memory[memory][pe][first : first + operand.width]
            return words + [0] * (4 - len(words))
        if memory is Memory.T:
            return list(self.t[cycle][pe])
        if memory is Memory.SUBPEID:
            return merge([pe] * (128 // bits), bits)
        if memory is Memory.MSB1:
            return merge([1 << (bits - 1)] * (128 // bits), bits)
        held = self.latches.get(memory)
        return list(held[cycle][pe]) if held else [0] * 4

    def source(self, operand: Operand, cycle: int, pe: int, bits: int, form: str = "") -> Data:
        """D0..D3 with ``e``, ``r`` and ``-`` applied; `form` is the format of the elements wanted."""
        data = self.fetch(operand, cycle, pe, bits)
        if operand.suffix == "r":
            data = [*merge([conversion.half_from_single(x) for x in data], 16), 0, 0]
        elif operand.suffix == "e":
            wide = FORMATS[form]
            narrow = FORMATS[{"f": "h", "d": "f"}[form]]
            count = 4 if bits == 16 else (2 if form == "f" else 1)
            parts = split(data, narrow.bits)[:count]
            data = merge([conversion.widen(narrow, wide, x) for x in parts], wide.bits)
            data += [0] * (4 - len(data))
        if operand.negate:
            wide = FORMATS[form]
            data = merge([conversion.negate(wide, x) for x in split(data, wide.bits)], wide.bits)
        return data

    # ---- units ----

    def compute(self, expression: Expression) -> tuple[Memory, list[list[Data]], list[list[int]]]:
        """(latch, values [cycle][pe], flag nibbles [cycle][pe])."""
        opcode = expression.opcode
        if opcode[1:] == "mread":
            return Memory.MREADF, *self.matrix_read(expression)
        body = opcode[:-1] if opcode[:-1] in HALVED else opcode
        if body[1:] in ("vfma", "vmul", "vadd", "vpassa"):
            half = opcode[len(body) :]
            return Memory.MAUF, *self.vector(expression, body[0], body[2:], half)
        if body[1:] in ("mfma", "mmul"):
            return Memory.MAUF, *self.matrix(expression, body[0], opcode[len(body) :])
        return Memory.ALUF, *self.alu(expression)

    def alu(self, expression: Expression):
        opcode = expression.opcode
        if opcode in ("zero", "imm", "immu"):
            word = immediate(expression.literal) if expression.literal is not None else 0
            row = [word, 0 if opcode == "immu" else word] * 2
            return [[list(row) for _ in range(4)] for _ in range(4)], NO_FLAGS
        if opcode.endswith(("bfn", "bfe")):
            return self.block_float(expression)
        if opcode in ("msl", "msr"):
            return self.rotate(expression)
        unsigned = opcode.startswith("u")
        precision, op = (opcode[1], opcode[2:]) if unsigned else (opcode[0], opcode[1:])
        bits = LANE_BITS[precision]
        values, flags = [], []
        for cycle in range(4):
            row, nibbles = [], []
            for pe in range(4):
                x = self.source(expression.sources[0], cycle, pe, bits, precision)
                y = [0] * 4
                if len(expression.sources) > 1:
                    y = self.source(expression.sources[1], cycle, pe, bits, precision)
                parts = []
                for a, b in zip(split(x[:2], bits), split(y[:2], bits), strict=True):
                    if op in alu_float.OPERATIONS and precision in "dfh":
                        parts.append(alu_float.floating(op, FORMATS[precision], a, b, unsigned))
                    else:
                        parts.append(alu_integer.integer(op, bits, a, b, unsigned))
                row.append(merge([value for value, _ in parts], bits) + x[2:])
                nibbles.append(nibble([flag or 0 for _, flag in parts]))
            values.append(row)
            flags.append(nibbles)
        return values, flags

    def rotate(self, expression: Expression):
        values = []
        for cycle in range(4):
            data = [self.source(expression.sources[0], cycle, pe, 64) for pe in range(4)]
            shift = 1 if expression.opcode == "msr" else -1
            values.append([data[(pe + shift) % 4][:2] + data[pe][2:] for pe in range(4)])
        return values, NO_FLAGS

    def block_float(self, expression: Expression):
        precision = expression.opcode[0]
        bits = LANE_BITS[precision]
        values = []
        for cycle in range(4):
            data = [self.source(expression.sources[0], cycle, pe, bits, precision) for pe in range(4)]
            msb = self.convert(expression, [split(d[:2], bits) for d in data])
            lsb = [[0] * (64 // bits)] * 4
            if precision == "h":
                lsb = self.convert(expression, [split(d[2:], bits) for d in data])
                values.append([merge(a, bits) + merge(b, bits) for a, b in zip(msb, lsb, strict=True)])
            else:
                values.append([merge(a, bits) + d[2:] for a, d in zip(msb, data, strict=True)])
        return values, NO_FLAGS

    @staticmethod
    def convert(expression: Expression, parts: list[list[int]]) -> list[list[int]]:
        precision, n = expression.opcode[0], len(parts[0])
        if precision == "f":
            words = [block_float.block_normalise("f", [p[i] for p in parts]) for i in range(2)]
            return [[words[0][pe], words[1][pe]] for pe in range(4)]
        flat = [x for p in parts for x in p]
        keep = int(expression.modifier.lstrip("/") or 9)
        if expression.opcode == "hbfe":
            done = block_float.half_extended(flat, keep)
        else:
            done = block_float.block_normalise(precision, flat, keep)
        return [done[n * pe : n * pe + n] for pe in range(4)]

    def addend(self, operand: Operand, cycle: int, pe: int, precision: str) -> Data:
        wide = "d" if precision == "d" else "f"
        return self.source(operand, cycle, pe, 16 if precision == "h" else 32, wide)

    def vector(self, expression: Expression, precision: str, op: str, half: str):
        bits, form, narrow = LANE_BITS[precision], FORMATS[precision], "r" in expression.modifier
        wide = 64 if precision == "d" else 32
        values, flags = [], []
        for cycle in range(4):
            row, nibbles = [], []
            for pe in range(4):
                sources = expression.sources
                x = split(self.source(sources[0], cycle, pe, bits, precision)[:2], bits)
                y, z = [0] * len(x), [0] * len(x)
                if op in ("fma", "mul"):
                    y = split(self.source(sources[1], cycle, pe, bits, precision)[:2], bits)
                if op in ("fma", "add"):
                    z = split(self.addend(sources[-1], cycle, pe, precision), wide)[: len(x)]
                if half:
                    out = [mau_vector.double_vector(op, half, pe, x[0], y[0], z[0], narrow)]
                else:
                    out = [mau_vector.vector(op, form, *abc, narrow) for abc in zip(x, y, z, strict=True)]
                row.append(padded(out, precision, narrow))
                nibbles.append(nibble([1 - (o >> (result_bits(precision, narrow) - 1)) for o in out]))
            values.append(row)
            flags.append(nibbles)
        return values, flags

    def matrix(self, expression: Expression, precision: str, half: str):
        bank = self.elements_of(expression.sources[0].memory, precision)
        bits, narrow = LANE_BITS[precision], "r" in expression.modifier
        wide = 64 if precision == "d" else 32
        per_pe = {"d": 1, "f": 2, "g": 2, "h": 4}[precision]
        values, flags = [], []
        for cycle in range(4):
            x: list[int] = []
            c: list[int] = []
            for pe in range(4):
                parts = split(self.source(expression.sources[1], cycle, pe, bits, precision)[:2], bits)
                x += parts[:1] if precision == "f" else parts
                data = [0] * 4
                if len(expression.sources) > 2:
                    data = self.addend(expression.sources[2], cycle, pe, precision)
                c += split(data, wide)[:per_pe]
            out = mau_matrix.matrix_vector(precision, bank, x, c, half, narrow)
            chunks = [out[per_pe * pe : per_pe * pe + per_pe] for pe in range(4)]
            values.append([padded(chunk, precision, narrow) for chunk in chunks])
            top = result_bits(precision, narrow) - 1
            flags.append([nibble([1 - (o >> top) for o in chunk]) for chunk in chunks])
        return values, flags

    # ---- matrix registers ----

    def elements_of(self, bank: Memory, precision: str) -> list[list[int]]:
        bits = LANE_BITS[precision]
        return [[e for words in row for e in split(words, bits)] for row in self.banks[bank][: ROWS[precision]]]

    def matrix_write(self, expression: Expression):
        precision, target = expression.opcode[0], expression.destinations[0]
        pace = 2 if target.width == 4 else 1
        rows = []
        for cycle in range(4):
            data = [self.source(expression.sources[0], cycle, pe, LANE_BITS[precision], precision) for pe in range(4)]
            first = (target.address + pace * cycle) % ROWS[precision]
            rows.append((target.memory, first, [d[:2] for d in data]))
            if pace == 2:
                rows.append((target.memory, first + 1, [d[2:] for d in data]))
        return rows

    def matrix_read(self, expression: Expression):
        precision, source = expression.opcode[0], expression.sources[0]
        bits = LANE_BITS[precision]
        bank = self.elements_of(source.memory, precision)
        per_pe = len(bank) // 4
        pace = 2 if precision == "h" else 1
        values = []
        for cycle in range(4):
            column = (source.address + pace * cycle) % len(bank)
            row = []
            for pe in range(4):
                rows = bank[per_pe * pe : per_pe * pe + per_pe]
                data = merge([r[column] for r in rows], bits)
                data += merge([r[column + 1] for r in rows], bits) if precision == "h" else [0, 0]
                row.append(data)
            values.append(row)
        return values, NO_FLAGS

    # ---- results ----

    def nibble_of(self, mask: Mask, cycle: int, pe: int) -> int:
        if mask.pattern is not None:
            return 15 if mask.pattern[cycle] == "1" else 0
        return self.masks[mask.entry][cycle][pe]

    def word_bits(self, mask: Mask | None, cycle: int, pe: int) -> list[int]:
        """Bits of D0..D3 that a mask lets through."""
        if mask is None:
            return [0xFFFFFFFF] * 4
        n = self.nibble_of(mask, cycle, pe)
        bits = [n >> (3 - k) & 1 for k in range(4)]
        if mask.two_long:
            return [0xFFFFFFFF * b for b in bits]
        halves = [0xFFFF * b for b in bits]
        return [halves[0] << 16 | halves[1], halves[2] << 16 | halves[3], 0xFFFFFFFF, 0xFFFFFFFF]

    def flush(self, mask: Mask, cycle: int, row: list[Data]) -> list[Data]:
        return [[w & b for w, b in zip(row[pe], self.word_bits(mask, cycle, pe), strict=True)] for pe in range(4)]

    def commit(self, writes: list[tuple[int, Operand, list[Data], list[list[int]]]]) -> None:
        planned = []
        for cycle, destination, row, (nibbles,) in writes:
            for pe in range(4):
                bits = self.word_bits(destination.mask, cycle, pe)
                first = self.address(destination, cycle, pe) if destination.memory in SIZES else 0
                governed = 15 if destination.mask is None else self.nibble_of(destination.mask, cycle, pe)
                planned.append((cycle, pe, destination, first, row[pe], bits, nibbles[pe], governed))
        for cycle, pe, destination, first, data, bits, flags, governed in planned:
            if destination.memory in SIZES:
                words = self.memory[destination.memory][pe]
                for i in range(destination.width):
                    words[first + i] = words[first + i] & ~bits[i] | data[i] & bits[i]
            elif destination.memory is Memory.T:
                entry = self.t[cycle][pe]
                entry[:] = [old & ~b | new & b for old, new, b in zip(entry, data, bits, strict=True)]
            elif destination.memory is Memory.MASK:
                old = self.masks[destination.address][cycle][pe]
                self.masks[destination.address][cycle][pe] = old & ~governed | flags & governed


def immediate(literal: Literal) -> int:
    """The 32-bit word of an immediate (SDM 3.2.2)."""
    kind, text = literal.kind, literal.text
    if kind in ("f", "h"):
        (single,) = struct.unpack(">I", struct.pack(">f", float(text)))
        half = conversion.half_from_single(single)
        return single if kind == "f" else half << 16 | half
    value = int(text, 0)
    return value & 0xFFFFFFFF if kind in ("i", "ui") else (value & 0xFFFF) * 0x10001


NO_FLAGS = [[0] * 4 for _ in range(4)]


def nibble(flags: list[int]) -> int:
    """Four bits: each flag repeated."""
    repeat = 4 // len(flags)
    return int("".join(str(flag) * repeat for flag in flags), 2)


def result_bits(precision: str, narrow: bool) -> int:
    """Width of a MAU result element."""
    wide = 64 if precision == "d" else 32
    return wide // 2 if narrow else wide


def padded(out: list[int], precision: str, narrow: bool) -> Data:
    """MAU result elements as D0..D3, zero behind them (OPEN-10)."""
    data = merge(out, result_bits(precision, narrow))
    return data + [0] * (4 - len(data))
