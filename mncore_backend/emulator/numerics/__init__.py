"""Slow, readable definition of the arithmetic in plain Python integers: the oracle of the kernels.

One file per topic; every function works on single elements or short lists of elements given as
bit patterns (non-negative ints). Longs are split with `formats.elements` and joined with
`formats.join`. Numbers between input and output are exact: an integer times a power of two.

- `formats`: half, single, double; classification; exact values of patterns
- `rounding`: round to nearest even, ROUND and NORMALISE
- `infinity`: the table of infinite terms (OPEN-25, OPEN-26)
- `conversion`: operand suffixes ``e`` and ``r``, opcode suffix ``r``
- `mau_vector`, `mau_matrix`: multiply-add units
- `block_float`: ``bfn`` and ``bfe``
- `rrn`: reduction network, stages and the two-level reduction of an L1B
- `alu_integer`, `alu_float`: ALU operations with their flags
"""
