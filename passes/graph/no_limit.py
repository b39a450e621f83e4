"""Limits of 64-bit integers among the constants: where they mean that there is no limit, those of a word do as well.

The lower one under a maximum, or where a mask keeps something from being the maximum, stands for less than all numbers.
Where it may become a result, or something is computed from it, it is a number that no word holds.
"""

from typing import Any

from mnc.core.bindings import ir

_MOVES = frozenset(["broadcast_to", "concat", "pad", "reshape", "slice", "transpose", "where"])
_COMPARISONS = frozenset(["equal", "greater", "greater_or_equal", "less", "less_or_equal"])
_OF_LOW_BITS = frozenset(["add", "bitwise_and"])
"""What gives the same numbers of 32 bits if the upper bits of an operand without a sign, all set, are left out."""


def means_no_limit(value: ir.Value, *, largest: bool, signed: bool) -> bool:
    """Whether all that reads `value`, the largest or least number of its type, has results that 32 bits hold."""
    waiting, seen = [value], {value}
    while waiting:
        current = waiting.pop()
        for use in current.uses:
            reader = use.owner
            if _takes_limit(reader, current, largest=largest, signed=signed):
                continue
            if _name(reader) not in _MOVES:
                return False
            if reader.results[0] not in seen:
                seen.add(reader.results[0])
                waiting.append(reader.results[0])
    return True


def _name(operation: Any) -> str:
    return operation.name.removeprefix("graph.")


def _takes_limit(reader: Any, value: ir.Value, *, largest: bool, signed: bool) -> bool:
    """Whether the order of numbers is all that counts, or the lower bits are."""
    name, chosen = _name(reader), "min" if largest else "max"
    if name == "reduce":
        return ir.StringAttr(reader.attributes["kind"]).value == chosen
    if name in _COMPARISONS or name in ("arg_reduce", chosen):
        return True
    if signed:
        return largest and name == "bitwise_and"  # of numbers that are not negative, all bits are kept
    return name in _OF_LOW_BITS or (name == "bitwise_xor" and _is_masked(reader.results[0]))


def _is_masked(inverted: ir.Value) -> bool:
    """Whether only a mask reads an inverted number, whose upper bits are set, and none that is inverted itself."""
    masks = [use.owner for use in inverted.uses]
    others = [other for mask in masks for other in mask.operands if other != inverted]
    return all(_name(mask) == "bitwise_and" for mask in masks) and not any(map(_is_inverted, others))


def _is_inverted(value: ir.Value) -> bool:
    return not isinstance(value.owner, ir.Block) and _name(value.owner) == "bitwise_xor"
