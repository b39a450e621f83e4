"""Poison of what the units compute: the shape of each operation, without its arithmetic (see `taint`)."""

import numpy as np
from numpy.typing import NDArray

from mnc.mncore_backend.assembly.records import Expression
from mnc.mncore_backend.emulator.arena import CYCLES
from mnc.mncore_backend.emulator.decode_alu import FLAGLESS, split_mnemonic
from mnc.mncore_backend.emulator.decode_l1bm import Port, turnaround_longs
from mnc.mncore_backend.emulator.decode_mau import ROWS_OF
from mnc.mncore_backend.emulator.geometry import PES_PER_MAB, geometry
from mnc.mncore_backend.emulator.reductions import split_reduction
from mnc.mncore_backend.emulator.taint import (
    BY_LONG,
    BY_WORD,
    FULL,
    HALVES_OF_WORDS,
    HIGH,
    LOW,
    SMEAR,
    Nibbles,
    Taint,
    clean,
    four_halves,
    unpoisoned,
)


def _mab_of() -> NDArray[np.int64]:
    """Of every PE of an L1B."""
    return np.arange(geometry().pes) >> 2


def _pe_of() -> NDArray[np.int64]:
    """Of every PE of an L1B, its number in its MAB."""
    return np.arange(geometry().pes) & 3


def per_mab(nibbles: Nibbles) -> Nibbles:
    """[block, ..., PE 64] as [block, ..., MAB, PE of the MAB]."""
    return nibbles.reshape(*nibbles.shape[:-1], geometry().mabs, PES_PER_MAB)


def _first_origin(*values: Taint):
    return next((v.origin for v in values if v.origin is not None and not v.is_clean), None)


# ---- ALU ----


def alu(expression: Expression, x: Taint, y: Taint | None) -> tuple[Taint, Nibbles | None]:
    """Result and flags of an ALU operation with inputs."""
    opcode = expression.opcode
    if opcode in ("msl", "msr"):
        turned = np.roll(per_mab(x.msb), 1 if opcode == "msl" else -1, axis=-1).reshape(x.msb.shape)
        return Taint(turned, x.lsb, x.origin), None
    if opcode[1:] in ("bfn", "bfe"):
        return _block_float(opcode[0], x), None
    operation, precision, _ = split_mnemonic(opcode)
    if operation == "passa":
        return x, SMEAR[precision][x.msb]
    result = SMEAR[precision][x.msb if y is None else x.msb | y.msb]
    flags = None if operation in FLAGLESS else result
    return Taint(result, x.lsb, _first_origin(x) if y is None else _first_origin(x, y)), flags


def _block_float(precision: str, x: Taint) -> Taint:
    """The elements of a block share their exponent."""

    def block(nibbles: Nibbles) -> Nibbles:
        gathered = np.bitwise_or.reduce(per_mab(nibbles), axis=-1, keepdims=True)
        spread = (BY_WORD if precision == "f" else BY_LONG)[gathered]
        return np.broadcast_to(spread, per_mab(nibbles).shape).reshape(nibbles.shape)

    return Taint(block(x.msb), block(x.lsb) if precision == "h" else x.lsb, x.origin)


# ---- MAU ----


def mau_vector(precision: str, half: str, reduces: bool, factors: list[Taint], addend: Taint | None):
    """Result and flags of vfma, vmul, vadd and vpassa."""
    c = addend or unpoisoned()
    product = np.bitwise_or.reduce([f.msb for f in factors])
    origin = _first_origin(*factors, c)
    if precision == "h":
        msb = BY_WORD[c.msb] | _words(product >> 2)
        lsb = BY_WORD[c.lsb] | _words(product & LOW)
        return _half_result(Taint(msb, lsb, origin), reduces)
    if half:
        product = np.where((_pe_of() < 2) == (half == "u"), product, np.uint8(0))
    return _result(precision, Taint(SMEAR[precision][product | c.msb], clean(), origin), reduces)


