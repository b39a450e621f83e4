"""Arithmetic on one element, for the bodies of `linalg.generic`: `arith` and `math` operations.

`element` is the element type that the *graph* operand had, because its sign decides between
`divsi` and `divui`; the scalars themselves are signless.
"""

from mnc.core.bindings import arith, ir, math
from mnc.lowering.graph_to_linalg.emit import is_float, is_unsigned, scalar, signless

Scalar = ir.Value


def select(condition: Scalar, true: Scalar, false: Scalar) -> Scalar:
    """condition ? true : false."""
    return arith.SelectOp(condition, true, false).result


_FLOAT_PREDICATE = {"eq": 1, "gt": 2, "ge": 3, "lt": 4, "le": 5, "ne": 13}  # ordered, but ne is true for NaN
_SIGNED_PREDICATE = {"eq": 0, "ne": 1, "lt": 2, "le": 3, "gt": 4, "ge": 5}
_UNSIGNED_PREDICATE = {"eq": 0, "ne": 1, "lt": 6, "le": 7, "gt": 8, "ge": 9}


def compare(predicate: str, a: Scalar, b: Scalar, element: ir.Type) -> Scalar:
    """Comparison `predicate` (eq, ne, lt, le, gt, ge), ordered for floats except ``ne``."""
    i64 = ir.IntegerType.get_signless(64)
    if is_float(element):
        return arith.CmpFOp(ir.IntegerAttr.get(i64, _FLOAT_PREDICATE[predicate]), a, b).result
    table = _UNSIGNED_PREDICATE if is_unsigned(element) else _SIGNED_PREDICATE
    return arith.CmpIOp(ir.IntegerAttr.get(i64, table[predicate]), a, b).result


def add(a: Scalar, b: Scalar, element: ir.Type) -> Scalar:
    """a + b."""
    return (arith.AddFOp(a, b) if is_float(element) else arith.AddIOp(a, b)).result


def subtract(a: Scalar, b: Scalar, element: ir.Type) -> Scalar:
    """a - b."""
    return (arith.SubFOp(a, b) if is_float(element) else arith.SubIOp(a, b)).result


def multiply(a: Scalar, b: Scalar, element: ir.Type) -> Scalar:
    """a * b."""
    return (arith.MulFOp(a, b) if is_float(element) else arith.MulIOp(a, b)).result


def divide(a: Scalar, b: Scalar, element: ir.Type) -> Scalar:
    """a / b; integers round toward zero."""
    if is_float(element):
        return arith.DivFOp(a, b).result
    return (arith.DivUIOp(a, b) if is_unsigned(element) else arith.DivSIOp(a, b)).result


def maximum(a: Scalar, b: Scalar, element: ir.Type) -> Scalar:
    """max(a, b), NaN when either is."""
    if is_float(element):
        return arith.MaximumFOp(a, b).result
    return (arith.MaxUIOp(a, b) if is_unsigned(element) else arith.MaxSIOp(a, b)).result


def minimum(a: Scalar, b: Scalar, element: ir.Type) -> Scalar:
    """min(a, b), NaN when either is."""
    if is_float(element):
        return arith.MinimumFOp(a, b).result
    return (arith.MinUIOp(a, b) if is_unsigned(element) else arith.MinSIOp(a, b)).result


def negate(a: Scalar, element: ir.Type) -> Scalar:
    """-a."""
    return arith.NegFOp(a).result if is_float(element) else arith.SubIOp(scalar(0, element), a).result


def absolute(a: Scalar, element: ir.Type) -> Scalar:
    """|a|."""
    if is_unsigned(element):
        return a
    return math.AbsFOp(a).result if is_float(element) else math.AbsIOp(a).result


def sign(a: Scalar, element: ir.Type) -> Scalar:
    """-1, 0 or 1; zeros and NaN stay as they are."""
    zero, one = scalar(0, element), scalar(1, element)
    positive = select(compare("gt", a, zero, element), one, a)
    if is_unsigned(element):
        return positive
    return select(compare("lt", a, zero, element), scalar(-1, element), positive)


def reciprocal(a: Scalar, element: ir.Type) -> Scalar:
    """1 / a."""
    return divide(scalar(1, element), a, element)


