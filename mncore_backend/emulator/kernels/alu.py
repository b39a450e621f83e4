"""Element-wise ALU kernels: integer and bitwise operations, selection, and their flags (SDM 3.6.12)."""

from collections.abc import Callable

from mnc.mncore_backend.target import cached_per_machine

from . import alu_float
from .emitter import Value
from .jit import Inputs, Kernel, Outputs, chunked, kernel
from .lanes import LONGS, PRECISIONS, Precision, nibbles

Result = tuple[Value, Value | None]
"""A result vector and the condition whose truth is the flag; None where no flag is generated."""

Operation = Callable[[Value, Value, Precision, bool], Result]

UNARY = {"passa", "inc", "dec", "not", "lnot", "rsqrt", "floor", "ftoi", "msl", "msr"}
_FLAGLESS = {"floor", "ftoi", "msl", "msr"}


def _zero_flag(result: Value) -> Result:
    return result, result.compare("eq", 0)


def _add(x: Value, y: Value, _: Precision, unsigned: bool) -> Result:
    result = x + y
    # "Non-negative" of an overflowing signed result: the wrapped top bit (OPEN-18); sums wrap (OPEN-21).
    return result, result.compare("uge", x) if unsigned else result.compare("sge", 0)


def _sub(x: Value, y: Value, _: Precision, unsigned: bool) -> Result:
    result = x - y
    return result, x.compare("uge", y) if unsigned else result.compare("sge", 0)


def _compare_select(predicate: str) -> Operation:
    def operation(x: Value, y: Value, precision: Precision, unsigned: bool) -> Result:
        if precision.exponent_bits:
            left, right = alu_float.order_key(x, precision), alu_float.order_key(y, precision)
        else:
            left, right = x, y
        takes_x = left.compare(("u" if unsigned else "s") + predicate, right)
        return takes_x.select(x, y), takes_x

    return operation


def _packbit(x: Value, y: Value, precision: Precision, _: bool) -> Result:
    return (x << 1) | (y >> (precision.bits - 1)), y.compare("sge", 0)


def _shift(left: bool) -> Operation:
    def operation(x: Value, y: Value, precision: Precision, unsigned: bool) -> Result:
        amount = y & (2 * precision.bits - 1)
        everything = amount.compare("uge", precision.bits)
        inside = amount & (precision.bits - 1)
        if left or unsigned:
            shifted = everything.select(x.like(0), (x << inside) if left else (x >> inside))
        else:
            shifted = x.sar(everything.select(x.like(precision.bits - 1), inside))
        return _zero_flag(shifted)

    return operation


def _rotate(left: bool) -> Operation:
    def operation(x: Value, y: Value, precision: Precision, _: bool) -> Result:
        amount = y & (precision.bits - 1)
        back = (precision.bits - amount) & (precision.bits - 1)
        return _zero_flag((x << amount) | (x >> back) if left else (x >> amount) | (x << back))

    return operation


def _neighbour(distance: int) -> Operation:
    """Longs come from PE (p + distance) mod 4 of the same MAB."""

    def operation(x: Value, _y: Value, _p: Precision, _u: bool) -> Result:
        return x.shuffle([lane & ~3 | (lane + distance) & 3 for lane in range(x.lanes)]), None

    return operation


_OPERATIONS: dict[str, Operation] = {
    "passa": lambda x, y, p, u: _zero_flag(x),
    "inc": lambda x, y, p, u: _add(x, x.like(1), p, u),
    "dec": lambda x, y, p, u: _sub(x, x.like(1), p, u),
    "not": lambda x, y, p, u: _zero_flag(~x),
    "lnot": lambda x, y, p, u: _zero_flag(x.compare("eq", 0).select(x.like(1), 0)),
    "max": _compare_select("ge"),
    "min": _compare_select("le"),
    "packbit": _packbit,
    "and": lambda x, y, p, u: _zero_flag(x & y),
    "or": lambda x, y, p, u: _zero_flag(x | y),
    "xor": lambda x, y, p, u: _zero_flag(x ^ y),
    "add": _add,
    "sub": _sub,
    "lsl": _shift(left=True),
    "lsr": _shift(left=False),
    "bsl": _rotate(left=True),
    "bsr": _rotate(left=False),
    "msl": _neighbour(-1),
    "msr": _neighbour(1),
    **alu_float.OPERATIONS,
}


@cached_per_machine()
def alu(op: str, precision: str = "", *, unsigned: bool = False, flags: bool = False) -> Kernel:
    """The kernel of an element-wise ALU operation: operands out, x[, y][, flags].

    `op` is the mnemonic without prefix (``add``, ``relu0``, ...); `precision` one of d f h l i s,
    empty for msl and msr. With `flags` an operation that generates none stores 0000 (OPEN-15).
    Raises KeyError for an unknown operation or precision.
    """
    operation = _OPERATIONS[op]
    lane = PRECISIONS[precision or "l"]
    operands = ["out", "x"] + ([] if op in UNARY else ["y"]) + (["flags"] if flags else [])

    def work(inputs: Inputs) -> Outputs:
        x = inputs["x"].bitcast(lane.element)
        y = x if op in UNARY else inputs["y"].bitcast(lane.element)
        result, flag = operation(x, y, lane, unsigned)
        outputs = {"out": result.bitcast("i64")}
        if flags:
            outputs["flags"] = result.builder.constant("i8", LONGS, 0) if flag is None else nibbles(flag)
        return outputs

    name = f"alu_{'u' if unsigned else ''}{precision}{op}{'_flags' if flags else ''}"
    return kernel(name, operands, chunked(LONGS, work, "flags"))
