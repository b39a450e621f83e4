"""Scalar operations of linalg bodies -> operations on the machine's 32-bit words.

Floats of every width are singles. Integers of 64 bits are assumed to fit 32; narrower ones lie sign-extended in a word,
or zero-extended where an unsigned tensor comes from the host: unsigned operations and comparisons look at the bits of
the type only, arithmetic that can leave them sign-extends its result again.
"""

from collections.abc import Callable, Sequence
from typing import Any

from mnc.core.bindings import arith, ir, math
from mnc.lowering.float_formats import HALF, compare_floats, real, rounded, rounded_bits, word
from mnc.lowering.linalg_to_spmd.words import word_type

Handler = Callable[[Any, Sequence[Any]], Any]
EQ, NE, SLT, SGE, ULT, UGE = 0, 1, 2, 5, 6, 9
OLT, OGE, UNE = 4, 3, 13


def _i32() -> Any:
    return ir.IntegerType.get_signless(32)


def _width(value: Any) -> int:
    """Bits of the integer type that a scalar of the body has; 0 for others."""
    return ir.IntegerType(value.type).width if isinstance(value.type, ir.IntegerType) else 0


def _is_narrow(width: int) -> bool:
    return 1 < width < 32


def _zero_extended(x: Any, width: int) -> Any:
    return arith.AndIOp(x, word((1 << width) - 1)).result if _is_narrow(width) else x


def _sign_extended(x: Any, width: int) -> Any:
    if not _is_narrow(width):
        return x
    places = word(32 - width)
    return arith.ShRSIOp(arith.ShLIOp(x, places).result, places).result


def compare_words(predicate: int, a: Any, b: Any) -> Any:
    """`arith.cmpi`."""
    return arith.CmpIOp(ir.IntegerAttr.get(ir.IntegerType.get_signless(64), predicate), a, b).result


def _choose(condition: Any, a: Any, b: Any) -> Any:
    return arith.SelectOp(condition, a, b).result


def _plus(a: Any, b: Any) -> Any:
    return arith.AddIOp(a, b).result


def _minus(a: Any, b: Any) -> Any:
    return arith.SubIOp(a, b).result


def _times(a: Any, b: Any) -> Any:
    return arith.MulIOp(a, b).result


def _to_single(x: Any) -> Any:
    return arith.SIToFPOp(ir.F32Type.get(), x).result


def _to_word(x: Any) -> Any:
    return arith.FPToSIOp(_i32(), x).result


def copy(operation: Any, operands: Sequence[Any]) -> Any:
    """The same operation on words."""
    type_ = word_type(operation.results[0].type)
    attributes = {name: operation.attributes[name] for name in operation.attributes}
    return ir.Operation.create(operation.name, results=[type_], operands=operands, attributes=attributes).results[0]


def _accumulates(operands: Sequence[Any]) -> bool:
    """Whether this combines a value with the one that a loop carries: that has been made fit already."""
    return any(isinstance(x.owner, ir.Block) for x in operands)


def _wrapping(operation: Any, operands: Sequence[Any]) -> Any:
    if _accumulates(operands):
        return copy(operation, operands)
    return _sign_extended(copy(operation, operands), _width(operation.results[0]))


def _unsigned(operation: Any, operands: Sequence[Any]) -> Any:
    width = _width(operation.operands[0])
    return copy(operation, [x if isinstance(x.owner, ir.Block) else _zero_extended(x, width) for x in operands])


def _compare(operation: Any, operands: Sequence[Any]) -> Any:
    signed = SLT <= ir.IntegerAttr(operation.attributes["predicate"]).value <= SGE
    return copy(operation, operands) if signed else _unsigned(operation, operands)


def _is_nan(x: Any) -> Any:
    """Arithmetic of the machine never leaves NaN (SDM 3.6.6), but a word that came from the host may still be one."""
    magnitude = arith.AndIOp(arith.BitcastOp(_i32(), x).result, word(2**31 - 1)).result
    return compare_words(SLT, word(0x7F800000), magnitude)


def _compare_float(operation: Any, operands: Sequence[Any]) -> Any:
    differs_from_itself = operands[0] == operands[1] and ir.IntegerAttr(operation.attributes["predicate"]).value == UNE
    return _is_nan(operands[0]) if differs_from_itself else copy(operation, operands)


def _same(operation: Any, operands: Sequence[Any]) -> Any:
    return operands[0]


def _narrowed(operation: Any, operands: Sequence[Any]) -> Any:
    width = _width(operation.results[0])
    return copy(operation, operands) if width == 1 else _sign_extended(operands[0], width)


def _widened(operation: Any, operands: Sequence[Any]) -> Any:
    width = _width(operation.operands[0])
    if width == 1:
        return copy(operation, operands)
    return _zero_extended(operands[0], width) if operation.name == "arith.extui" else operands[0]


def _unsigned_to_single(x: Any, width: int) -> Any:
    """Both halves convert exactly, their sum is rounded once."""
    if _is_narrow(width) or width > 32:
        return _to_single(_zero_extended(x, width))
    high = _to_single(arith.ShRUIOp(x, word(16)).result)
    low = _to_single(arith.AndIOp(x, word(0xFFFF)).result)
    return arith.AddFOp(arith.MulFOp(high, real(65536.0)).result, low).result


def _from_unsigned(operation: Any, operands: Sequence[Any]) -> Any:
    width = _width(operation.operands[0])
    return copy(operation, operands) if width == 1 else _unsigned_to_single(operands[0], width)


def _to_unsigned(operation: Any, operands: Sequence[Any]) -> Any:
    """From 2**31 on the sign bit is set apart."""
    (x,) = operands
    if _width(operation.results[0]) != 32:
        return _sign_extended(_to_word(x), _width(operation.results[0]))
    upper = arith.XOrIOp(_to_word(arith.SubFOp(x, real(2.0**31)).result), word(1 << 31)).result
    return _choose(compare_floats(OGE, x, real(2.0**31)), upper, _to_word(x))


