"""Emission of matrix products.

The inner loop runs over blocks of k, then over blocks of n: rows of W are converted to block float on their way into a
matrix bank (through the ALU's forwarding latch, so they need no scratch memory and no second local-memory port), rows
of X are converted once per chunk and block of k into GRF1, results accumulate in GRF0. The next matrix is written to
the idle bank before the products with the present one, which lets the scheduler overlap the two. The MAU reads
register files only, so the placement of X, W and Y in LM0 and LM1 does not matter to the products.

`products` writes single and pseudo-single precision, `halves` half precision.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from mnc.mncore_backend.assembly.records import Memory
from mnc.mncore_backend.kernels.matmul.chunks import Chunk, choose_chunks, held_longs
from mnc.mncore_backend.kernels.matmul.halves import HalfProducts
from mnc.mncore_backend.kernels.matmul.products import Products
from mnc.mncore_backend.kernels.matmul.spec import BLOCK, MatmulSpec
from mnc.mncore_backend.kernels.matmul.transpose import transposed_copy
from mnc.mncore_backend.kernels.vector.constants import ConstantPool
from mnc.mncore_backend.program import Buffer, Builder
from mnc.mncore_backend.target import Precision


@dataclass(frozen=True, slots=True)
class Sums:
    """What a product leaves in registers for the next one, which goes on in the same precision and the same chunks."""

    precision: Precision
    chunks: Sequence[Chunk]
    buffers: Sequence[Buffer]


def emit_matmul(
    builder: Builder,
    spec: MatmulSpec,
    constants: ConstantPool | None = None,
    *,
    sums: Sums | None = None,
    is_last: bool = True,
) -> Sums:
    """Write the operations of `spec`. `constants` may be shared by the kernels of a program.

    Products that add to one Y, one after the other, may leave their sums in registers: unless it `is_last`, nothing is
    written to Y, and what is returned are the `sums` from which the next one goes on, in place of `spec.initial`.
    """
    rows, n_blocks = spec.y_offset.shape
    if rows == 0 or n_blocks == 0:
        return Sums(spec.precision, [], [])
    if spec.x_transposed:
        buffer, offsets = transposed_copy(builder, spec.x, spec.x_offset, rows, "x_rows")
        spec = replace(spec, x=buffer, x_offset=offsets, x_transposed=False)
    if spec.w_transposed:
        buffer, offsets = transposed_copy(builder, spec.w, spec.w_offset, BLOCK * n_blocks, "w_rows")
        spec = replace(spec, w=buffer, w_offset=offsets, w_transposed=False)
    goes_on = sums is not None
    if sums is None:
        chunks = choose_chunks(spec)
        sizes = [held_longs(spec, chunk) for chunk in chunks]
        buffers = [builder.temporary(size, (Memory.GRF0,), "accumulator") for size in sizes]
        sums = Sums(spec.precision, chunks, buffers)
    elif sums.precision != spec.precision:
        spec = replace(spec, precision=sums.precision)
    kind = HalfProducts if spec.precision == "half" else Products
    emitter = kind(builder, spec, constants or ConstantPool(builder), goes_on=goes_on, is_last=is_last)
    for chunk, accumulators in zip(sums.chunks, sums.buffers, strict=True):
        emitter.emit_chunk(chunk, accumulators)
    return sums


def sums_fit(specs: Sequence[MatmulSpec]) -> bool:
    """Whether registers hold the sums of all these products at once."""
    held = sum(held_longs(spec, chunk) for spec in specs for chunk in choose_chunks(spec))
    return held <= min(spec.accumulators for spec in specs)
