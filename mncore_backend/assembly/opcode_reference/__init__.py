"""Reference of the opcodes for people: meaning, syntax, operands, flags, distances and a program that runs.

Everything comes from the tables (`isa`, `machine`); only the sentences of `meanings` and the programs of `examples`
are written by hand, one per operation. `docs/opcodes.md` is generated from here.
"""