def _to_signed(operation: Any, operands: Sequence[Any]) -> Any:
    return _sign_extended(_to_word(operands[0]), _width(operation.results[0]))


def divide_unsigned(a: Any, b: Any) -> tuple[Any, Any]:
    """Quotient and remainder of unsigned words.

    The quotient in single is off by less than 2**9 where it is large, so the remainder it leaves is small against
    2**31; dividing that gives the rest but for one, which a comparison settles.
    """
    divisor = _unsigned_to_single(b, 32)
    quotient = _to_word(arith.DivFOp(_unsigned_to_single(a, 32), divisor).result)
    rest = _minus(a, _times(quotient, b))
    more = _to_word(arith.DivFOp(_to_single(rest), divisor).result)
    quotient, rest = _plus(quotient, more), _minus(rest, _times(more, b))
    low = compare_words(SLT, rest, word(0))
    quotient = _choose(low, _minus(quotient, word(1)), quotient)
    rest = _choose(low, _plus(rest, b), rest)
    high = compare_words(UGE, rest, b)
    quotient = _choose(high, _plus(quotient, word(1)), quotient)
    rest = _choose(high, _minus(rest, b), rest)
    one = compare_words(EQ, b, word(1))  # the only divisor whose quotients reach 2**31
    return _choose(one, a, quotient), _choose(one, word(0), rest)


def _magnitude(x: Any) -> Any:
    return arith.MaxSIOp(x, _minus(word(0), x)).result


def _with_sign(x: Any, sign: Any) -> Any:
    """x, negated where `sign` is negative."""
    return _choose(compare_words(SLT, sign, word(0)), _minus(word(0), x), x)


def _division(operation: Any, operands: Sequence[Any]) -> Any:
    a, b = operands
    wants_quotient = "div" in operation.name
    if operation.name in ("arith.divui", "arith.remui"):
        width = _width(operation.operands[0])
        quotient, rest = divide_unsigned(_zero_extended(a, width), _zero_extended(b, width))
        return _sign_extended(quotient if wants_quotient else rest, width)
    quotient, rest = divide_unsigned(_magnitude(a), _magnitude(b))
    if not wants_quotient:
        return _with_sign(rest, a)
    return _sign_extended(_with_sign(quotient, arith.XOrIOp(a, b).result), _width(operation.results[0]))


def _float_remainder(operation: Any, operands: Sequence[Any]) -> Any:
    """a - trunc(a / b) * b with the sign of a; a quotient that was rounded over an integer is put right."""
    a, b = operands
    size = math.AbsFOp(b).result
    left = math.AbsFOp(a).result
    whole = math.FloorOp(arith.DivFOp(left, size).result).result
    rest = arith.SubFOp(left, arith.MulFOp(whole, size).result).result
    rest = _choose(compare_floats(OLT, rest, real(0.0)), arith.AddFOp(rest, size).result, rest)
    rest = _choose(compare_floats(OGE, rest, size), arith.SubFOp(rest, size).result, rest)
    return _choose(compare_floats(OLT, a, real(0.0)), arith.NegFOp(rest).result, rest)


def _integer_power(operation: Any, operands: Sequence[Any]) -> Any:
    """Five squarings: only 0, 1 and -1 have larger powers that fit a word, and of those the parity decides."""
    base, exponent = operands
    odd = arith.AndIOp(exponent, word(1)).result
    capped = _choose(compare_words(UGE, exponent, word(32)), _plus(odd, word(2)), exponent)
    result = word(1)
    for bit in range(5):
        chosen = compare_words(NE, arith.AndIOp(capped, word(1 << bit)).result, word(0))
        result = _choose(chosen, _times(result, base), result)
        base = _times(base, base)
    vanishes = compare_words(UGE, _plus(operands[0], word(1)), word(3))  # neither -1, 0 nor 1
    negative = compare_words(SLT, exponent, word(0))
    result = _choose(arith.AndIOp(vanishes, negative).result, word(0), result)
    return _sign_extended(result, _width(operation.results[0]))


def _rounded(operation: Any, operands: Sequence[Any]) -> Any:
    name = str(operation.results[0].type)
    (x,) = operands
    if name == "f16":
        return rounded(x, HALF)
    return rounded_bits(x, 16) if name == "bf16" else x


HANDLERS: dict[str, Handler] = {
    **dict.fromkeys(("arith.addi", "arith.subi", "arith.muli", "arith.shli"), _wrapping),
    **dict.fromkeys(("arith.maxui", "arith.minui", "arith.shrui"), _unsigned),
    **dict.fromkeys(("arith.divsi", "arith.divui", "arith.remsi", "arith.remui"), _division),
    **dict.fromkeys(("arith.extsi", "arith.extui"), _widened),
    **dict.fromkeys(("arith.index_cast", "arith.index_castui", "arith.extf"), _same),
    "arith.cmpi": _compare,
    "arith.cmpf": _compare_float,
    "arith.trunci": _narrowed,
    "arith.truncf": _rounded,
    "arith.fptosi": _to_signed,
    "arith.fptoui": _to_unsigned,
    "arith.uitofp": _from_unsigned,
    "arith.remf": _float_remainder,
    "math.absi": lambda operation, operands: _sign_extended(_magnitude(operands[0]), _width(operation.results[0])),
    "math.ipowi": _integer_power,
}
"""Operation -> how it is written with words; others are copied."""


def on_words(operation: Any, operands: Sequence[Any]) -> Any:
    """Emit what a scalar operation of a body computes, on words."""
    return HANDLERS.get(operation.name, copy)(operation, operands)
