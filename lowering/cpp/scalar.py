"""Scalar operations of arith and math as C++ expressions."""

from collections.abc import Callable
from typing import Any

from mnc.core.bindings import ir
from mnc.core.diagnostics import InternalError
from mnc.lowering.cpp.affine import Use
from mnc.lowering.cpp.text import ATOM, LOOSE, PRODUCT, SUM, UNARY, Expression, call, number
from mnc.lowering.cpp.types import SHORT_FLOATS, c_type, computing_type, float_literal, unsigned_type

_FLOAT_INFIX = {"addf": ("+", SUM), "subf": ("-", SUM), "mulf": ("*", PRODUCT), "divf": ("/", PRODUCT)}
_INTEGER_HELPER = {
    "addi": "wrapping_add", "subi": "wrapping_subtract", "muli": "wrapping_multiply", "divsi": "divide",
    "remsi": "remainder",
}  # fmt: skip
_UNSIGNED_HELPER = {"divui": "divide", "remui": "remainder", "maxui": "std::max", "minui": "std::min"}
_BITWISE = {"andi": "&", "ori": "|", "xori": "^"}
_FLOAT_CALL = {
    "arith.remf": "std::fmod", "arith.maximumf": "maximum", "arith.minimumf": "minimum", "arith.maxnumf": "std::fmax",
    "arith.minnumf": "std::fmin", "math.absf": "std::fabs", "math.roundeven": "std::nearbyint", "math.powf": "std::pow",
    "math.copysign": "std::copysign", "math.atan2": "std::atan2", "math.fma": "std::fma",
}  # fmt: skip
_SAME_NAME = frozenset([
    "acos", "acosh", "asin", "asinh", "atan", "atanh", "cbrt", "ceil", "cos", "cosh", "erf", "erfc", "exp", "exp2",
    "expm1", "floor", "log", "log10", "log1p", "log2", "round", "sin", "sinh", "sqrt", "tan", "tanh", "trunc",
])  # fmt: skip
_SIGNED = {0: "==", 1: "!=", 2: "<", 3: "<=", 4: ">", 5: ">=", 6: "<", 7: "<=", 8: ">", 9: ">="}
_FIRST_UNSIGNED_PREDICATE = 6
_ORDERED = {1: "==", 2: ">", 3: ">=", 4: "<", 5: "<=", 13: "!="}
_UNORDERED = {9: "<=", 10: "<", 11: ">=", 12: ">"}
"""Predicates that hold for NaN: the negation of the operator."""
_CASTS = frozenset(["extf", "truncf", "sitofp", "extsi", "trunci", "index_cast"])
_UNSIGNED_CASTS = frozenset(["uitofp", "extui", "index_castui"])


