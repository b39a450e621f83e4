"""Names of the reductions of the transfer network (SDM 3.5.7)."""

from dataclasses import dataclass

_FLOAT = ("fadd", "max", "min")
_INTEGER = ("iadd", "band", "and", "bor", "or")


@dataclass(frozen=True, slots=True)
class Reduction:
    """``<fan><precision><operation>``: fan is "", "2" or "4"."""

    fan: str
    precision: str
    operation: str


def split_reduction(mnemonic: str, prefix: str) -> Reduction:
    """Parse the part of a mnemonic behind ``l1bmr``, ``l2bmr`` or ``mvr``. Raises ValueError if it names nothing."""
    rest = mnemonic.removeprefix(prefix)
    fan = rest[0] if rest[:1] in ("2", "4") else ""
    rest = rest.removeprefix(fan)
    precision, operation = rest[:1], rest[1:]
    operations = {"d": _FLOAT, "f": _FLOAT, "h": _FLOAT}.get(precision, _INTEGER)
    if precision and precision in "dfhlis" and operation in operations:
        return Reduction(fan, precision, operation)
    raise ValueError(f"'{mnemonic}' names no reduction")


def unit_element(precision: str, operation: str) -> int:
    """64-bit pattern that a source outside the set contributes (SDM 3.5.7): 0 for sums and or, all ones for max and
    and, the largest sign-magnitude number per lane for min."""
    if operation in ("max", "band", "and"):
        return (1 << 64) - 1
    if operation == "min":
        bits = {"d": 64, "f": 32, "h": 16}[precision]
        lane = (1 << (bits - 1)) - 1
        return sum(lane << shift for shift in range(0, 64, bits))
    return 0
