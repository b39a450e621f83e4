"""MAU vector kernels for single and half precision, and double additions (SDM 3.6.9, 4.2).

One result is a*b + c with a single rounding. Singles are computed in binary64 lanes and doubles of
products by `double`; see `machine_product` and `two_sum_to_odd` for why the result is exact.
"""


from mnc.mncore_backend.target import cached_per_machine

from . import double
from .emitter import Value
from .jit import CYCLES, Body, Inputs, Kernel, Outputs, Step, chunked, kernel, pes
from .lanes import (
    LONGS,
    PRECISIONS,
    Precision,
    canonical,
    double_to_half,
    double_to_single,
    half_to_single,
    is_infinite,
    is_zero,
    nibbles,
    normalise,
    two_sum_to_odd,
)
from .mau_interval import interval_sum
from .moves import join_singles, split_singles, word_halves

_SINGLE, _DOUBLE = PRECISIONS["f"], PRECISIONS["d"]
_SIGN_EXPONENT = _DOUBLE.sign | _DOUBLE.infinity


def low_part(a: Value, low_mask: int) -> tuple[Value, Value]:
    """The part of `a` in the mantissa bits of `low_mask`, and its power of two (zero if there is none)."""
    bits = a.bitcast("i64")
    low = a - (bits & ~low_mask).bitcast(a.element)
    present = (bits & low_mask).compare("ne", 0)
    return low, present.select(bits & _SIGN_EXPONENT, 0).bitcast(a.element)


def machine_product(a: Value, b: Value, low_mask: int, constant: float) -> Value:
    """a*b as the multiplier forms it: the product of the low parts is replaced by a constant if nonzero.

    `a`, `b`: binary64 lanes holding canonical singles. Every operation is exact: at the scale of
    the product's last bit a*b is a 48-bit integer, the low product has 10 bits and the
    replacement is 256 (SDM 4.2).
    """
    a_low, a_power = low_part(a, low_mask)
    b_low, b_power = low_part(b, low_mask)
    return a * b - (a_low * b_low - (a_power * constant) * b_power)


SINGLE_LOW_MASK = 0x1F << 29
"""The low five single-mantissa bits inside a binary64 word."""


def _without_factors_of_zero(x: Value, y: Value) -> tuple[Value, Value]:
    """Single patterns with the same product, in which the other factor of a zero is no infinity: inf * 0 is 0."""
    return is_zero(y, _SINGLE).select(x.like(0), x), is_zero(x, _SINGLE).select(y.like(0), y)


def _infinite_result(x: Value, y: Value | None, z: Value | None) -> tuple[Value, Value]:
    """Where a term is infinite, and the sign of the result there (OPEN-25), on single patterns without inf * 0.

    Terms of both signs give +inf.
    """
    where, sign = is_infinite(x, _SINGLE), x & _SINGLE.sign
    if y is not None:
        where = where | is_infinite(y, _SINGLE)
        sign = (x ^ y) & _SINGLE.sign
    if z is None:
        return where, sign
    z_infinite, z_sign = is_infinite(z, _SINGLE), z & _SINGLE.sign
    both = where.select(z_infinite.select(sign & z_sign, sign), z_sign)
    return where | z_infinite, both


def _as_double(x: Value) -> Value:
    return canonical(x, _SINGLE).bitcast("f32").to_float("f64")


def _exact_sum(product: Value, z: Value | None) -> Value:
    """Bits of product + z, rounded to odd if it does not fit binary64."""
    return product.bitcast("i64") if z is None else two_sum_to_odd(product, _as_double(z))


def _single_lanes(op: str, precision: str, reduce: bool, x: Value, y: Value | None, z: Value | None) -> Value:
    """Results for single patterns in i32 lanes: single patterns, or half patterns with `reduce`."""
    if y is not None:
        x, y = _without_factors_of_zero(x, y)
    where, sign = _infinite_result(x, y, z)
    if op == "passa" and not reduce:
        return normalise(x, _SINGLE)
    if reduce or (precision == "f" and op != "add"):
        if y is None:
            product = _as_double(x)
        elif precision == "h":
            product = _as_double(x) * _as_double(y)
        else:
            product = machine_product(_as_double(x), _as_double(y), SINGLE_LOW_MASK, 2.0**-38)
        total = _exact_sum(product, z)
        if reduce:
            result = double_to_half(total).trunc("i32")
            return where.select((sign >> 16) | PRECISIONS["h"].infinity, result)
        result = double_to_single(total)
    else:
        result = normalise(_single_sum(x, y, z), _SINGLE)
    return where.select(sign | _SINGLE.infinity, result)


def _single_sum(x: Value, y: Value | None, z: Value | None) -> Value:
    """x*y + z in binary32: the product of halves is exact, so the addition is the only rounding.

    A subnormal sum of two singles is exact, so flushing it afterwards is not blurred by rounding.
    """
    total = canonical(x, _SINGLE).bitcast("f32")
    if y is not None:
        total = total * canonical(y, _SINGLE).bitcast("f32")
    if z is not None:
        total = total + canonical(z, _SINGLE).bitcast("f32")
    return total.bitcast("i32")


