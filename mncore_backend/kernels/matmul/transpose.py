"""Transposition of 8 x 8 blocks through a matrix bank (SDM 3.6.10, 3.6.11)."""

from collections.abc import Sequence

import numpy as np

from mnc.mncore_backend.assembly.records import Memory, Operand
from mnc.mncore_backend.kernels.matmul.spec import BLOCK, LANES
from mnc.mncore_backend.program import Buffer, Builder, local

BANKS = (Memory.MATRIX_X, Memory.MATRIX_Y)


def bank_operand(bank: Memory, address: int = -1) -> Operand:
    """``$lx<address>``, or ``$lx`` as an operand of a product."""
    return Operand(bank, 2, address)


def emit_transpose(
    builder: Builder, source: Buffer, source_offset: np.ndarray, target: Buffer, target_offset: np.ndarray
) -> None:
    """Exchange address and (PE, word) in blocks: word j (over PE and word) of long word source_offset[b, i] goes to
    word i of long word target_offset[b, j], i, j = 0..7. Bits are copied as they are.

    Args:
        source_offset, target_offset: [blocks, 8]; negative target offsets are not written.
    """
    for block, (reads, writes) in enumerate(zip(source_offset, target_offset, strict=True)):
        bank = BANKS[block % 2]
        for half in range(0, BLOCK, LANES):
            four = [int(o) for o in reads[half : half + LANES]]
            builder.emit("gmwrite", (local(source, four),), (bank_operand(bank, half),))
        for half in range(0, BLOCK, LANES):
            _read_columns(builder, bank, half, target, writes[half : half + LANES])


def _read_columns(builder: Builder, bank: Memory, first: int, target: Buffer, offsets: Sequence[int]) -> None:
    """Columns `first` .. first+3 into four long words. Missing ones (negative) go through a register, because every
    cycle of the read delivers another column."""
    if all(offset >= 0 for offset in offsets):
        builder.emit("gmread", (bank_operand(bank, first),), (local(target, [int(o) for o in offsets]),))
        return
    buffer = builder.temporary(LANES, name="columns")
    builder.emit("gmread", (bank_operand(bank, first),), (local(buffer, range(LANES)),))
    present = [(cycle, int(offset)) for cycle, offset in enumerate(offsets) if offset >= 0]
    if present:
        present += present[-1:] * (LANES - len(present))
        reads, writes = zip(*present, strict=True)
        builder.emit("lpassa", (local(buffer, reads),), (local(target, writes),))


def transposed_copy(
    builder: Builder, source: Buffer, offsets: np.ndarray, rows: int, name: str
) -> tuple[Buffer, np.ndarray]:
    """Copy of an operand given as offsets [8 kb, row blocks] (8 consecutive rows per long word) into the layout
    [rows, kb] (8 consecutive k per long word). Returns the new buffer and its offsets."""
    k_blocks = offsets.shape[0] // BLOCK
    row_blocks = offsets.shape[1]
    target_offset = np.arange(row_blocks * BLOCK * k_blocks).reshape(row_blocks * BLOCK, k_blocks)
    valid = np.where(np.arange(row_blocks * BLOCK)[:, None] < rows, target_offset, -1)
    target = builder.temporary(rows * k_blocks, (Memory.LM0, Memory.LM1), name)
    reads = offsets.reshape(k_blocks, BLOCK, row_blocks).transpose(0, 2, 1).reshape(-1, BLOCK)
    writes = valid.reshape(row_blocks, BLOCK, k_blocks).transpose(2, 0, 1).reshape(-1, BLOCK)
    emit_transpose(builder, source, reads, target, writes)
    return target, target_offset[:rows]
