"""What a local matrix product computes and where its operands are."""

from dataclasses import dataclass, field

import numpy as np

from mnc.core.diagnostics import InternalError
from mnc.mncore_backend.assembly.records import Memory
from mnc.mncore_backend.program import Buffer
from mnc.mncore_backend.target import PRECISION_LETTERS, Precision, chip

BLOCK = 8  # elements of a block over (PE, word): 4 PEs times 2 words
LANES = 4  # cycles of a step



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
            consecutive n for one k. With `w_packed` (halves only): [steps of n, steps of k], of each matrix the first
            of 16 long words, one per row, as a bank takes them: already halves in block float, see `packing`.
        y_offset: [rows, nb]: 8 consecutive n of one row of Y.
        initial: buffer and offsets, shaped as y_offset, of what the sum starts from (a bias, or Y itself).
        precision: ``pseudo-single`` rounds operands to 18 bits per block of 8 along k, ``single`` to 23 bits per block
            of 4 (the even, and the odd k of 8), at half the speed. ``half`` rounds them to 9 bits per block of 16 (two
            blocks of k, neighbours in `x_offset` and `w_offset`), at four times the speed.
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
    w_packed: bool = False

    def __post_init__(self) -> None:
        for name in ("x_offset", "w_offset", "y_offset"):
            object.__setattr__(self, name, np.asarray(getattr(self, name), dtype=np.int64))
        rows, n_blocks = self.y_offset.shape
        k_blocks = self.k_blocks
        x_shape = (BLOCK * k_blocks, -(-rows // BLOCK)) if self.x_transposed else (rows, k_blocks)
        w_shape = (BLOCK * k_blocks, n_blocks) if self.w_transposed else (BLOCK * n_blocks, k_blocks)
        w_shape = (self.n_steps, self.k_steps) if self.w_packed else w_shape
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
    def k_steps(self) -> int:
        """Blocks of k that one matrix has: for halves it has two of them, or one and zeros."""
        return -(-self.k_blocks // 2) if self.precision == "half" else self.k_blocks

    @property
    def n_steps(self) -> int:
        """Blocks of n that one matrix has, in the same way."""
        n_blocks = self.y_offset.shape[1]
        return -(-n_blocks // 2) if self.precision == "half" else n_blocks

    @property
    def x_apart(self) -> bool:
        """Whether two blocks of k of one matrix of halves are no neighbours in X."""
        return _are_apart(self.x_offset)

    @property
    def w_apart(self) -> bool:
        """The same for W."""
        return _are_apart(self.w_offset)

    @property
    def y_apart(self) -> bool:
        """Whether two blocks of n of one matrix of halves are no neighbours in Y."""
        return _are_apart(self.y_offset)

    @property
    def letter(self) -> str:
        """Precision letter of the machine operations."""
        return PRECISION_LETTERS[self.precision]


def are_neighbours(first: np.ndarray, second: np.ndarray) -> bool:
    """Whether pairs of long words can be accessed as one: the second behind the first, which has an even offset."""
    return bool(((first % 2 == 0) & (second == first + 1)).all())


def _are_apart(offsets: np.ndarray) -> bool:
    """Of offsets [rows, blocks], whether some row has a pair of blocks that are no neighbours."""
    present = offsets[offsets[:, 0] >= 0]
    blocks = present.shape[1]
    return not are_neighbours(present[:, 0 : blocks - 1 : 2], present[:, 1:blocks:2])