def sigmoid(a: Scalar, element: ir.Type) -> Scalar:
    """1 / (1 + exp(-a)): exp overflows to infinity for very negative a, and 1/inf is the right 0."""
    one = scalar(1, element)
    return divide(one, add(one, math.ExpOp(negate(a, element)).result, element), element)


def relu(a: Scalar, element: ir.Type) -> Scalar:
    """max(a, 0)."""
    return maximum(a, scalar(0, element), element)


def power(a: Scalar, b: Scalar, element: ir.Type) -> Scalar:
    """a ** b; integer powers by `math.ipowi`."""
    return math.PowFOp(a, b).result if is_float(element) else math.IPowIOp(a, b).result


def floor_modulo(a: Scalar, b: Scalar, element: ir.Type) -> Scalar:
    """Remainder with the sign of `b` (ONNX Mod, fmod=0)."""
    if is_unsigned(element):
        return arith.RemUIOp(a, b).result
    remainder = truncated_modulo(a, b, element)
    zero = scalar(0, element)
    signs_differ = arith.XOrIOp(compare("lt", remainder, zero, element), compare("lt", b, zero, element)).result
    wrong = arith.AndIOp(signs_differ, compare("ne", remainder, zero, element)).result
    return select(wrong, add(remainder, b, element), remainder)


def truncated_modulo(a: Scalar, b: Scalar, element: ir.Type) -> Scalar:
    """Remainder with the sign of `a` (C fmod)."""
    if is_float(element):
        return arith.RemFOp(a, b).result
    return (arith.RemUIOp(a, b) if is_unsigned(element) else arith.RemSIOp(a, b)).result


def logical_not(a: Scalar) -> Scalar:
    """1 - a on i1."""
    return arith.XOrIOp(a, scalar(1, ir.IntegerType.get_signless(1))).result


def cast(a: Scalar, source: ir.Type, target: ir.Type) -> Scalar:
    """ONNX Cast of one element: to bool is ``!= 0``, float to integer truncates toward zero."""
    if source == target:
        return a
    if isinstance(target, ir.IntegerType) and target.width == 1:
        return compare("ne", a, scalar(0, source), source)
    out = signless(target)
    if is_float(source):
        if is_float(target):
            return _cast_float(a, source, out)
        return (arith.FPToUIOp(out, a) if is_unsigned(target) else arith.FPToSIOp(out, a)).result
    if is_float(target):
        return (arith.UIToFPOp(out, a) if is_unsigned(source) else arith.SIToFPOp(out, a)).result
    return _cast_integer(a, source, target)


def _cast_float(a: Scalar, source: ir.Type, out: ir.Type) -> Scalar:
    widths = {"f16": 16, "bf16": 16, "f32": 32, "f64": 64}
    before, after = widths[str(source)], widths[str(out)]
    if before == after:
        # f16 and bf16 convert through f32, which holds both exactly.
        a, before = arith.ExtFOp(ir.F32Type.get(), a).result, 32
    elif before == 64 and after == 16:
        # No runtime here converts f64 to 16 bits in one step; the second rounding can cost half an ulp of f16.
        a = arith.TruncFOp(ir.F32Type.get(), a).result
    return (arith.ExtFOp(out, a) if after > before else arith.TruncFOp(out, a)).result


def _cast_integer(a: Scalar, source: ir.Type, target: ir.Type) -> Scalar:
    out = signless(target)
    before, after = ir.IntegerType(source).width, ir.IntegerType(out).width
    if before == after:
        if is_unsigned(source) and not is_unsigned(target):
            # The same bits; but where values lie in wider words, arithmetic is what gives them the sign of the type.
            smallest = arith.ConstantOp(out, ir.IntegerAttr.get(out, -(1 << (before - 1)))).result
            return arith.SubIOp(arith.XOrIOp(a, smallest).result, smallest).result
        return a
    if after < before:
        return arith.TruncIOp(out, a).result
    return (arith.ExtUIOp(out, a) if is_unsigned(source) else arith.ExtSIOp(out, a)).result


def clip(a: Scalar, element: ir.Type, low: float | None, high: float | None) -> Scalar:
    """min(max(a, low), high) with constant bounds."""
    if low is not None:
        a = maximum(a, scalar(low, element), element)
    if high is not None:
        a = minimum(a, scalar(high, element), element)
    return a
