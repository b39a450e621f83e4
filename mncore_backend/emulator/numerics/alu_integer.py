"""ALU operations on integers and bits, with their flags (SDM 3.6.12, 3.6.2)."""

from collections.abc import Callable

Result = tuple[int, int | None]
"""The result element and its flag, None for an operation without one."""


def signed(x: int, bits: int) -> int:
    """Two's complement value of a pattern."""
    return x - (1 << bits) if x >> (bits - 1) else x


def _zero_flag(result: int) -> Result:
    return result, int(result == 0)


def _wrapped(exact: int, bits: int, unsigned: bool) -> Result:
    """Sum or difference modulo 2**bits (OPEN-21).

    Flag: no carry or borrow for unsigned, else the result's sign bit is 0 (OPEN-18).
    """
    result = exact % (1 << bits)
    flag = exact == result if unsigned else not result >> (bits - 1)
    return result, int(flag)


def _extremum(x: int, y: int, bits: int, unsigned: bool, largest: bool) -> Result:
    a, b = (x, y) if unsigned else (signed(x, bits), signed(y, bits))
    takes_x = a >= b if largest else a <= b
    return (x if takes_x else y), int(takes_x)


def _shift(x: int, y: int, bits: int, unsigned: bool, left: bool) -> Result:
    """The amount is y modulo twice the width; from the width on every bit leaves."""
    amount = y % (2 * bits)
    if left:
        return _zero_flag((x << amount) % (1 << bits))
    number = x if unsigned else signed(x, bits)
    return _zero_flag((number >> amount) % (1 << bits))


def _rotate_left(x: int, y: int, bits: int) -> Result:
    amount = y % bits
    return _zero_flag(((x << amount) | (x >> (bits - amount))) % (1 << bits))


_OPERATIONS: dict[str, Callable[[int, int, int, bool], Result]] = {
    "passa": lambda x, y, bits, u: _zero_flag(x),
    "inc": lambda x, y, bits, u: _wrapped(x + 1, bits, u),
    "dec": lambda x, y, bits, u: _wrapped(x - 1, bits, u),
    "not": lambda x, y, bits, u: _zero_flag(x ^ ((1 << bits) - 1)),
    "lnot": lambda x, y, bits, u: _zero_flag(int(x == 0)),
    "max": lambda x, y, bits, u: _extremum(x, y, bits, u, True),
    "min": lambda x, y, bits, u: _extremum(x, y, bits, u, False),
    "packbit": lambda x, y, bits, u: (((x << 1) | (y >> (bits - 1))) % (1 << bits), 1 - (y >> (bits - 1))),
    "and": lambda x, y, bits, u: _zero_flag(x & y),
    "or": lambda x, y, bits, u: _zero_flag(x | y),
    "xor": lambda x, y, bits, u: _zero_flag(x ^ y),
    "add": lambda x, y, bits, u: _wrapped(x + y, bits, u),
    "sub": lambda x, y, bits, u: _wrapped(x - y, bits, u),
    "lsl": lambda x, y, bits, u: _shift(x, y, bits, u, True),
    "lsr": lambda x, y, bits, u: _shift(x, y, bits, u, False),
    "bsl": lambda x, y, bits, u: _rotate_left(x, y, bits),
    "bsr": lambda x, y, bits, u: _rotate_left(x, -y, bits),
}
OPERATIONS = tuple(_OPERATIONS)


def integer(op: str, bits: int, x: int, y: int = 0, unsigned: bool = False) -> Result:
    """One element of an integer or bitwise operation of lane width `bits`."""
    return _OPERATIONS[op](x, y, bits, unsigned)


def mab_shift(op: str, longs: list[int]) -> list[int]:
    """msl and msr on the longs of the 4 PEs of a MAB: PE p receives PE p - 1 or p + 1."""
    return longs[-1:] + longs[:-1] if op == "msl" else longs[1:] + longs[:1]