def _single_work(op: str, reduce: bool, flags: bool, inputs: Inputs) -> Outputs:
    x = inputs["x"].bitcast("i32")
    y = inputs["y"].bitcast("i32") if op in ("fma", "mul") else None
    z = inputs["z"].bitcast("i32") if op in ("fma", "add") else None
    result = _single_lanes(op, "f", reduce, x, y, z)
    outputs = {"out": word_halves(result) if reduce else result.bitcast("i64")}
    if flags:
        outputs["flags"] = nibbles((result & (0x8000 if reduce else 1 << 31)).compare("eq", 0))
    return outputs


def _half_work(op: str, reduce: bool, flags: bool, inputs: Inputs) -> Outputs:
    x = half_to_single(inputs["x"].bitcast("i16").zext("i32"))
    y = half_to_single(inputs["y"].bitcast("i16").zext("i32")) if op in ("fma", "mul") else None
    z = join_singles(inputs["z"], inputs["z_lsb"]) if op in ("fma", "add") else None
    result = _single_lanes(op, "h", reduce, x, y, z)
    outputs: dict[str, Value] = {}
    if reduce:
        outputs["out"] = result.trunc("i16").bitcast("i64")
    else:
        outputs["out"], outputs["out_lsb"] = split_singles(result)
    if flags:
        outputs["flags"] = nibbles((result & (0x8000 if reduce else 1 << 31)).compare("eq", 0))
    return outputs


def _double_sum_work(op: str, reduce: bool, flags: bool, inputs: Inputs) -> Outputs:
    """dvadd and dvpassa: one binary64 addition."""
    x = inputs["x"]
    where, negative = is_infinite(x, _DOUBLE), x & _DOUBLE.sign
    total = canonical(x, _DOUBLE).bitcast("f64")
    bits = total.bitcast("i64")
    if op == "add":
        z = inputs["z"]
        addend = canonical(z, _DOUBLE).bitcast("f64")
        z_infinite, z_negative = is_infinite(z, _DOUBLE), z & _DOUBLE.sign
        negative = where.select(z_infinite.select(negative & z_negative, negative), z_negative)
        where = where | z_infinite
        bits = two_sum_to_odd(total, addend) if reduce else (total + addend).bitcast("i64")
    if reduce:
        single = double_to_single(bits).zext("i64") << 32
        result = where.select(negative | _SINGLE.infinity << 32, single)
    else:
        result = where.select(negative | _DOUBLE.infinity, normalise(bits, _DOUBLE))
    outputs = {"out": result}
    if flags:
        outputs["flags"] = nibbles(result.compare("sge", 0))
    return outputs


def _single_multiply_add(flags: bool) -> Body:
    """fvfma: the interval test, and the full computation of chunks it does not settle."""

    def body(step: Step) -> None:
        chunks = pes() // LONGS
        with step.builder.loop(0, CYCLES * chunks) as index:
            cycle, position = index >> (chunks.bit_length() - 1), (index & (chunks - 1)) << 3
            rows = {name: step.row(name, cycle).at(position << 3) for name in ("out", "x", "y", "z")}
            x, y, z = (rows[name].load("i32", 2 * LONGS) for name in ("x", "y", "z"))

            def store(result: Value) -> None:
                rows["out"].store(result)
                if flags:
                    step.row("flags", cycle).at(position).store(nibbles(result.compare("sge", 0)))

            result, proven = interval_sum(x, y, z)
            store(result)
            with step.builder.when((~proven).any_lane()):
                store(_single_lanes("fma", "f", False, x, y, z))

    return body


@cached_per_machine()
def mau_vector(op: str, precision: str, *, reduce: bool = False, half: str = "", flags: bool = False) -> Kernel:
    """The kernel of ``<precision>v<op>``; op "fma", "mul", "add", "passa", precision d, f or h.

    Operands: out[, out_lsb], x[, y][, z[, z_lsb]][, flags]; the LSB rows belong to h (out_lsb not
    with `reduce`). `reduce` is the opcode suffix ``r``, `half` "u" or "d" the PEs of a double
    product. Raises ValueError for combinations that do not exist.
    """
    product = op in ("fma", "mul")
    if op not in ("fma", "mul", "add", "passa") or precision not in ("d", "f", "h"):
        raise ValueError(f"no MAU operation {precision}v{op}")
    if (precision == "d" and product) != (half in ("u", "d")):
        raise ValueError(f"{precision}v{op} with half {half!r}")
    operands = ["out"] + (["out_lsb"] if precision == "h" and not reduce else []) + ["x"]
    operands += ["y"] if product else []
    if op in ("fma", "add"):
        operands += ["z", "z_lsb"] if precision == "h" else ["z"]
    operands += ["flags"] if flags else []
    name = f"mau_{precision}v{op}{half}{'r' if reduce else ''}{'_flags' if flags else ''}"
    if precision == "d" and product:
        return kernel(name, operands, double.vector_body(op, half, _result_precision(reduce), flags))
    if (op, precision, reduce) == ("fma", "f", False):
        return kernel(name, operands, _single_multiply_add(flags))
    works = {"d": _double_sum_work, "f": _single_work, "h": _half_work}
    work = works[precision]
    return kernel(name, operands, chunked(LONGS, lambda inputs: work(op, reduce, flags, inputs), "flags"))


def _result_precision(reduce: bool) -> Precision:
    return _SINGLE if reduce else _DOUBLE
