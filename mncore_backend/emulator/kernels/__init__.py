"""Fast bit-exact kernels: explicit-width vector code, compiled on first use, kept for the process.

Every function below returns a `Kernel`: a compiled function of the uniform type

    void kernel(int64_t *record, int64_t first_block, int64_t last_block)

A *block* is one L1B: 64 processing elements (PE = 4 * MAB + p). One call performs one step, that
is four cycles, on the blocks first_block <= b < last_block. Kernels are pure functions of the
pointers in the record, call nothing, and release the interpreter lock while they run, so threads
may call them on disjoint block ranges.

**Operands.** An operand is, per cycle, one row of 64 host-endian 64-bit words, one per PE. A 2-long
operand is two operands: ``x`` carries D0:D1 (the MSB long) and ``x_lsb`` D2:D3. In the record an
operand takes five int64 words: the addresses of its rows in cycles 0..3 *for block 0*, and the
distance in bytes between blocks. So a long operand in a memory laid out
``[L1B][long address][PE 64]`` is used in place whatever its addresses are (flat lists and strides
included); block stride 0 shares one buffer between all blocks (constants, zeros).
`Kernel.operands` names the operands in record order; `Kernel.record` builds the record:

    kernel = alu("add", "i", flags=True)
    kernel.operands                      # ("out", "x", "y", "flags")
    record = kernel.record(out=latch, x=(row_addresses, block_stride_bytes), y=...)
    kernel.call(record, 0, 64)           # record: int64 array, its buffers must stay alive
    kernel(out=a, x=b, y=c, flags=f)     # convenience for tests: arrays [blocks, 4, 64]

`record` accepts arrays of shape [blocks, 4, 64] (any strides whose last one is contiguous) or
pairs ``(row addresses, block stride in bytes)``. Outputs may be the same rows as inputs for
element-wise kernels (each 64-byte chunk is read before it is written), except where noted.

**Tables.** `run_table(table, first_block, last_block)` runs a sequence of kernels block-major: all
steps on one block, then all on the next, without returning to Python. A table is an int64 array
of shape [n, 2]: rows (`kernel.address`, address of the record). Threads split the block range.

**Flags.** An operand ``flags`` is uint8 rows of 64: one nibble per PE, bit 0 of the manual (MSB
side) counts 8, bit 3 counts 1; already replicated for 1, 2 or 4 results (SDM 3.6.2). Mask operands
have the same form. Longs that a kernel has no operand for are not touched: where the manual says
that D2:D3 are zero or a copy of the first input's, the caller uses zeros or the other row.

Kernels (`flags` defaults to False and adds the operand ``flags``; precision letters as in the
mnemonics, without the ``u`` prefix, which is `unsigned`):

=============================================== ==================================================
``alu(op, precision, unsigned=, flags=)``        out, x[, y][, flags]. All element-wise ALU
                                                 operations, ``msl``/``msr`` (precision ""), not
                                                 ``zero``/``imm`` (constants are the caller's).
                                                 ``passa`` too: copies the MSB long; copy the LSB
                                                 long with `copy`.
``block_float(op, precision, bits=9)``           out, x: op "bfn" or "bfe" (h only), one long of
                                                 every PE; call twice (x, x_lsb) for h.
``mau_vector(op, precision, reduce=, half=,      op "fma" "mul" "add" "passa". out, x[, y][, z];
flags=)``                                        h without `reduce`: out, out_lsb, x[, y][, z,
                                                 z_lsb] (z: 4 singles); h with `reduce`: out, no
                                                 out_lsb. "add": x and z. `reduce` = opcode ``r``:
                                                 f -> 2 halves in D0, d -> single in D0, D1 zero.
                                                 `half` "u"/"d": double fma and mul only.
``matrix_decode(precision)``                     decoded, bank: see below.
``matrix_vector(op, precision, reduce=, half=,   op "fma" or "mul". out[, out_lsb], decoded, x[, z[,
flags=)``                                        z_lsb]. f reads word D0 of x; x and out may alias.
``matrix_read(precision)``                       out[, out_lsb], bank, column: transposed read.
``rrn_mabs(op, precision, quads=, reduce=)``     out, x: reduce the 16 MABs of a block (l1bmr*).
                                                 op "fadd" "max" "min" "iadd" "band" "and" "bor"
                                                 "or"; out row: 4 longs (index p), or with `quads`
                                                 16 longs (4 * quad + p, l1bmr4*). `reduce` (f
                                                 only): halves in D0, D1 zero. Precision h takes
                                                 and gives 4 halves per long (l1bmrh* is the
                                                 single reduction with ``e`` in and ``r`` out).
``rrn_stage(op, precision, inputs)``             out, x0, x1...: one stage over rows of 64 longs.
``rrn_reduce(op, precision, stacked)``           not a Kernel: numpy function [K, n] -> [n] of one
                                                 stage (l2bmr*, mvr*) for any n.
``copy()``                                       out, x: 64 longs (l1bmd and matrix writes are this)
``negate(precision)``                            out, x: operand prefix ``-``.
``extend(precision)``                            operand suffix ``e``. "h": out, out_lsb, x (4
                                                 halves -> 4 singles); "f": out, x (2 halves in D0
                                                 -> 2 singles); "d": out, x (single in D0 -> double)
``narrow()``                                     operand suffix ``r``: out, x, x_lsb (4 singles -> 4
                                                 halves in D0:D1).
``fetch_word()``                                 out, x, word: D0 := word 0 or 1 (`word` operand:
                                                 per cycle 0 = MSB word, 1 = LSB word), D1 := 0.
``fetch_indirect()``                             out, base, index: out[pe] = long at row index[pe]
                                                 (int64 row of long addresses) of `base`.
``store(width, mask)``                           width "word": out, x, word; "long": out, x; "lsb":
                                                 out, x (D2:D3 of a 2-long). mask None, "long" or
                                                 "ll" adds the operand ``mask``.
``zero_flush(width, mask)``                      the same bits zeroed instead of kept: out, x, mask.
=============================================== ==================================================

**Matrix banks.** The raw bank of a block is [row 16][PE 64] longs; row r of a ``*mwrite`` is the 64
source longs unchanged, so a matrix write is `copy` with ``out`` rows (a + c) mod rows (``hmwrite
$llx``: MSB longs to rows a + 2c, LSB longs to rows a + 2c + 1). `matrix_decode` turns a raw bank
into `decoded_bytes` bytes per block (rows of its operands: only the cycle 0 address is used); do it once
after the last write and before a product. ``column`` of `matrix_read` gives the column number per
cycle in place of row addresses (already wrapped; h delivers column and column + 1).

`half_from_single(pattern)` is a plain function for assembly literals, not a kernel.

`storing_twice` turns a kernel into one that stores ``out`` to a second place, too: the last operand ``also``.

Scalar operands (``word``, ``column``) are four integers in the record: pass a sequence of 4 ints.
"""

from mnc.mncore_backend.emulator.numerics.conversion import half_from_single

from .alu import alu
from .block_float import block_float
from .jit import Kernel, run_table, storing_twice
from .matrix import matrix_read, matrix_vector
from .matrix_decode import decoded_bytes, matrix_decode
from .mau import mau_vector
from .moves import copy, extend, fetch_indirect, fetch_word, narrow, negate, store, zero_flush
from .rrn import rrn_mabs, rrn_reduce, rrn_stage

__all__ = [
    "Kernel",
    "alu",
    "block_float",
    "copy",
    "decoded_bytes",
    "extend",
    "fetch_indirect",
    "fetch_word",
    "half_from_single",
    "matrix_decode",
    "matrix_read",
    "matrix_vector",
    "mau_vector",
    "narrow",
    "negate",
    "rrn_mabs",
    "rrn_reduce",
    "rrn_stage",
    "run_table",
    "store",
    "storing_twice",
    "zero_flush",
]
