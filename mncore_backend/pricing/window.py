"""Windows as prices see them."""

from collections.abc import Sequence
from math import prod
from typing import Protocol

from mnc.mncore_backend.layout import Axis, Digit


class Window(Protocol):
    """How one dimension is read: iteration dimensions that slide (`out`) and that move inside the window."""

    @property
    def out(self) -> int | None: ...
    @property
    def kernel(self) -> int | None: ...
    @property
    def stride(self) -> int: ...
    @property
    def dilation(self) -> int: ...
    @property
    def low(self) -> int: ...


def addresses(digits: Sequence[Digit]) -> int:
    """Positions of a dimension in one PE."""
    return prod(d.size for d in digits if d.axis is Axis.ADDRESS)


def reached(window: Window, extents: Sequence[int], digits: Sequence[Sequence[Digit]]) -> int:
    """Positions that the windows of one PE cover together."""
    assert window.out is not None
    inside = 0 if window.kernel is None else (extents[window.kernel] - 1) * window.dilation
    return (addresses(digits[window.out]) - 1) * window.stride + 1 + inside