def _words(halves: Nibbles) -> Nibbles:
    """Two bits to two words."""
    return np.where(halves & 2, HIGH, np.uint8(0)) | np.where(halves & 1, LOW, np.uint8(0))


def _half_result(value: Taint, reduces: bool) -> tuple[Taint, Nibbles]:
    halves = four_halves(value.msb, value.lsb)
    return (Taint(halves, clean(), value.origin) if reduces else value), halves


def _result(precision: str, value: Taint, reduces: bool) -> tuple[Taint, Nibbles]:
    if not reduces:
        return value, value.msb
    narrow = value.msb & HIGH if precision == "d" else HALVES_OF_WORDS[value.msb] << 2
    return Taint(narrow, clean(), value.origin), value.msb


def mau_matrix(precision: str, half: str, reduces: bool, bank: Nibbles, x: Taint, addend: Taint | None):
    """Result and flags of mfma and mmul. `bank` is [block, row, PE]; every product of a row may be poisoned."""
    c = addend or unpoisoned()
    used = per_mab(bank & HIGH if precision == "f" else bank)
    rows = np.any(used, axis=-1)  # [block, row, MAB]
    vector = np.any(per_mab(x.msb & HIGH if precision == "f" else x.msb), axis=-1)  # [block, cycle, MAB]
    out = np.logical_or(rows[:, None], vector[:, :, None])[:, :, : ROWS_OF[precision]]  # [block, cycle, row, MAB]
    origin = _first_origin(x, c)
    if precision == "d":
        active = np.array([(row < 2) == (half == "u") for row in range(4)])
        poison = np.where(out & active[None, None, :, None], FULL, np.uint8(0))
        return _result("d", Taint(_of_rows(poison) | BY_LONG[c.msb], clean(), origin), reduces)
    pairs = out.reshape(geometry().blocks, CYCLES, -1, 2, geometry().mabs)
    words = np.where(pairs[:, :, :, 0], HIGH, np.uint8(0)) | np.where(pairs[:, :, :, 1], LOW, np.uint8(0))
    if precision == "h":  # PE p has rows 4p .. 4p+3
        msb, lsb = _of_rows(words[:, :, 0::2]), _of_rows(words[:, :, 1::2])
        return _half_result(Taint(msb | BY_WORD[c.msb], lsb | BY_WORD[c.lsb], origin), reduces)
    return _result(precision, Taint(_of_rows(words) | BY_WORD[c.msb], clean(), origin), reduces)


def _of_rows(nibbles: Nibbles) -> Nibbles:
    """[block, cycle, PE of a MAB, MAB] as [block, cycle, PE]."""
    return np.ascontiguousarray(nibbles.transpose(0, 1, 3, 2)).reshape(geometry().blocks, CYCLES, geometry().pes)


def matrix_read(precision: str, bank: Nibbles, first: int) -> Taint:
    """Transposed read: columns of a bank [block, row, PE] from `first` on, one per cycle, for halves two."""
    count = ROWS_OF[precision]
    pace = 2 if precision == "h" else 1
    parts = [
        np.stack([_column(precision, bank, (first + pace * cycle + part) % count) for cycle in range(CYCLES)], axis=1)
        for part in range(pace)
    ]
    return Taint(parts[0], parts[1] if pace == 2 else clean())


def _column(precision: str, bank: Nibbles, column: int) -> Nibbles:
    """[block, PE] of one column, transposed onto the PEs."""
    elements = {"d": 1, "f": 2, "g": 2, "h": 4}[precision]
    owner, part = divmod(column, elements)
    bits = 4 // elements
    ones = np.uint8((1 << bits) - 1)
    found = per_mab(bank)[:, : ROWS_OF[precision], :, owner] >> np.uint8(4 - bits * (part + 1)) & ones
    rows = found.reshape(geometry().blocks, PES_PER_MAB, elements, geometry().mabs)
    out = np.zeros((geometry().blocks, PES_PER_MAB, geometry().mabs), np.uint8)
    for index in range(elements):
        out |= rows[:, :, index] << np.uint8(4 - bits * (index + 1))
    return np.ascontiguousarray(out.transpose(0, 2, 1)).reshape(geometry().blocks, geometry().pes)


