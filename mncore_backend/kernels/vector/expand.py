"""From scalar operations to machine instructions.

A comparison used only by selects becomes a flag at each select; any other ``i1`` is a word holding 0 or 1. Float
comparisons use the flags of ``fmax``/``fmin``, which compare exactly (a difference could flush to zero).
"""

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from mnc.core.diagnostics import InternalError
from mnc.mncore_backend.kernels.math import elementary, exponential, integer, power
from mnc.mncore_backend.kernels.math.bits import bits_float
from mnc.mncore_backend.kernels.math.micro import MANTISSA_ONE, SIGN_BIT, SMALLEST_NORMAL, MicroBuilder, Value
from mnc.mncore_backend.kernels.vector.body import Body, Operation, Scalar


@dataclass(frozen=True, slots=True)
class Condition:
    """An i1 not yet computed: the operation whose flag is raised where it is true (false, if `inverted`). `also`: a
    second operation whose flag must be raised too."""

    opcode: str
    operands: tuple[Value, Value]
    inverted: bool = False
    also: str = ""

    def flag(self, m: MicroBuilder) -> int:
        flag = m.test(self.opcode, *self.operands)
        if self.also:
            m.test_also(flag, self.also, *self.operands)
        return flag


Result = Value | Condition

# predicate -> (opcode, inverted, also)
_FLOAT_TESTS = {
    "ge": ("fmax", False, ""),
    "le": ("fmin", False, ""),
    "lt": ("fmax", True, ""),
    "gt": ("fmin", True, ""),
    "eq": ("fmax", False, "fmin"),
    "ne": ("fmax", True, "fmin"),
}
_INTEGER_TESTS = {
    "sge": ("imax", False, ""),
    "sle": ("imin", False, ""),
    "slt": ("imax", True, ""),
    "sgt": ("imin", True, ""),
    "uge": ("uimax", False, ""),
    "ule": ("uimin", False, ""),
    "ult": ("uimax", True, ""),
    "ugt": ("uimin", True, ""),
    "eq": ("ixor", False, ""),
    "ne": ("ixor", True, ""),
}
_ALU_NAMES = {
    "maximumf": "fmax",
    "minimumf": "fmin",
    "floor": "ffloor",
    "addi": "iadd",
    "subi": "isub",
    "maxsi": "imax",
    "minsi": "imin",
    "maxui": "uimax",
    "minui": "uimin",
    "andi": "iand",
    "ori": "ior",
    "xori": "ixor",
    "shli": "ilsl",
    "shrsi": "ilsr",
    "shrui": "uilsr",
}
_FUNCTIONS: dict[str, Callable[..., Value]] = {
    "exp": exponential.exp,
    "log": elementary.log,
    "log1p": elementary.log1p,
    "sqrt": elementary.sqrt,
    "rsqrt": elementary.rsqrt,
    "reciprocal": elementary.reciprocal,
    "tanh": elementary.tanh,
    "logistic": elementary.logistic,
    "erf": elementary.erf,
    "sin": elementary.sine,
    "cos": elementary.cosine,
    "powf": power.power,
    "sitofp": integer.integer_to_float,
    "fptosi": integer.float_to_integer,
    "muli": integer.multiply,
}


