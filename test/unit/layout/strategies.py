"""Random layouts for property tests."""

from hypothesis import strategies as st

from mnc.mncore_backend.layout import HARDWARE_AXES, Axis, Digit, Layout
from mnc.mncore_backend.target import chip


@st.composite
def layouts(
    draw: st.DrawFn,
    max_dims: int = 3,
    max_address: int = 24,
    shape: tuple[int, ...] | None = None,
    axes: tuple[Axis, ...] = HARDWARE_AXES,
) -> Layout:
    """Bits of the hardware `axes` are dealt to dimensions at random, mixed with address digits of any size; extents may
    be smaller than the digits allow (padding) unless a shape is given (then the outermost digit is grown until it
    fits)."""
    count = draw(st.integers(1, max_dims)) if shape is None else len(shape)
    strings: list[list[Digit]] = [[] for _ in range(count)]
    for axis in axes:
        stride = 1
        while stride < chip().axis_size[axis]:
            target = draw(st.integers(-1, count - 1))
            if target >= 0:
                strings[target].append(Digit(2, axis, stride))
            stride *= 2
    span = 1
    for _ in range(draw(st.integers(0, 3))):
        size = draw(st.integers(1, 5))
        if span * size > max_address:
            continue
        strings[draw(st.integers(0, count - 1))].append(Digit(size, Axis.ADDRESS, span))
        span *= size
    dims = [draw(st.permutations(s)) for s in strings]
    return _fit(draw, dims, shape, span)


def _fit(draw: st.DrawFn, dims: list[list[Digit]], shape: tuple[int, ...] | None, span: int) -> Layout:
    extents = []
    for i, digits in enumerate(dims):
        full = 1
        for digit in digits:
            full *= digit.size
        if shape is None:
            extents.append(full if draw(st.booleans()) else draw(st.integers(max(1, full // 2), full)))
            continue
        missing = -(-shape[i] // full)
        if missing > 1:
            digits.insert(0, Digit(missing, Axis.ADDRESS, span))
            span *= missing
        extents.append(shape[i])
    return Layout(tuple(extents), tuple(tuple(d) for d in dims))
