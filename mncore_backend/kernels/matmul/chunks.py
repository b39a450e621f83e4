"""How a product is cut so that its partial results fit the register file."""

from dataclasses import dataclass
from functools import cache

from mnc.mncore_backend.kernels.matmul.spec import LANES, MatmulSpec

_CONVERSION = 0.1
"""Steps that a conversion costs where it is not what binds: its reads keep others waiting."""


@dataclass(frozen=True, slots=True)
class Chunk:
    """Rows of X and blocks of n whose results are accumulated at the same time."""

    rows: range
    n_blocks: range

    @property
    def groups(self) -> int:
        """Groups of four rows: one product step each per matrix."""
        return -(-len(self.rows) // LANES)


@dataclass(frozen=True, slots=True)
class Cutting:
    """How many groups of rows and blocks of n a chunk has at most, and of how many chunks there are. `of_matrix`,
    `of_rows`: per block of k, what all chunks convert of W and of X; `products`: steps of the MAU."""

    groups: int
    width: int
    row_chunks: int
    n_chunks: int
    products: int
    of_matrix: int
    of_rows: int

    @property
    def chunks(self) -> int:
        """How many there are."""
        return self.row_chunks * self.n_chunks

    @property
    def held(self) -> int:
        """Long words of the sums of all chunks at most."""
        return self.chunks * LANES * self.groups * self.width


@cache
def choose_cutting(rows: int, n_blocks: int, *, single: bool, accumulators: int, vectors: int) -> Cutting:
    """The cutting with the fewest steps, among those that fit registers of so many long words.

    Per chunk and block of k the MAU needs max(2, groups) steps per matrix (a matrix is written in two, beside the
    products of the other bank), the ALU two conversions per matrix and one per group; single precision has two
    matrices per block, and two word exchanges for the second. Of cuttings that take equally long the one with the
    fewest conversions is best: each of them reads a local memory, which tiles of the factors enter meanwhile.
    W is the matrix because Y has n over (PE, word): a matrix made of X would leave Y transposed, and saves no step
    (with few rows both ways are bound by two steps per 8 x 8 block).
    """
    all_groups, passes = -(-rows // LANES), 2 if single else 1
    best: tuple[float, Cutting] | None = None
    for groups in range(1, all_groups + 1):
        width = min(n_blocks, accumulators // (LANES * groups))
        if width == 0 or 2 * LANES * groups > vectors:
            break
        row_chunks, n_chunks = -(-rows // (LANES * groups)), -(-n_blocks // width)
        even, width = -(-rows // (LANES * row_chunks)), -(-n_blocks // n_chunks)
        chunks = row_chunks * n_chunks
        found = Cutting(
            even, width, row_chunks, n_chunks, chunks * passes * width * max(2, even), chunks * 2 * passes * width,
            chunks * even,
        )  # fmt: skip
        conversions = found.of_matrix + found.of_rows
        cost = max(conversions, found.products) + _CONVERSION * conversions
        if best is None or cost < best[0]:
            best = cost, found
    assert best is not None, "four rows and one block always fit"
    return best[1]


def choose_chunks(spec: MatmulSpec) -> list[Chunk]:
    """The chunks of a product, cut as is cheapest."""
    rows, n_blocks = spec.y_offset.shape
    single = spec.letter == "f"
    cut = choose_cutting(rows, n_blocks, single=single, accumulators=spec.accumulators, vectors=spec.vectors)
    row_step, n_step = cut.groups * LANES, cut.width
    return [
        Chunk(range(row, min(row + row_step, rows)), range(n, min(n + n_step, n_blocks)))
        for row in range(0, rows, row_step)
        for n in range(0, n_blocks, n_step)
    ]
