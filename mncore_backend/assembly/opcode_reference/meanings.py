"""What every operation computes, in a sentence or two. Keys are `OpcodeInfo.operation`.

Sources: SDM 3.5 to 3.6 and the public summary of it; `isa` names the section of each group.
"""

_ZEROS = "Of two floating-point zeros x is taken, whatever the signs."
_SHIFTS = "y is unsigned, modulo twice the width of an element; by the width and more everything is shifted out."
_HALVES = (
    "Doubles come in two halves: `u` multiplies in PE 0 and 1, `d` in PE 2 and 3, and where nothing is multiplied the "
    "product is 0."
)
_ROWS = (
    "Doubles have half of the rows at a time, `u` 0 and 1, `d` 2 and 3; in the others the product is 0. `f` takes the "
    "first word of each PE, and the columns 0, 2, 4 and 6 of the bank."
)

_ALU = {
    "zero": "All 128 bits are 0.",
    "imm": "The 32-bit word of the literal, four times. A step with `imm` cannot touch LM0.",
    "immu": "The 32-bit word of the literal in D0 and D2, zero in D1 and D3: a double whose low half is zero. A step "
    "with `immu` cannot touch LM0.",
    "passa": "x, unchanged, all 128 bits.",
    "msl": "PE p receives the first long word of PE (p - 1) mod 4 of its MAB.",
    "msr": "PE p receives the first long word of PE (p + 1) mod 4 of its MAB.",
    "bfn": "Block floating point: the elements of a block in the four PEs of the MAB get the exponent of the "
    "largest. Blocks: `d` 4 doubles; `f` the first words of the four PEs, and the second words; `g` all 8 words; `h` "
    "16 halves in the first long words, and 16 in the second. `h` needs the number of mantissa bits, `hbfn/6` to "
    "`hbfn/9`.",
    "bfe": "As `hbfn`, in the extended representation of halves (OPEN-29).",
    "inc": "x + 1, wrapping.",
    "dec": "x - 1, wrapping.",
    "not": "Every bit of x inverted.",
    "lnot": "1 where x is 0, else 0.",
    "rsqrt": "About 1 / sqrt(|x|), good to five bits: the seed of an iteration. 0 gives infinity (OPEN-22).",
    "floor": "x rounded towards minus infinity, still a floating-point number.",
    "ftoi": "x truncated to an integer of the same width, saturating. With `u`: |x|, unsigned.",
    "max": f"The larger of x and y. With `u`, integers are unsigned. {_ZEROS}",
    "min": f"The smaller of x and y. With `u`, integers are unsigned. {_ZEROS}",
    "packbit": "x shifted left by one bit; the top bit of y becomes the lowest bit.",
    "and": "x and y, bit by bit.",
    "or": "x or y, bit by bit.",
    "xor": "x exclusive or y, bit by bit.",
    "add": "x + y, wrapping. `u` changes only the flag.",
    "sub": "x - y, wrapping. `u` changes only the flag.",
    "lsl": f"x shifted left by y bits. {_SHIFTS}",
    "lsr": f"x shifted right by y bits: copies of the sign come in, with `u` zeros. {_SHIFTS}",
    "bsl": "x rotated left by y bits, modulo the width of an element.",
    "bsr": "x rotated right by y bits, modulo the width of an element.",
    "relu": "y where the sign bit of x is 0, else -0. With y = x: the rectifier.",
    "relu0": "The same as `relu`.",
    "relu1": "y where the second bit of x from the top is 0, else -0.",
    "relu2": "y where the third bit of x from the top is 0, else -0.",
    "relu3": "y where the fourth bit of x from the top is 0, else -0.",
    "lrelud": "y where the sign bit of x is 0, else y / 2.",
    "lreluo": "y where the sign bit of x is 0, else y / 8.",
    "ilrelud": "y where the sign bit of x is 0, else 2 y.",
}
_MAU = {
    "mfma": "Matrix times vector plus addend, per MAB and cycle: the bank holds the matrix, the PEs hold x and z. "
    f"Matrix and vector are block floating point. {_ROWS}",
    "mmul": f"Matrix times vector, per MAB and cycle. Matrix and vector are block floating point. {_ROWS}",
    "vfma": f"x y + z, element by element; halves accumulate in singles. {_HALVES} `dvfmad x y $mauf` behind "
    "`dvmulu x y $nowrite` is the product in all PEs.",
    "vmul": f"x y, element by element; the products of halves are singles. {_HALVES}",
    "vadd": "x + z, element by element. The second operand is the addend: for `h` it is four singles, or four halves "
    "with `e`.",
    "vpassa": "x, normalised: subnormal numbers and -0 become 0. Never move integers with it; halves become singles.",
}
_BANK = (
    "A bank has 4 x 4 doubles, 8 x 8 singles or 16 x 16 halves. A row, or a column, lies in the long words of the four "
    "PEs, one after the other."
)
_MATRIX = {
    "mwrite": "Write one row per cycle (`hmwrite` to `$llx`: two rows) of a matrix bank, beginning at the row of the "
    f"address. {_BANK}",
    "mread": "Read one column per cycle (`hmread`: two columns), beginning at the column of the address: a "
    f"transposition. {_BANK}",
}
_SECOND = "With `$llb` the second long words of four PEs follow their first."
_WIDE = f"{_SECOND} Only `f` and `bor` have `$llb`."
_L1BM = {
    "l1bmp": "One long word per cycle of the L1BM to all PEs of the L1B. With `$llb` the second long words follow the "
    "first ones of the four cycles.",
    "l1bmm": "Down: four long words per cycle, one for each PE of a MAB, the same for all MABs. Up, `l1bmm@k`: those "
    f"of MAB k. {_SECOND}",
    "l1bmm4": "Down: 16 long words per cycle, one for each PE of four MABs (a quad), MAB m takes those of quad m / 4. "
    f"Up, `l1bmm4@k`: from the MAB with number k (0 to 3) in each quad. {_SECOND}",
    "l1bmd": "64 long words per cycle, one for each PE of the L1B, in the order of MABs and PEs. `+n` moves data n "
    "MABs on, `-n` back: with `+1` MAB m receives what lies at the place of MAB m - 1, and up, its own goes to that of "
    "MAB m + 1. MAB 0 follows MAB 15.",
    "l1bmr": f"Reduce over the 16 MABs of the L1B: four results per cycle, one for each PE number. {_WIDE}",
    "l1bmr4": f"Reduce over the four MABs of each quad: 16 results per cycle. {_WIDE}",
}
_L2BM = {
    "l2bmb": "Broadcast: 16 long words per cycle of the L2BM to all L1BMs, or to those of `@set`.",
    "l2bmb2": "Broadcast to pairs: 64 long words per cycle, 16 for each pair of L1Bs, 0 and 1 first (OPEN-42).",
    "l2bmd": "Distribute or collect: 64 long words per cycle of the L2BM, 8 in each L1BM, L1B 0 first.",
    "l2bm": "Collect from one: 16 long words per cycle of the L1BM of L1B k.",
    "l2bmi": "Copy between L1BMs: each L1B of the set sends 16 long words per cycle to the L1Bs equal to it in the "
    "bits that the set leaves open.",
    "l2bmr": "Reduce over the L1Bs, or those of `@set`: 16 results per cycle.",
    "l2bmr2": "Reduce over pairs of L1Bs: 64 results per cycle, those of L1B 0 and 1 first.",
    "l2bmdars": "Stage 256 long words of an L2BM as 512 words for the DAR, the table of DRAM addresses (OPEN-41).",
    "l2bmdarw": "Write the next four staged words to the DAR.",
}
_MV = {
    "mvp": "Copy between one memory and one other, or between the pair in every group.",
    "mvb": "Broadcast to all eight L2BMs.",
    "mvb2": "Broadcast from the DRAM of each group to its two L2BMs.",
    "mvb4": "Distribute over the two L2BMs of a group, broadcast over the four groups.",
    "mvd": "Distribute over, or collect from, all instances on one side, in blocks of 16 long words.",
    "mvr": "Reduce over the eight L2BMs.",
    "mvr2": "Reduce over the two L2BMs of each group.",
    "mvr4": "Reduce over the four groups, apart for the two L2BMs of a group.",
    "mvnop": "Issue an MV that moves nothing.",
}
_CONTROL = {
    "nop": "Do nothing for one step; the forwarding latches stay. `nop/<n>`, alone on its line, stands for n steps.",
    "noforward": "The forwarding latches and the turnaround register keep their contents in this step.",
    "wait": "Stop issue until the MV with this tag has finished. Needs another expression beside it.",
}
MEANINGS = {**_CONTROL, **_ALU, **_MAU, **_MATRIX, **_L1BM, **_L2BM, **_MV}
"""Operation -> what it computes."""

REDUCTION_MEANINGS = {
    "fadd": "sum of floating-point numbers",
    "max": "largest",
    "min": "smallest",
    "iadd": "sum of integers, wrapping",
    "band": "bitwise and",
    "bor": "bitwise or",
    "and": "logical and: 1 if no element is 0, else 0",
    "or": "logical or: 1 if some element is not 0, else 0",
}
"""Name of a reduction (`isa.REDUCTIONS`) -> what it computes."""
