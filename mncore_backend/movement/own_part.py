"""Picking from what every PE holds the part that is its own: one copy whose addresses depend on which PE it is.

Where the address that a PE needs is a sum of bits of its coordinates (L2B, L1B, MAB, PE) times weights and of something
that is the same in all PEs, T holds the first sum and LM0 is read through it (SDM 3.6.1.6): no index table, no trip.
A weight is a sum of powers of two: rows of 13 long words lie 8 + 4 + 1 apart.
"""

import numpy as np
from numpy.typing import NDArray

from mnc.mncore_backend.assembly.records import Memory, Operand
from mnc.mncore_backend.layout import Axis, Layout, addresses_in_use
from mnc.mncore_backend.movement.lanes import Emit
from mnc.mncore_backend.movement.local import LONG, T, access, constant, copy, may_clash
from mnc.mncore_backend.movement.scope import LEVELS, Index, analyse
from mnc.mncore_backend.movement.transfers import CYCLES
from mnc.mncore_backend.program import COORDINATE, REGISTER_FILE, Buffer, BufferOperand, Builder, local
from mnc.mncore_backend.target import chip

Term = tuple[Axis, int, int]
"""Bits of a coordinate (as a mask), and the power of two that moves them to their place in the sum."""


def own_part(source: Layout, target: Layout, index_map: Index | None = None) -> list[Emit]:
    """The copy, if every PE holds all it needs, whole long words at addresses of the form above."""
    need = analyse(source, target, index_map)
    if not all(need.keeps(axis) for axis in LEVELS):
        return []
    longs = addresses_in_use(target)
    words = np.where(need.wanted, need.source_words, -1).reshape(*chip().shape, -1, 2)[..., longs, :]
    split = _split(_long_words(words))
    if split is None:
        return []
    common, terms = split
    # Every PE reads, also one that wants nothing: its address may lie behind the last row.
    reach = max(common) + 1 + sum(mask << scale if scale > 0 else mask >> -scale for _, mask, scale in terms)

    def emit(builder: Builder, a: Buffer, b: Buffer) -> None:
        held = a if Memory.LM0 in a.choices and reach <= a.size else _moved(builder, a, reach)
        _emit_sum(builder, terms)
        for first in range(0, len(longs), CYCLES):
            read = access(held, [LONG * n for n in common[first : first + CYCLES]], LONG, t_indirect=True)
            write = access(b, [LONG * n for n in longs[first : first + CYCLES]], LONG)
            if may_clash(held, b):
                between = access(
                    builder.temporary(CYCLES), [LONG * i for i in range(len(longs[first:][:CYCLES]))], LONG
                )
                builder.emit("lpassa", [read], [between])
                read = between
            builder.emit("lpassa", [read], [write])

    return [emit]


def _moved(builder: Builder, source: Buffer, reach: int) -> Buffer:
    """A copy in LM0 of `reach` long words and more; the last one of `source` stands for all behind it."""
    size = max(source.used, reach)
    held = builder.temporary(size, (Memory.LM0,), "held")
    copy(builder, source, held, [(LONG * min(n, source.used - 1), LONG * n) for n in range(size)])
    return held


def _long_words(words: Index) -> NDArray[np.int64] | None:
    """The long word [L2B, L1B, MAB, PE, n] from which both words come, -1 where none is wanted; None if words come
    apart."""
    first, second = words[..., 0], words[..., 1]
    together = (first < 0) | (second < 0) | (second == first + 1)
    in_place = ((first < 0) | (first % 2 == 0)) & ((second < 0) | (second % 2 == 1))
    return np.maximum(first, second).astype(np.int64) >> 1 if (together & in_place).all() else None


def _split(longs: NDArray[np.int64] | None) -> tuple[list[int], list[Term]] | None:
    """What is common to all PEs per long word, and the terms of what is their own; None if there is no such sum."""
    if longs is None or (longs[0, 0, 0, 0] < 0).any():
        return None
    common = longs[0, 0, 0, 0]
    own = np.where(longs >= 0, longs - common, -1).max(axis=-1)
    terms: dict[tuple[Axis, int], int] = {}  # masks
    total = np.zeros(chip().shape, np.int64)
    for position, axis in enumerate(LEVELS):
        for bit in range(chip().axis_size[axis].bit_length() - 1):
            place = tuple(1 << bit if p == position else 0 for p in range(len(LEVELS)))
            weight = int(own[place])
            if weight <= 0:
                continue
            total += (np.indices(chip().shape)[position] >> bit & 1) * weight
            for power in _powers(weight):
                scale = power - bit
                terms[axis, scale] = terms.get((axis, scale), 0) | 1 << bit
    fits = (longs < 0) | (longs == common + total[..., None])
    if not terms or not fits.all():
        return None
    return common.tolist(), [(axis, mask, scale) for (axis, scale), mask in terms.items()]


def _powers(weight: int) -> list[int]:
    """Exponents of the powers of two that add up to a weight."""
    return [power for power in range(weight.bit_length()) if weight >> power & 1]


def _emit_sum(builder: Builder, terms: list[Term]) -> None:
    """The sum in words to T. Results of `i` operations fill both words of a long word, as the index wants it."""
    total: BufferOperand | None = None
    for number, (axis, mask, scale) in enumerate(terms):
        shift = scale + 1  # from long words to words
        operations = [("ilsl" if shift > 0 else "ilsr", abs(shift))] if shift else []
        if mask != chip().axis_size[axis] - 1 or not operations:
            operations.insert(0, ("iand", mask))
        term: Operand | BufferOperand = Operand(COORDINATE[axis.value])
        is_last = number == len(terms) - 1
        for i, (opcode, value) in enumerate(operations):
            is_done = i == len(operations) - 1
            goal = (
                T if is_last and is_done and total is None else _scalar(builder, added=is_done and total is not None)
            )
            builder.emit(opcode, [term, local(constant(builder, value), [0])], [goal])
            term = goal
        if total is not None:
            goal = T if is_last else _scalar(builder)
            builder.emit("iadd", [total, term], [goal])
            term = goal
        total = term if isinstance(term, BufferOperand) else None


def _scalar(builder: Builder, *, added: bool = False) -> BufferOperand:
    """A word in a register file, the other one for what is added to such a word."""
    return local(builder.temporary(1, REGISTER_FILE[::-1] if added else REGISTER_FILE, "own"), [0])
