"""Instruction selection: the per-PE program (affine loops, mncore kernels and transfers) -> machine operations over
buffers that have no addresses yet."""