# ---- L1BM ----


def _places(port: Port, h: int) -> np.ndarray:
    """Long word of the L1BM side, relative to its address, of long word h of the operand [cycle, PE]."""
    cycles = np.arange(CYCLES)[:, None]
    if port.family == "p":
        return cycles + 4 * h + 0 * _mab_of()
    if port.family == "d":
        return port.pace * cycles + 4 * _mab_of() + _pe_of()
    quads = (8 if port.two_long else 4) * (_mab_of() >> 2) if port.family == "m4" else 0 * _mab_of()
    return port.pace * cycles + quads + 4 * h + _pe_of()


def l1bm_down(port: Port, linear: Nibbles, address: int, shift: int) -> Taint:
    """L1BM, or the turnaround register at address 0, [block, long word], to the PEs."""
    parts = []
    for h in range(2 if port.two_long else 1):
        places = _places(port, h)
        if shift:
            places = places.reshape(CYCLES, geometry().mabs, PES_PER_MAB)
            places = np.roll(places, shift, axis=1).reshape(CYCLES, geometry().pes)
        parts.append(linear[:, (address + places) % linear.shape[1]])
    return Taint(parts[0], parts[1] if len(parts) == 2 else clean())


def l1bm_up(port: Port, value: Taint, expression: Expression) -> Nibbles:
    """What an up transfer leaves in the turnaround register, [block, 256]."""
    out = np.zeros((geometry().blocks, turnaround_longs()), np.uint8)
    parts = [value.msb, value.lsb] if port.two_long else [value.msb]
    opcode = expression.opcode
    if opcode.startswith("l1bmr"):
        reduction = split_reduction(opcode, "l1bmr")
        reduces = "r" in expression.modifier or (reduction.precision, reduction.operation) == ("h", "fadd")
        precision = "f" if (reduction.precision, reduction.operation) == ("h", "fadd") else reduction.precision
        reduced = [_over_mabs(port, SMEAR[precision][part]) for part in (value.msb, value.lsb)]
        if reduces:
            port, reduced = Port(port.family, False), [four_halves(*reduced)]
        parts = reduced[: 2 if port.two_long else 1]
    elif port.family != "d":
        position = int(expression.modifier[1:])
        own = np.arange(geometry().mabs)
        mabs = np.full_like(own, position) if port.family == "m" else (own & ~3) + position
        parts = [per_mab(part)[:, :, mabs].reshape(part.shape) for part in parts]
    for h, part in enumerate(parts):
        out[:, _places(port, h)] = part
    return out


def _over_mabs(port: Port, nibbles: Nibbles) -> Nibbles:
    """Poison of a reduction over all MABs, or those of a quad, in each of them."""
    size = geometry().mabs if port.family == "m" else 4
    shaped = nibbles.reshape(geometry().blocks, CYCLES, geometry().mabs // size, size, PES_PER_MAB)
    reduced = np.bitwise_or.reduce(shaped, axis=3, keepdims=True)
    return np.broadcast_to(reduced, shaped.shape).reshape(nibbles.shape)


def shifted_up(linear: Nibbles, shift: int) -> Nibbles:
    """``l1bmd+n``: the data of MAB m in slot m + n."""
    if not shift:
        return linear
    blocks = geometry().blocks
    return np.roll(linear.reshape(blocks, CYCLES, geometry().mabs, PES_PER_MAB), shift, axis=2).reshape(blocks, -1)


__all__ = ["alu", "l1bm_down", "l1bm_up", "matrix_read", "mau_matrix", "mau_vector", "shifted_up"]