class Expander:
    """Translates one `Body`; `value` then gives the machine value of each scalar. `outputs` are the stored ones,
    `repeats` as for `MicroBuilder`."""

    def __init__(self, body: Body, outputs: Iterable[Scalar] = (), *, repeats: bool = True) -> None:
        self.m = MicroBuilder(repeats)
        self._results: dict[int, Result] = {}
        self._uses = Counter(o.number for operation in body.operations for o in operation.operands)
        self._uses.update(scalar.number for scalar in outputs)
        self._definitions = {operation.result.number: operation for operation in body.operations}
        self._fused = self._find_fused_products(body)
        self._logistics = self._find_logistics(body)
        for operation in body.operations:
            if operation.result.number not in self._fused:
                self._results[operation.result.number] = self._expand(operation)

    def _find_fused_products(self, body: Body) -> set[int]:
        """Products whose only use is a sum, a difference or an exponential: they are computed by it, with one rounding
        less."""
        fused = set()
        for operation in body.operations:
            if operation.name == "exp":
                (operand,) = operation.operands
                if self._uses[operand.number] == 1 and self._scaled(operand) is not None:
                    fused.add(operand.number)
            if operation.name in ("addf", "subf"):
                for operand in operation.operands:
                    if self._definitions[operand.number].name == "mulf" and self._uses[operand.number] == 1:
                        fused.add(operand.number)
                        break
        return fused

    def _find_logistics(self, body: Body) -> dict[int, tuple[Scalar, float]]:
        """Quotients 1 / (1 + e^z) with x and factor such that z = -factor * x: a divisor from 1 on that nobody else
        reads needs no sign, no zero and no infinity. What leads to them is computed by them."""
        found: dict[int, tuple[Scalar, float]] = {}
        for operation in body.operations:
            if operation.name != "divf" or not self._is_one(operation.operands[0]):
                continue
            addends = self._only(operation.operands[1], "addf")
            for one, raised in (addends, addends[::-1]) if addends else ():
                exponent = self._only(raised, "exp")
                if self._is_one(one) and exponent:
                    found[operation.result.number] = self._negated(exponent[0])
                    self._fused |= {operation.operands[1].number, raised.number}
                    break
        return found

    def _only(self, scalar: Scalar, name: str) -> tuple[Scalar, ...]:
        """The operands of an operation of this name whose result is read once; none where it is something else."""
        operation = self._definitions[scalar.number]
        return operation.operands if operation.name == name and self._uses[scalar.number] == 1 else ()

    def _is_one(self, scalar: Scalar) -> bool:
        operation = self._definitions[scalar.number]
        return operation.name == "constant" and int(operation.attribute) == MANTISSA_ONE

    def _negated(self, scalar: Scalar) -> tuple[Scalar, float]:
        """x and factor whose product is the negated value."""
        operation = self._definitions[scalar.number]
        if operation.name == "negf":
            return operation.operands[0], 1.0
        if scalar.number in self._fused and (scaled := self._scaled(scalar)) is not None:
            return scaled[0], -scaled[1]
        return scalar, -1.0

    def _scaled(self, scalar: Scalar) -> tuple[Scalar, float] | None:
        """The value and the constant that an exponential's operand is the product of, if it takes the constant."""
        product = self._definitions[scalar.number]
        if product.name != "mulf":
            return None
        for x, y in (product.operands, product.operands[::-1]):
            constant = self._definitions[y.number]
            if constant.name == "constant" and exponential.is_exp_factor(bits_float(int(constant.attribute))):
                return x, bits_float(int(constant.attribute))
        return None

    def value(self, scalar: Scalar) -> Value:
        """The word of a scalar, computed if it was only a condition so far."""
        result = self._results[scalar.number]
        if isinstance(result, Condition):
            result = self._results[scalar.number] = self._word(result)
        return result

    def _word(self, condition: Condition) -> Value:
        one = self.m.constant(1)
        word = self.m.keep_where(condition.flag(self.m), "ipassa", one)
        return self.m.alu("ixor", word, one) if condition.inverted else word

    def _expand(self, operation: Operation) -> Result:
        m, name = self.m, operation.name
        if name == "input":
            return Value("input", int(operation.attribute))
        if name == "constant":
            return m.constant(int(operation.attribute))
        if name in ("cmpf", "cmpi"):
            return self._compare(operation)
        if name == "select":
            return self._select(*operation.operands)
        if name in ("addf", "subf"):
            return self._sum(operation)
        if name == "exp" and operation.operands[0].number in self._fused:
            return self._scaled_exp(operation.operands[0])
        if (logistic := self._logistics.get(operation.result.number)) is not None:
            return elementary.logistic(m, self.value(logistic[0]), logistic[1])
        operands = [self.value(operand) for operand in operation.operands]
        if name in _ALU_NAMES:
            return m.alu(_ALU_NAMES[name], *operands)
        if name in _FUNCTIONS:
            return _FUNCTIONS[name](m, *operands)
        return self._simple(name, operands)

    def _scaled_exp(self, operand: Scalar) -> Value:
        scaled = self._scaled(operand)
        assert scaled is not None  # the product is fused
        return exponential.exp(self.m, self.value(scaled[0]), scaled[1])

    def _simple(self, name: str, operands: list[Value]) -> Value:
        m, x = self.m, operands[0]
        if name == "mulf":
            return m.mul(*operands)
        if name == "divf":
            return self._divide(*operands)
        if name == "negf":
            return -x
        if name == "absf":
            return m.absolute(x)
        if name == "ceil":
            return m.alu("ixor", SIGN_BIT, m.alu("ffloor", -x))
        if name == "roundeven":
            return self._round_even(x)
        if name == "uitofp":  # of an i1
            return m.integer_and(m.alu("isub", m.constant(0), x), MANTISSA_ONE)
        if name in ("bitcast", "extui"):
            return m.plain(x)
        raise InternalError(f"vector operation {name} has no expansion")

    def _divide(self, x: Value, y: Value) -> Value:
        if y.kind == "constant" and 2.0**-120 <= abs(bits_float(y.number)) <= 2.0**120:
            return elementary.divide_by_constant(self.m, x, bits_float(y.number))
        if x == self.m.number(1.0):
            return elementary.reciprocal(self.m, y)
        return elementary.divide(self.m, x, y)

    def _round_even(self, x: Value) -> Value:
        """Adding 1.5 * 2^23 rounds to an integer; from 2^22 on that is not so, and x may have a fraction of 1/2 up to
        2^23, hence the sign-dependent constant 2^23 there."""
        m = self.m
        sign = m.integer_and(m.plain(x), 0x80000000)
        magic = m.alu("ior", sign, m.number(8388608.0))
        rounded = m.add(m.add(x, magic), -magic)
        is_integer = m.test("fmax", m.absolute(x), m.number(8388608.0))
        return m.select(is_integer, x, rounded)

    def _sum(self, operation: Operation) -> Value:
        x, y = operation.operands
        minus = operation.name == "subf"
        if x.number in self._fused:
            a, b = (self.value(factor) for factor in self._definitions[x.number].operands)
            c = self.value(y)
            return self.m.fma(a, b, -c if minus else c)
        if y.number in self._fused:
            a, b = (self.value(factor) for factor in self._definitions[y.number].operands)
            return self.m.fma(-a if minus else a, b, self.value(x))
        a, b = self.value(x), self.value(y)
        return self.m.sub(a, b) if minus else self.m.add(a, b)

    def _compare(self, operation: Operation) -> Condition:
        operands = (self.m.plain(self.value(operation.operands[0])), self.m.plain(self.value(operation.operands[1])))
        predicate = str(operation.attribute)
        if operation.name == "cmpf" and predicate[1:] == "gt" and operands[1] == self.m.constant(0):
            # A pattern not below the smallest normal number (the machine takes subnormals for zero): this flag is
            # raised where it is true, so that a select needs no copy.
            return Condition("imax", (operands[0], self.m.constant(SMALLEST_NORMAL)))
        if operation.name == "cmpf":
            opcode, inverted, also = _FLOAT_TESTS[predicate[1:]]
        else:
            opcode, inverted, also = _INTEGER_TESTS[predicate]
        return Condition(opcode, operands, inverted, also)

    def _select(self, condition: Scalar, if_true: Scalar, if_false: Scalar) -> Value:
        m = self.m
        a, b = self.value(if_true), self.value(if_false)
        test = self._results[condition.number]
        if isinstance(test, Value):  # the flag of a copy is raised where the word is 0
            test = Condition("ior", (test, test), inverted=True)
        if test.inverted:
            a, b = b, a
        return m.select(test.flag(m), a, b)
