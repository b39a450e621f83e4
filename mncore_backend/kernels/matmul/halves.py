"""Matrix products of halves: 16 elements per block instead of 8, sums in single precision.

Operands are single, as everywhere. What becomes a block of halves is read as two long words of singles at once. Block i
of a matrix has the blocks 2i and 2i + 1 of k: one element of a PE after the other from the first, then from the second.
That is another order than that of k, but the same in X and in W. In Y it is undone, because rows of the matrix are
taken from W in the order in which the results are wanted.

Two long words that are no neighbours are copied side by side first, results that are to lie apart are copied last.
"""

from collections.abc import Sequence

import numpy as np

from mnc.mncore_backend.assembly.records import Operand
from mnc.mncore_backend.kernels.matmul.chunks import Chunk
from mnc.mncore_backend.kernels.matmul.products import ALUF, NOWRITE, Product, Products
from mnc.mncore_backend.kernels.matmul.spec import BLOCK, LANES, are_neighbours
from mnc.mncore_backend.kernels.matmul.transpose import bank_operand
from mnc.mncore_backend.program import REGISTER_FILE, Buffer, BufferOperand, local
from mnc.mncore_backend.target import LONG_BYTES, MATRIX_ROWS, WORD_BYTES

Offsets = Sequence[int] | np.ndarray
"""Of long words, one per cycle."""
_PER_LONG = LONG_BYTES // WORD_BYTES
_MANTISSA = "/9"  # OPEN-29: all bits of a half, and no extended representation


