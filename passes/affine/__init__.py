"""Passes on affine loops over buffers: loop shape, copies into local memory, reuse of windows."""
