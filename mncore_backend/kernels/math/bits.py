"""Patterns of single-precision numbers."""

import struct

import numpy as np


def float_bits(value: float) -> int:
    """Pattern of `value` rounded to single."""
    with np.errstate(over="ignore"):
        return struct.unpack("<I", np.float32(value).tobytes())[0]


def bits_float(bits: int) -> float:
    """Value of a single with pattern `bits`."""
    return float(np.frombuffer(struct.pack("<I", bits), np.float32)[0])