def rows_of_matrix(n_block: int, count: int) -> np.ndarray:
    """Which of `count` rows of W each row of a matrix of halves has, -1 for none: row 4p + i of the matrix is what
    single i of PE p results from, and the first two of these lie in the first of two blocks of n."""
    place = np.arange(MATRIX_ROWS["h"])
    pe, single = place // (2 * _PER_LONG), place % (2 * _PER_LONG)
    rows = (2 * n_block + single // _PER_LONG) * BLOCK + pe * _PER_LONG + single % _PER_LONG
    return np.where(rows < count, rows, -1)


class HalfProducts(Products):
    """Writes products of halves."""

    def _convert_rows(self, chunk: Chunk, k_block: int, vectors: Buffer) -> None:
        for group in range(chunk.groups):
            source = self._converted(self._spec.x, self._spec.x_offset[self._rows(chunk, group)], k_block)
            target = range(group * LANES, (group + 1) * LANES)
            self._builder.emit("hbfn", (source,), (local(vectors, target),), modifier=_MANTISSA)

    def _write_matrix(self, product: Product, *, keep: bool) -> None:
        spec = self._spec
        if spec.w_packed:
            self._write_packed(product)
            return
        columns = rows_of_matrix(product.n_block, len(spec.w_offset))
        for first in range(0, MATRIX_ROWS["h"], LANES):
            rows = columns[first : first + LANES]
            exists = (rows >= 0) & (spec.w_offset[rows, 0] >= 0)
            rows = np.where(exists, rows, rows[exists][-1] if exists.any() else 2 * product.n_block * BLOCK)
            source = self._converted(spec.w, spec.w_offset[rows], product.k_block)
            self._builder.emit("hbfn", (source,), (NOWRITE,), modifier=_MANTISSA)
            self._builder.emit("hmwrite", (ALUF,), (bank_operand(product.bank, first),))

    def _write_packed(self, product: Product) -> None:
        """A matrix that is ready, two rows per cycle."""
        start = int(self._spec.w_offset[product.n_block, product.k_block])
        for first in range(0, MATRIX_ROWS["h"], 2 * LANES):
            source = local(self._spec.w, range(start + first, start + first + 2 * LANES, 2), two_long=True)
            self._builder.emit("hmwrite", (source,), (Operand(product.bank, 4, first),))

    def _converted(self, buffer: Buffer, offsets: np.ndarray, k_block: int) -> BufferOperand:
        """Four pairs of long words of singles, to be read as halves."""
        first = offsets[:, 2 * k_block]
        second = offsets[:, 2 * k_block + 1] if 2 * k_block + 1 < offsets.shape[1] else None
        if second is not None and are_neighbours(first, second):
            return local(buffer, [int(o) for o in first], two_long=True, suffix="r")
        pair = self._builder.temporary(2 * LANES, REGISTER_FILE, "pair")
        places = range(0, 2 * LANES, 2)
        self._copy(buffer, first, pair, places)
        if second is None:
            self._builder.emit("zero", (), (local(pair, [place + 1 for place in places]),))
        else:
            self._copy(buffer, second, pair, [place + 1 for place in places])
        return local(pair, places, two_long=True, suffix="r")

    def _copy(self, source: Buffer, reads: Offsets, target: Buffer, writes: Offsets) -> None:
        operands = [local(buffer, [int(o) for o in own]) for buffer, own in ((source, reads), (target, writes))]
        self._builder.emit("lpassa", operands[:1], operands[1:])

    def _multiply(self, chunk: Chunk, product: Product, group: int, vectors: Buffer, accumulators: Buffer) -> None:
        spec = self._spec
        rows = self._rows(chunk, group)
        slot = ((product.n_block - chunk.n_blocks.start) * chunk.groups + group) * LANES
        places = [2 * place for place in range(slot, slot + LANES)]
        accumulator = local(accumulators, places, two_long=True)
        first = not self._goes_on and product.k_block == 0
        last = self._is_last and product.k_block == spec.k_steps - 1
        sources = [bank_operand(product.bank), self._vector(vectors, group, None)]
        direct = self._pairs(spec.y, spec.y_offset, rows, product.n_block)
        adds = direct is None and self._adds_to_y
        if not first:
            sources.append(accumulator)
        elif spec.initial is not None and not adds:
            target = direct if last else None
            sources.append(self._started(rows, product.n_block, accumulators, places, target))
        operation = "hmfma" if len(sources) == 3 else "hmmul"
        self._builder.emit(operation, sources, (direct if last and direct else accumulator,))
        if last and direct is None:
            for block, own in self._blocks(spec.y_offset, rows, product.n_block):
                self._leave(accumulators, [place + block for place in places], own, adds=adds)

    @property
    def _adds_to_y(self) -> bool:
        """Whether sums start from what is in Y and end there, with no other product before or behind: it may as well be
        added at the end, where sums have to be brought to Y anyway."""
        initial = self._spec.initial
        if initial is None or self._goes_on or not self._is_last:
            return False
        return initial[0] is self._spec.y and np.array_equal(initial[1], self._spec.y_offset)

    def _leave(self, accumulators: Buffer, places: list[int], offsets: np.ndarray, *, adds: bool) -> None:
        """Bring one block of sums of four rows to Y, or add it to what is there."""
        y = local(self._spec.y, [int(o) for o in offsets])
        sums = local(accumulators, places)
        if adds:
            self._builder.emit("fvadd", (sums, y), (y,))
        else:
            self._builder.emit("lpassa", (sums,), (y,))

    def _started(
        self, rows: list[int], n_block: int, accumulators: Buffer, places: list[int], target: BufferOperand | None
    ) -> BufferOperand:
        """What a sum starts from. It is copied to the registers where it lies apart, and where the product goes to
        another `target`: one local memory cannot be read and written at different addresses."""
        assert self._spec.initial is not None
        buffer, offsets = self._spec.initial
        direct = self._pairs(buffer, offsets, rows, n_block)
        if direct is not None and target in (None, direct):
            return direct
        present = list(self._blocks(offsets, rows, n_block))
        for block, own in present:
            self._copy(buffer, own, accumulators, [place + block for place in places])
        if len(present) == 1:
            self._builder.emit("zero", (), (local(accumulators, [place + 1 for place in places]),))
        return local(accumulators, places, two_long=True)

    @staticmethod
    def _blocks(offsets: np.ndarray, rows: list[int], n_block: int) -> list[tuple[int, np.ndarray]]:
        """The one or two blocks of n that a matrix has, with the long words of some rows."""
        count = min(2, offsets.shape[1] - 2 * n_block)
        return [(block, offsets[rows, 2 * n_block + block]) for block in range(count)]

    def _pairs(self, buffer: Buffer, offsets: np.ndarray, rows: list[int], n_block: int) -> BufferOperand | None:
        """Both blocks of n of some rows as one access; None if they are no neighbours."""
        found = [own for _, own in self._blocks(offsets, rows, n_block)]
        if len(found) < 2 or not are_neighbours(found[0], found[1]):
            return None
        return local(buffer, [int(o) for o in found[0]], two_long=True)
