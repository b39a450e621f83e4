"""What every operation computes, in a sentence or two. Keys are `OpcodeInfo.operation`.

Sources: SDM 3.5 to 3.6 and the public summary of it; `isa` names the section of each group.
"""

_ALU = {
    "zero": "All 128 bits are 0.",
    "imm": "The 32-bit word of the literal, four times. A step with `imm` cannot touch LM0.",
    "immu": "The 32-bit word of the literal in D0 and D2, zero in D1 and D3: a double whose low half is zero. A step "
    "with `immu` cannot touch LM0.",
    "passa": "x, unchanged, all 128 bits.",
    "msl": "PE p receives the long word of PE (p - 1) mod 4 of its MAB.",
    "msr": "PE p receives the long word of PE (p + 1) mod 4 of its MAB.",
    "bfn": "Block floating point: the elements of a block in the four PEs of the MAB get the exponent of the "
    "largest. `h` needs the number of mantissa bits, `hbfn/6` to `hbfn/9`.",
    "bfe": "As `hbfn`, in the extended representation of halves (OPEN-29).",
    "inc": "x + 1, wrapping.",
    "dec": "x - 1, wrapping.",
    "not": "Every bit of x inverted.",
    "lnot": "1 where x is 0, else 0.",
    "rsqrt": "About 1 / sqrt(|x|), good to five bits: the seed of an iteration (OPEN-22).",
    "floor": "x rounded towards minus infinity, still a floating-point number.",
    "ftoi": "x truncated to an integer of the same width, saturating. With `u`: |x|, unsigned.",
    "max": "The larger of x and y. With `u`, integers are unsigned.",
    "min": "The smaller of x and y. With `u`, integers are unsigned.",
    "packbit": "x shifted left by one bit; the top bit of y becomes the lowest bit.",
    "and": "x and y, bit by bit.",
    "or": "x or y, bit by bit.",
    "xor": "x exclusive or y, bit by bit.",
    "add": "x + y, wrapping. `u` changes only the flag.",
    "sub": "x - y, wrapping. `u` changes only the flag.",
    "lsl": "x shifted left by y bits.",
    "lsr": "x shifted right by y bits: copies of the sign come in, with `u` zeros.",
    "bsl": "x rotated left by y bits.",
    "bsr": "x rotated right by y bits.",
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
    "Matrix and vector are block floating point.",
    "mmul": "Matrix times vector, per MAB and cycle. Matrix and vector are block floating point.",
    "vfma": "x y + z, element by element; halves accumulate in singles.",
    "vmul": "x y, element by element; the products of halves are singles.",
    "vadd": "x + z, element by element. The second operand is the addend: for `h` it is four singles, or four halves "
    "with `e`.",
    "vpassa": "x, normalised: subnormal numbers and -0 become 0. Never move integers with it; halves become singles.",
}
_MATRIX = {
    "mwrite": "Write one row per cycle (`hmwrite` to `$llx`: two rows) of a matrix bank, beginning at the row of the "
    "address.",
    "mread": "Read one column per cycle (`hmread`: two columns), beginning at the column of the address: a "
    "transposition.",
}
_L1BM = {
    "l1bmp": "One long word per cycle of the L1BM to all PEs of the L1B.",
    "l1bmm": "Down: four long words per cycle, one for each PE of a MAB, the same for all MABs. Up, `l1bmm@k`: those "
    "of MAB k.",
    "l1bmm4": "Down: 16 long words per cycle, one for each PE of four MABs (a quad), MAB m takes those of quad m / 4. "
    "Up, `l1bmm4@k`: from the MAB with number k (0 to 3) in each quad.",
    "l1bmd": "64 long words per cycle, one for each PE of the L1B, in the order of MABs and PEs. `+n` and `-n` rotate "
    "the MABs.",
    "l1bmr": "Reduce over the 16 MABs of the L1B: four results per cycle, one for each PE number.",
    "l1bmr4": "Reduce over the four MABs of each quad: 16 results per cycle.",
}
_L2BM = {
    "l2bmb": "Broadcast: 16 long words per cycle of the L2BM to all L1BMs, or to those of `@set`.",
    "l2bmb2": "Broadcast to pairs: 64 long words per cycle, 16 for each pair of L1Bs (OPEN-42).",
    "l2bmd": "Distribute or collect: 64 long words per cycle of the L2BM, 8 in each L1BM.",
    "l2bm": "Collect from one: 16 long words per cycle of the L1BM of L1B k.",
    "l2bmi": "Copy between L1BMs: each L1B of the set sends 16 long words per cycle to the L1Bs equal to it in the "
    "bits that the set leaves open.",
    "l2bmr": "Reduce over the L1Bs, or those of `@set`: 16 results per cycle.",
    "l2bmr2": "Reduce over pairs of L1Bs: 64 results per cycle.",
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
