"""How a product is cut so that its partial results fit the register file."""

from dataclasses import dataclass

from mnc.mncore_backend.kernels.matmul.spec import LANES, MatmulSpec


@dataclass(frozen=True, slots=True)
class Chunk:
    """Rows of X and blocks of n whose results are accumulated at the same time."""

    rows: range
    n_blocks: range

    @property
    def groups(self) -> int:
        """Groups of four rows: one product step each per matrix."""
        return -(-len(self.rows) // LANES)


def choose_chunks(spec: MatmulSpec) -> list[Chunk]:
    """The cutting with the fewest steps, among those that fit.

    Per chunk and block of k the MAU needs max(2, groups) steps per matrix (a matrix is written in two, beside the
    products of the other bank), the ALU two conversions per matrix and one per group; single precision has two
    matrices per block, and two word exchanges for the second.
    W is the matrix because Y has n over (PE, word): a matrix made of X would leave Y transposed, and saves no step
    (with few rows both ways are bound by two steps per 8 x 8 block).
    """
    rows, n_blocks = spec.y_offset.shape
    best: tuple[float, int, int] | None = None
    for groups in range(1, -(-rows // LANES) + 1):
        width = min(n_blocks, spec.accumulators // (LANES * groups))
        if width == 0 or 2 * LANES * groups > spec.vectors:
            break
        row_chunks, n_chunks = -(-rows // (LANES * groups)), -(-n_blocks // width)
        width = -(-n_blocks // n_chunks)
        groups_even = -(-rows // (LANES * row_chunks))
        conversions = (2 if spec.letter == "g" else 4) * width + groups_even
        products = (1 if spec.letter == "g" else 2) * width * max(2, groups_even)
        cost = row_chunks * n_chunks * (max(conversions, products) + 0.01 * groups_even)
        if best is None or cost < best[0]:
            best = (cost, groups_even * LANES, width)
    assert best is not None, "four rows and one block always fit"
    _, row_step, n_step = best
    return [
        Chunk(range(row, min(row + row_step, rows)), range(n, min(n + n_step, n_blocks)))
        for row in range(0, rows, row_step)
        for n in range(0, n_blocks, n_step)
    ]
