"""Infinite terms of a sum, which the rounding algorithms do not cover (OPEN-25, OPEN-26)."""

from collections.abc import Iterable

from .formats import Format


def sum_with_infinities(form: Format, signs: Iterable[int]) -> int | None:
    """The result if the signs of the infinite terms are `signs`; None if there is no such term.

    Terms of one sign give that infinity, terms of both signs +inf.
    """
    present = set(signs)
    if not present:
        return None
    return form.infinity(1 if present == {1} else 0)


def product_sign(form: Format, a: int, b: int) -> int | None:
    """Sign of an infinite product a*b, None if it is finite; inf * 0 is 0."""
    if form.is_zero(a) or form.is_zero(b) or not (form.is_infinite(a) or form.is_infinite(b)):
        return None
    return form.sign(a) ^ form.sign(b)
