"""Ready-made layouts."""

from collections.abc import Sequence
from math import prod

from mnc.mncore_backend.layout.algebra import reshape
from mnc.mncore_backend.layout.layout import HARDWARE_AXES, Axis, Digit, Layout, LayoutError
from mnc.mncore_backend.target import chip


def replicated(shape: Sequence[int]) -> Layout:
    """Every PE holds the whole tensor, two elements per long word along the last dimension."""
    return distributed(shape, {}, word_dim=len(shape) - 1)


def distributed(
    shape: Sequence[int], axes: dict[int, Sequence[Digit]], *, word_dim: int | None = None, padding: int = 1
) -> Layout:
    """Give dimension i the hardware digits axes[i] (outer to inner, placed as inner digits) and the rest of its extent
    to addresses, row-major. `word_dim` gets the word of the long word as its innermost digit. `padding` rounds the
    address digit of the last dimension up to a multiple."""
    outer: list[int] = []
    hardware: list[tuple[Digit, ...]] = []
    for dim, extent in enumerate(shape):
        digits = tuple(axes.get(dim, ()))
        if dim == word_dim and not any(d.axis is Axis.W for d in digits):
            digits = (*digits, Digit(chip().axis_size[Axis.W], Axis.W, 1))
        rest = -(-extent // prod(d.size for d in digits))
        if dim == len(shape) - 1:
            rest = -(-rest // padding) * padding
        outer.append(rest)
        hardware.append(digits)
    dims, stride = [], 1
    for rest, digits in zip(reversed(outer), reversed(hardware), strict=True):
        dims.insert(0, (Digit(rest, Axis.ADDRESS, stride), *digits) if rest > 1 else digits)
        stride *= rest
    return Layout(tuple(shape), tuple(dims))


def elementwise(shape: Sequence[int]) -> Layout:
    """Spread the flat tensor evenly over the chip (word, PE, MAB, L1B, L2B from the inside), no replicas if it is large
    enough; the outermost axis is used only as far as elements reach. The last dimension carries the padding when the
    tensor is seen flat, so dimensions are cut at powers of two where they allow it."""
    total = prod(shape)
    digits: list[Digit] = []
    filled = 1
    for axis in reversed(HARDWARE_AXES):
        size = 1
        while size < chip().axis_size[axis] and filled * size < total:
            size *= 2
        if size > 1:
            digits.insert(0, Digit(size, axis, 1))
            filled *= size
    rest = -(-total // filled)
    flat = Layout((total,), ((Digit(rest, Axis.ADDRESS, 1), *digits) if rest > 1 else tuple(digits),))
    if len(shape) == 1:
        return flat
    try:
        return reshape(flat, shape)
    except LayoutError as error:
        raise LayoutError(f"{tuple(shape)} cannot be spread flat over the chip: {error}") from error
