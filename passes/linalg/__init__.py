"""Passes on linalg on tensors: fusion, tiling, padding, packing."""
