"""How a product is cut so that its partial results fit the register file."""

from dataclasses import dataclass, replace
from functools import cache

from mnc.mncore_backend.kernels.matmul.spec import LANES, MatmulSpec

_CONVERSION = 0.1
"""Steps that a conversion costs where it is not what binds: its reads keep others waiting."""


@dataclass(frozen=True, slots=True)
class Form:
    """What one matrix of a precision takes.

    matrices: in one block of k and of n.
    writes: steps that fill a bank, beside the products with the other one.
    conversions: steps of the ALU per matrix; row_conversions: per four rows of X and block of k.
    sums: long words of a PE for the results of one row and one block of n.
    """

    matrices: int
    writes: int
    conversions: int
    row_conversions: int = 1
    sums: int = 1


FORMS = {"f": Form(2, 2, 2), "g": Form(1, 2, 2), "h": Form(1, 4, 4, 1, 2)}
"""By letter of the precision. For halves a block has 16 elements; single precision has two matrices per block of 8."""
_COPIES = 2
"""Steps that bring two long words side by side which a conversion to halves reads at once."""


def half_form(*, x_apart: bool, w_apart: bool, w_packed: bool) -> Form:
    """The form of a product of halves in which pairs of blocks of k are no neighbours in X, or in W, or in which W is
    packed: two rows fill a bank in each cycle, without conversion."""
    form = FORMS["h"]
    conversions = 0 if w_packed else form.conversions * (1 + _COPIES * w_apart)
    writes = form.writes // 2 if w_packed else form.writes
    return Form(form.matrices, writes, conversions, 1 + _COPIES * x_apart, form.sums)


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
    def steps(self) -> float:
        """Per block of k: what binds, and a little for each conversion."""
        conversions = self.of_matrix + self.of_rows
        return max(conversions, self.products) + _CONVERSION * conversions


@cache
def choose_cutting(rows: int, n_blocks: int, form: Form, *, accumulators: int, vectors: int) -> Cutting:
    """The cutting with the fewest steps, among those that fit registers of so many long words.

    Per chunk and block of k the MAU needs max(writes, groups) steps per matrix (a matrix is written beside the products
    of the other bank), the ALU the conversions of the matrix and those of each group. Of cuttings that take equally
    long the one with the fewest conversions is best: each of them reads a local memory, which tiles of the factors
    enter meanwhile.
    W is the matrix because Y has n over (PE, word): a matrix made of X would leave Y transposed, and saves no step
    (with few rows both ways are bound by the writes of a bank).
    """
    all_groups = -(-rows // LANES)
    best: Cutting | None = None
    for groups in range(1, all_groups + 1):
        width = min(n_blocks, accumulators // (LANES * groups * form.sums))
        if width == 0 or 2 * LANES * groups > vectors:
            break
        row_chunks, n_chunks = -(-rows // (LANES * groups)), -(-n_blocks // width)
        even, width = -(-rows // (LANES * row_chunks)), -(-n_blocks // n_chunks)
        chunks = row_chunks * n_chunks
        matrices = chunks * form.matrices * width
        found = Cutting(
            even, width, row_chunks, n_chunks, matrices * max(form.writes, even), matrices * form.conversions,
            chunks * even * form.row_conversions,
        )  # fmt: skip
        if best is None or found.steps < best.steps:
            best = found
    assert best is not None, "four rows and one block always fit"
    return best


def choose_chunks(spec: MatmulSpec) -> list[Chunk]:
    """The chunks of a product, cut as is cheapest. For halves their `n_blocks` count pairs of blocks."""
    rows = len(spec.y_offset)
    cut = cutting_of(spec)
    row_step, n_step = cut.groups * LANES, cut.width
    return [
        Chunk(range(row, min(row + row_step, rows)), range(n, min(n + n_step, spec.n_steps)))
        for row in range(0, rows, row_step)
        for n in range(0, spec.n_steps, n_step)
    ]


def cutting_of(spec: MatmulSpec) -> Cutting:
    """How a product is cut."""
    form = FORMS[spec.letter]
    if spec.letter == "h":
        form = half_form(x_apart=spec.x_apart, w_apart=not spec.w_packed and spec.w_apart, w_packed=spec.w_packed)
    rows = len(spec.y_offset)
    return choose_cutting(rows, spec.n_steps, form, accumulators=spec.accumulators, vectors=spec.vectors)


def at_least_half(spec: MatmulSpec) -> MatmulSpec:
    """A product of halves, or the same in pseudo-single precision where that takes no more steps: where little is
    contracted, half of a matrix of halves would be zeros."""
    if spec.w_packed:
        return spec
    other = replace(spec, precision="pseudo-single")
    return spec if product_steps(spec) < product_steps(other) else other


def product_steps(spec: MatmulSpec) -> float:
    """What a product takes, results that are copied to their places included."""
    apart = spec.precision == "half" and spec.y_apart
    groups = -(-len(spec.y_offset) // LANES)
    return cutting_of(spec).steps * spec.k_steps + (_COPIES * groups * spec.n_steps if apart else 0)


def held_longs(spec: MatmulSpec, chunk: Chunk) -> int:
    """Long words of the sums of a chunk."""
    return chunk.groups * LANES * len(chunk.n_blocks) * FORMS[spec.letter].sums
