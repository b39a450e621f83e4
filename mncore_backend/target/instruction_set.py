"""What belongs to the kind of machine and not to one of its sizes: steps, words, what instructions can name.

Every machine that this compiler knows executes the same instructions: a step of 4 cycles, MABs of 4 PEs, long words of
64 bit, 16 rows in a matrix register. These are constants; sizes, widths and rates that differ from machine to machine
are fields of `Machine`. Sources as there.
"""

from typing import Literal, get_args

CYCLES_PER_STEP = 4  # SDM 3.6
LONG_BYTES = 8
WORD_BYTES = 4
PES_PER_MAB = 4  # summary 1, tutorial
MABS_PER_QUAD = 4  # SDM 3.6.8.5: MABs that l1bmm4 treats alike
BAR_BITS = 12  # summary 4: base address registers of LM0 and LM1
WRITABLE_MASKS = range(1, 16)  # SDM 3.6.2: entry 0 and 16..31 are constant
CONSTANT_MASK_BASE = 16  # SDM 3.6.2: entry 16 + p has nibble c all ones where digit c of the pattern p is 1
MATRIX_ROWS = {"d": 4, "f": 8, "g": 8, "h": 16}  # SDM 3.6.10.3, logical rows and columns by precision
TAGS = range(1, 0x40)  # SDM 3.2.3; tag 00 is an error, larger ones run on the vendor's emulator (OPEN-51)
DAR_UNIT_LONGS = 16  # summary 2: an entry counts blocks of 16 long words
INDIRECT_MVS = ("mvp", "mvd", "mvr", "mvr2", "mvr4")  # those that take $di
REPEATING_MVS = ("mvp", "mvd", "mvr")  # summary 7.9: those that take nd, too
MADPE_RANGE = range(PES_PER_MAB)  # OPEN-12: values of j<madpe>
BAR_SOURCE_WORD = 0  # OPEN-11: D0 feeds the base address register

# Multiply-adds per MAB and cycle of the matrix-vector operations (summary 7.5) and of the vector operations.
MATVEC_MULTIPLY_ADDS = {"d": 2 * 4, "f": 8 * 4, "g": 8 * 8, "h": 16 * 16}
Precision = Literal["single", "pseudo-single", "half"]
"""Of the factors of matrix products; sums are single."""
PRECISIONS: tuple[Precision, ...] = get_args(Precision)
PRECISION_LETTERS: dict[Precision, str] = {"single": "f", "pseudo-single": "g", "half": "h"}
VECTOR_MULTIPLY_ADDS = {"d": 2, "f": 2 * PES_PER_MAB, "h": 4 * PES_PER_MAB}
