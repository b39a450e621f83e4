"""A quick test in front of the single multiply-add: binary32 arithmetic with an error interval.

Where both ends of an interval around the exact result round to the same single, that single is the
result. Chunks with a lane in doubt, or out of the range of the proof, are computed again in full.
"""

from .emitter import Value

_ABSOLUTE = 0x7FFFFFFF


def _power(exponent: int) -> int:
    """Single pattern of 2**`exponent`."""
    return (127 + exponent) << 23


def _zero_or_from(x: Value, low: int) -> Value:
    """Is the pattern a canonical zero, or its magnitude at least 2**`low`, if it is finite?"""
    return ((x << 1) - 1).compare("uge", 2 * _power(low) - 1)


def interval_sum(x: Value, y: Value, z: Value) -> tuple[Value, Value]:
    """x*y + z for single patterns (i32 lanes), and the lanes in which the result is proven.

    p + error(p) and s + error(s) are exact in the admitted range, and the exact result of the
    machine is s + error(s) + error(p) - q, where q comes from the omitted partial product and
    |q| < 2**-36.5 |p|. Rounding the sum of the errors costs at most 2**-48 (|p| + |s|), adding the
    margin at most 2**-47.9 (|p| + |s|); all three together stay below the margin. Rounding is
    monotone, so equal ends mean that everything between them rounds alike. The range has no upper end: an
    infinite or undefined p or s makes the error of s undefined, and with it both ends.
    """
    a, b, c = (v.bitcast("f32") for v in (x, y, z))
    p = a * b
    p_error = a.fused(b, (p.bitcast("i32") ^ (1 << 31)).bitcast("f32"))
    s = p + c
    t = s - p
    correction = p_error + ((p - (s - t)) + (c - t))
    p_size, s_size = ((v.bitcast("i32") & _ABSOLUTE).bitcast("f32") for v in (p, s))
    margin = p_size * 2.0**-36 + s_size * 2.0**-46
    low, high = s - (margin - correction), s + (correction + margin)
    bits = low.bitcast("i32")
    proven = low.compare("oeq", high) & _zero_or_from(bits, -100)
    proven = proven & _zero_or_from(x, -50) & _zero_or_from(y, -50) & _zero_or_from(z, -100)
    return low.compare("oeq", 0.0).select(bits.like(0), bits), proven
