"""A quick test in front of the single multiply-add: binary32 arithmetic with an error interval.

Where both ends of an interval around the exact result round to the same single, that single is the
result. Chunks with a lane in doubt, or out of the range of the proof, are computed again in full.
"""

from .emitter import Value

_ABSOLUTE = 0x7FFFFFFF


def _power(exponent: int) -> int:
    """Single pattern of 2**`exponent`."""
    return (127 + exponent) << 23


def _zero_or_between(x: Value, low: int, high: int) -> Value:
    """Is the pattern a canonical zero, or its magnitude in [2**`low`, 2**`high`)?"""
    magnitude = x & _ABSOLUTE
    inside = (magnitude - _power(low)).compare("ult", _power(high) - _power(low))
    return inside | magnitude.compare("eq", 0)


def interval_sum(x: Value, y: Value, z: Value) -> tuple[Value, Value]:
    """x*y + z for single patterns (i32 lanes), and the lanes in which the result is proven.

    p + error(p) and s + error(s) are exact in the admitted range, and the exact result of the
    machine is s + error(s) + error(p) - q, where q comes from the omitted partial product and
    |q| < 2**-36.5 |p|. Rounding the sum of the errors costs at most 2**-48 (|p| + |s|), adding the
    margin at most 2**-47.9 (|p| + |s|); all three together stay below the margin. Rounding is
    monotone, so equal ends mean that everything between them rounds alike.
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
    proven = low.compare("oeq", high) & _zero_or_between(bits, -100, 127)
    proven = proven & _zero_or_between(x, -50, 62) & _zero_or_between(y, -50, 62) & _zero_or_between(z, -100, 125)
    return low.compare("oeq", 0.0).select(bits.like(0), bits), proven
