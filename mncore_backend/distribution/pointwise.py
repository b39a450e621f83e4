"""Iteration spaces of element-wise operations and reductions: follow the operands where they are."""

from collections.abc import Sequence

from mnc.mncore_backend.distribution.space import Access, Digits, default_digits, matches, with_addresses
from mnc.mncore_backend.layout import Layout


def _candidates(extents: Sequence[int], operands: Sequence[tuple[Layout | None, Access]]) -> list[list[Digits]]:
    """Iteration spaces that some operand suggests; dimensions that it lacks stay inside the PEs."""
    result = []
    for layout, access in operands:
        if layout is None:
            continue
        digits: list[Digits | None] = [None] * len(extents)
        for own, d in zip(layout.dims, access, strict=True):
            if d is not None:
                digits[d] = own
        result.append([with_addresses(extents[i], ()) if own is None else own for i, own in enumerate(digits)])
    return result


def choose_iteration(extents: Sequence[int], operands: Sequence[tuple[Layout | None, Access]]) -> list[Digits]:
    """Digits of the iteration dimensions such that the fewest elements must move.

    Args:
        extents: size of each iteration dimension.
        operands: layout (None if it is still free, as for a model input) and access of each operand.
    """
    full = len([extent for extent in extents if extent > 1])

    def covers(access: Access) -> bool:
        return len({d for d in access if d is not None and extents[d] > 1}) == full

    usable = [(layout, access) for layout, access in operands if layout is not None and covers(access)]
    candidates = _candidates(extents, usable)
    if not candidates:
        return default_digits(extents)

    def moved(digits: list[Digits]) -> int:
        return sum(
            layout.size for layout, access in operands if layout is not None and not matches(layout, digits, access)
        )

    def local(digits: list[Digits]) -> int:
        size = 1
        for own in digits:
            for digit in own:
                size *= digit.size if not digit.axis.value else 1
        return size

    return min(candidates, key=lambda digits: (moved(digits), local(digits)))
