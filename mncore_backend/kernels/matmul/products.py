"""Operations of a matrix product, chunk by chunk: matrices, converted rows, sums."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mnc.mncore_backend.assembly.records import Memory, Operand
from mnc.mncore_backend.kernels.matmul.chunks import Chunk
from mnc.mncore_backend.kernels.matmul.spec import BLOCK, LANES, MatmulSpec
from mnc.mncore_backend.kernels.matmul.transpose import BANKS, bank_operand
from mnc.mncore_backend.kernels.vector.constants import ConstantPool
from mnc.mncore_backend.program import REGISTER_FILE, Buffer, BufferOperand, Builder, local

ALUF = Operand(Memory.ALUF)
NOWRITE = Operand(Memory.NOWRITE)
_FEW_GROUPS = 3  # groups of four rows per matrix up to which the ALU, not the MAU, bounds single precision


@dataclass(frozen=True, slots=True)
class Product:
    """One matrix in a bank, to be multiplied with the rows of a chunk. `parity` is 0 or 1 (even or odd k, single
    precision) or None (all 8 k)."""

    k_block: int
    n_block: int
    parity: int | None
    bank: Memory


class Products:
    """Writes the products of single and of pseudo-single precision."""

    def __init__(
        self, builder: Builder, spec: MatmulSpec, constants: ConstantPool, *, goes_on: bool, is_last: bool
    ) -> None:
        self._builder = builder
        self._spec = spec
        self._goes_on, self._is_last = goes_on, is_last
        single = spec.letter == "f"
        self._swap_amount = constants.operand(32, Memory.LM1) if single else None
        self._kept_rows = builder.temporary(BLOCK, REGISTER_FILE, "rows_of_w") if single else None

    def emit_chunk(self, chunk: Chunk, accumulators: Buffer) -> None:
        spec, builder = self._spec, self._builder
        size = chunk.groups * LANES
        vectors = [builder.temporary(size, (Memory.GRF1,), "vectors") for _ in range(self._rings(size))]
        pending: Product | None = None
        number = 0
        for k in range(spec.k_steps):
            self._convert_rows(chunk, k, vectors[k % len(vectors)])
            for n in chunk.n_blocks:
                for parity in (0, 1) if spec.letter == "f" else (None,):
                    product = Product(k, n, parity, BANKS[number % 2])
                    number += 1
                    self._write_matrix(product, keep=chunk.groups <= _FEW_GROUPS)
                    self._multiply_rows(chunk, pending, vectors, accumulators)
                    pending = product
        self._multiply_rows(chunk, pending, vectors, accumulators)

    def _rings(self, size: int) -> int:
        """Blocks of k whose rows of X, `size` long words, are held at the same time: two, that the one is converted
        while the other is used, and more where there is place, since rows may be there long before the matrices."""
        return min(self._spec.k_steps, max(2, self._spec.vectors // size))

    def _rows(self, chunk: Chunk, group: int) -> list[int]:
        """Rows of a group; the last group repeats its last row."""
        first = chunk.rows.start + group * LANES
        return [min(first + cycle, chunk.rows.stop - 1) for cycle in range(LANES)]

    def _convert_rows(self, chunk: Chunk, k_block: int, vectors: Buffer) -> None:
        """Rows of X of one block of k, to block float."""
        for group in range(chunk.groups):
            offsets = self._spec.x_offset[self._rows(chunk, group), k_block]
            target = range(group * LANES, (group + 1) * LANES)
            source = local(self._spec.x, [int(o) for o in offsets])
            self._builder.emit(f"{self._spec.letter}bfn", (source,), (local(vectors, target),))

    def _write_matrix(self, product: Product, *, keep: bool) -> None:
        """Rows of W of one block, to block float and into the bank. Single precision multiplies the even columns of
        the bank: for the odd k the words of every long are exchanged. With `keep` the rows converted for the even k
        are kept for that in a register file instead of being converted again: with few rows of X the ALU is the
        bottleneck, with many its access to the file would hold up the products."""
        spec, builder = self._spec, self._builder
        block = spec.w_offset[product.n_block * BLOCK : (product.n_block + 1) * BLOCK, product.k_block]
        offsets = np.where(block >= 0, block, block[block >= 0][-1])
        for half in range(0, BLOCK, LANES):
            source: BufferOperand | Operand = local(spec.w, [int(o) for o in offsets[half : half + LANES]])
            kept = local(self._kept_rows, range(half, half + LANES)) if keep and self._kept_rows else None
            if product.parity == 1 and kept is not None:
                source = kept
            else:
                builder.emit(f"{spec.letter}bfn", (source,), (NOWRITE if kept is None else kept,))
                source = ALUF
            if product.parity == 1:
                assert self._swap_amount is not None
                builder.emit("lbsl", (source, self._swap_amount), (NOWRITE,))
            builder.emit(f"{spec.letter}mwrite", (ALUF,), (bank_operand(product.bank, half),))

    def _multiply_rows(
        self, chunk: Chunk, product: Product | None, vectors: Sequence[Buffer], accumulators: Buffer
    ) -> None:
        if product is not None:
            for group in range(chunk.groups):
                self._multiply(chunk, product, group, vectors[product.k_block % len(vectors)], accumulators)

    def _multiply(self, chunk: Chunk, product: Product, group: int, vectors: Buffer, accumulators: Buffer) -> None:
        """Four rows times one matrix. The first product of a result starts from the initial value, or from what is in
        the registers already; the last one goes to Y, unless others follow."""
        spec = self._spec
        rows = self._rows(chunk, group)
        slot = ((product.n_block - chunk.n_blocks.start) * chunk.groups + group) * LANES
        accumulator = local(accumulators, range(slot, slot + LANES))
        first = not self._goes_on and product.k_block == 0 and product.parity in (None, 0)
        last = self._is_last and product.k_block == spec.k_steps - 1 and product.parity in (None, 1)
        sources = [bank_operand(product.bank), self._vector(vectors, group, product.parity)]
        target = self._result(spec.y, spec.y_offset, rows, product.n_block) if last else accumulator
        if not first:
            sources.append(accumulator)
        elif spec.initial is not None:
            initial = self._result(*spec.initial, rows, product.n_block)
            if last and initial != target:  # one local memory cannot be read and written at different addresses
                self._builder.emit("lpassa", (initial,), (accumulator,))
                initial = accumulator
            sources.append(initial)
        operation = "mfma" if len(sources) == 3 else "mmul"
        self._builder.emit(f"{spec.letter}{operation}", sources, (target,))

    @staticmethod
    def _vector(vectors: Buffer, group: int, parity: int | None) -> BufferOperand:
        first = range(group * LANES, (group + 1) * LANES)
        if parity is None:
            return local(vectors, first)
        return BufferOperand(vectors, tuple(2 * offset + parity for offset in first), 1)

    @staticmethod
    def _result(buffer: Buffer, offsets: np.ndarray, rows: list[int], n_block: int) -> BufferOperand:
        return local(buffer, [int(o) for o in offsets[rows, n_block]])