class Scalar:
    """One operation and its operands as text.

    Args:
        operand: expression of a value in the type that C++ computes in.
        raw: expression of a value in the type that it is stored in.
    """

    def __init__(
        self,
        op: ir.Operation,
        operand: Callable[[ir.Value], Expression],
        raw: Callable[[ir.Value], Expression],
        use: Use,
    ) -> None:
        self._op, self._use, self._raw = op, use, raw
        self._operand = operand
        self._dialect, self._name = op.name.split(".", 1)
        self._type = op.results[0].type

    def expression(self) -> Expression:
        """The result in its stored type; raises InternalError for an operation that is not known."""
        for build in (self._constant, self._moved, self._comparison, self._real, self._cast, self._integer):
            result = build()
            if result is not None:
                is_stored = build in (self._constant, self._moved) or str(self._type) not in SHORT_FLOATS
                return result if is_stored else _stored(result, self._type)
        raise InternalError(f"the C++ printer has no '{self._op.name}'")

    def _arguments(self) -> list[Expression]:
        return [self._operand(value) for value in self._op.operands]

    def _constant(self) -> Expression | None:
        if self._op.name != "arith.constant":
            return None
        return literal(self._op.attributes["value"], self._type)

    def _moved(self) -> Expression | None:
        """Operations that move bits without looking at them."""
        if self._op.name == "arith.select":
            condition, true, false = (self._raw(value) for value in self._op.operands)
            memory = condition.reads_memory or true.reads_memory or false.reads_memory
            text = f"{condition.at_least(SUM)} ? {true.at_least(SUM)} : {false.at_least(SUM)}"
            return Expression(text, LOOSE, memory)
        if self._op.name == "arith.bitcast":
            self._use("bit_cast")
            return call(f"bit_cast<{c_type(self._type)}>", self._raw(self._op.operands[0]))
        return None

    def _comparison(self) -> Expression | None:
        if self._name not in ("cmpi", "cmpf"):
            return None
        predicate = ir.IntegerAttr(self._op.attributes["predicate"]).value
        a, b = self._arguments()
        if self._name == "cmpi":
            if predicate >= _FIRST_UNSIGNED_PREDICATE:
                a, b = self._as_unsigned(a), self._as_unsigned(b)
            return _infix(_SIGNED[predicate], LOOSE, a, b)
        if predicate in _ORDERED:
            return _infix(_ORDERED[predicate], LOOSE, a, b)
        if predicate in _UNORDERED:
            positive = _infix(_UNORDERED[predicate], LOOSE, a, b)
            return Expression(f"!({positive.text})", UNARY, positive.reads_memory)
        return self._rare_comparison(predicate, a, b)

    def _rare_comparison(self, predicate: int, a: Expression, b: Expression) -> Expression:
        x, y = a.at_least(SUM), b.at_least(SUM)
        text = {
            0: "false", 15: "true", 6: f"({x} < {y}) | ({x} > {y})", 7: f"({x} == {x}) & ({y} == {y})",
            8: f"!(({x} < {y}) | ({x} > {y}))", 14: f"({x} != {x}) | ({y} != {y})",
        }[predicate]  # fmt: skip
        return Expression(text, LOOSE, a.reads_memory or b.reads_memory)

    def _real(self) -> Expression | None:
        if self._name in _FLOAT_INFIX:
            symbol, strength = _FLOAT_INFIX[self._name]
            return _infix(symbol, strength, *self._arguments())
        if self._name == "negf":
            return _prefix("-", *self._arguments())
        function = _FLOAT_CALL.get(self._op.name)
        if function is None and self._dialect == "math" and self._name in _SAME_NAME:
            function = f"std::{self._name}"
        if function is not None:
            if not function.startswith("std::"):
                self._use(function)
                function = f"{function}<{computing_type(self._type)}>"
            return call(function, *self._arguments())
        if self._op.name == "math.rsqrt":
            one = Expression(float_literal(1.0, computing_type(self._type)))
            return _infix("/", PRODUCT, one, call("std::sqrt", *self._arguments()))
        if self._op.name == "math.fpowi":
            base, exponent = self._arguments()
            return call("std::pow", base, _cast_to(computing_type(self._type), exponent))
        return None

    def _cast(self) -> Expression | None:
        target = computing_type(self._type)
        if self._name in _CASTS or self._name in _UNSIGNED_CASTS:
            (a,) = self._arguments()
            if self._name in _UNSIGNED_CASTS:
                a = self._as_unsigned(a)
            same = computing_type(self._op.operands[0].type) == target
            return a if same and self._name not in _UNSIGNED_CASTS else _cast_to(target, a)
        if self._name in ("fptosi", "fptoui"):
            self._use("to_integer")
            whole = target if self._name == "fptosi" else unsigned_type(self._type)
            result = call(f"to_integer<{whole}>", *self._arguments())
            return result if whole == target else _cast_to(target, result)
        return None

    def _integer(self) -> Expression | None:
        type_, unsigned = c_type(self._type), unsigned_type(self._type)
        if self._name in _BITWISE:
            symbol = _BITWISE[self._name]
            a, b = self._arguments()
            if type_ == "bool" and symbol == "^" and b.text == "true":
                return _prefix("!", a)
            return _infix(symbol, LOOSE, a, b)
        if type_ == "bool" and self._name in ("addi", "subi", "muli"):
            return _infix("&" if self._name == "muli" else "^", LOOSE, *self._arguments())
        if self._name in _INTEGER_HELPER:
            self._use(_INTEGER_HELPER[self._name])
            return call(f"{_INTEGER_HELPER[self._name]}<{type_}>", *self._arguments())
        if self._name in _UNSIGNED_HELPER:
            function = _UNSIGNED_HELPER[self._name]
            if not function.startswith("std::"):
                self._use(function)
            result = call(f"{function}<{unsigned}>", *(self._as_unsigned(a) for a in self._arguments()))
            return _cast_to(type_, result)
        if self._name in ("maxsi", "minsi"):
            return call(f"std::{self._name[:3]}<{type_}>", *self._arguments())
        return self._rare_integer(type_, unsigned)

    def _rare_integer(self, type_: str, unsigned: str) -> Expression | None:
        arguments = self._arguments()
        if self._op.name == "math.absi":
            text = arguments[0].at_least(SUM)
            self._use("wrapping_subtract")
            negated = f"wrapping_subtract<{type_}>(0, {arguments[0].text})"
            return Expression(f"{text} < 0 ? {negated} : {text}", LOOSE, arguments[0].reads_memory)
        if self._op.name == "math.ipowi":
            self._use("wrapping_power")
            return call(f"wrapping_power<{type_}>", *arguments)
        if self._name in ("floordivsi", "ceildivsi"):
            helper = "floor_divide" if self._name == "floordivsi" else "ceil_divide"
            self._use(helper)
            return call(f"{helper}<{type_}>", *arguments)
        if self._name in ("shli", "shrui"):
            symbol = "<<" if self._name == "shli" else ">>"
            return _cast_to(type_, _infix(symbol, LOOSE, _cast_to(unsigned, arguments[0]), arguments[1]))
        if self._name == "shrsi":
            return _cast_to(type_, _infix(">>", LOOSE, *arguments))
        return None

    def _as_unsigned(self, a: Expression) -> Expression:
        source = self._op.operands[0].type
        return a if str(source) == "i1" else _cast_to(unsigned_type(source), a)


def literal(attribute: Any, type_: ir.Type) -> Expression:
    """A scalar constant in its stored type."""
    if isinstance(type_, ir.FloatType):
        text = float_literal(ir.FloatAttr(attribute).value, "double" if str(type_) == "f64" else "float")
        value = Expression(text, UNARY if text.startswith("-") else ATOM)
        return _stored(value, type_) if str(type_) in SHORT_FLOATS else value
    value = ir.IntegerAttr(attribute).value
    if str(type_) == "i1":
        return Expression("true" if value else "false")
    return number(value)


def _stored(value: Expression, type_: ir.Type) -> Expression:
    return call(f"to_{SHORT_FLOATS[str(type_)].lower()}", value)


def _infix(symbol: str, strength: int, a: Expression, b: Expression) -> Expression:
    """`a symbol b`; the right side always binds stronger, because floating-point sums do not associate."""
    left = a.at_least(strength if strength != LOOSE else SUM)
    right = b.at_least(strength + 1 if strength != LOOSE else SUM)
    return Expression(f"{left} {symbol} {right}", strength, a.reads_memory or b.reads_memory)


def _prefix(symbol: str, a: Expression) -> Expression:
    return Expression(f"{symbol}{a.at_least(ATOM)}", UNARY, a.reads_memory)


def _cast_to(type_: str, a: Expression) -> Expression:
    return call(f"static_cast<{type_}>", a)
