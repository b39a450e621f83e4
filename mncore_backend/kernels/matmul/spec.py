"""What a local matrix product computes and where its operands are."""

from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from mnc.core.diagnostics import InternalError
from mnc.mncore_backend.assembly.records import Memory
from mnc.mncore_backend.program import Buffer
from mnc.mncore_backend.target import chip

BLOCK = 8  # elements of a block over (PE, word): 4 PEs times 2 words
LANES = 4  # cycles of a step

Precision = Literal["pseudo-single", "single"]


def accumulator_longs() -> int:
    """Long words of GRF0 for partial results: three quarters of it."""
    return chip().memories[Memory.GRF0].longs * 3 // 4


def vector_longs() -> int:
    """Long words of GRF1 for converted rows of X: three eighths of it, as two sets alternate."""
    return chip().memories[Memory.GRF1].longs * 3 // 8


@dataclass(frozen=True, slots=True)
class MatmulSpec:
    """Per MAB, Y[r, n] = initial + sum over k of X[r, k] W[n, k].

    A long word at one address of the four PEs of a MAB holds 8 consecutive elements of the innermost axis. All offsets
    are in long words, ``kb`` and ``nb`` count blocks of 8:

    Args:
        x_offset: [rows, kb]: 8 consecutive k of one row of X. With `x_transposed`: [8 kb, row blocks], 8 consecutive
            rows for one k.
        w_offset: [8 nb, kb]: 8 consecutive k of one row of W; a negative offset marks a row that does not exist
            (padding of the last block: the results for it are arbitrary). With `w_transposed`: [8 kb, nb], 8
            consecutive n for one k.
        y_offset: [rows, nb]: 8 consecutive n of one row of Y.
        initial: buffer and offsets, shaped as y_offset, of what the sum starts from (a bias, or Y itself).
        precision: ``pseudo-single`` rounds operands to 18 bits per block of 8 along k, ``single`` to 23 bits per block
            of 4 (the even, and the odd k of 8), at half the speed.
    """

    x: Buffer
    x_offset: np.ndarray
    w: Buffer
    w_offset: np.ndarray
    y: Buffer
    y_offset: np.ndarray
    initial: tuple[Buffer, np.ndarray] | None = None
    precision: Precision = "pseudo-single"
    x_transposed: bool = False
    w_transposed: bool = False
    accumulators: int = field(default_factory=accumulator_longs)
    vectors: int = field(default_factory=vector_longs)

    def __post_init__(self) -> None:
        for name in ("x_offset", "w_offset", "y_offset"):
            object.__setattr__(self, name, np.asarray(getattr(self, name), dtype=np.int64))
        rows, n_blocks = self.y_offset.shape
        k_blocks = self.k_blocks
        x_shape = (BLOCK * k_blocks, -(-rows // BLOCK)) if self.x_transposed else (rows, k_blocks)
        w_shape = (BLOCK * k_blocks, n_blocks) if self.w_transposed else (BLOCK * n_blocks, k_blocks)
        if self.x_offset.shape != x_shape or self.w_offset.shape != w_shape:
            raise InternalError(
                f"matrix product of {rows} rows, {k_blocks} and {n_blocks} blocks: x_offset must be {x_shape} and is "
                f"{self.x_offset.shape}, w_offset must be {w_shape} and is {self.w_offset.shape}"
            )
        if self.initial is not None and self.initial[1].shape != self.y_offset.shape:
            raise InternalError("the initial offsets of a matrix product have another shape than y_offset")
        if k_blocks == 0:
            raise InternalError("a matrix product needs at least one block of k")

    @property
    def k_blocks(self) -> int:
        return self.x_offset.shape[0] // BLOCK if self.x_transposed else self.x_offset.shape[1]

    @property
    def letter(self) -> str:
        """Precision letter of the machine operations."""
        return "g" if self.precision == "pseudo-single" else "f"
