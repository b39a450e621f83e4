"""How the outputs of windows are cut into tiles over the chip, and what their halos cost."""

from collections.abc import Iterator, Sequence
from math import prod

from mnc.mncore_backend.distribution.space import Access, Bits, Digits, merge_bits, with_addresses
from mnc.mncore_backend.distribution.windows import Window, Windows, follow, reach
from mnc.mncore_backend.layout import Axis, Layout


def _splits(extents: Sequence[int], count: int) -> Iterator[tuple[int, ...]]:
    """Numbers of coordinate bits that dimensions may take, at most `count` together."""
    if not extents:
        yield ()
        return
    for taken in range(count + 1):
        if taken and 1 << (taken - 1) >= extents[0]:
            break
        for rest in _splits(extents[1:], count - taken):
            yield (taken, *rest)


def tile_digits(
    windows: Windows, extents: Sequence[int], dims: Sequence[int], bits: Bits
) -> tuple[dict[int, Digits], Bits]:
    """Digits of the output dimensions of windows such that a PE holds the smallest tiles with their halos; also the
    coordinate bits that nobody takes. Outer dimensions take the first bits."""
    by_out = {w.out: w for w in windows if w.out is not None and w.kernel is not None}

    def held(split: tuple[int, ...]) -> tuple[int, ...]:
        sizes = []
        for d, taken in zip(dims, split, strict=True):
            outputs = -(-extents[d] // (1 << taken))
            sizes.append(reach(by_out.get(d, Window(d)), outputs, extents))
        return prod(sizes), sum(split), tuple(-taken for taken in split)  # pyright: ignore[reportReturnType]

    best = min(_splits([extents[d] for d in dims], len(bits)), key=held)
    digits: dict[int, Digits] = {}
    for d, taken in zip(dims, best, strict=True):
        digits[d] = with_addresses(extents[d], merge_bits(bits[:taken]))
        bits = bits[taken:]
    return digits, bits


def follow_operand(
    access: Access, windows: Windows | None, extents: Sequence[int], layout: Layout | None
) -> dict[int, Digits] | None:
    """Digits of the dimensions of an operand that leave it where it is, None if that is impossible or unknown."""
    if layout is None:
        return None
    if windows is None:
        windows = tuple(Window(d) for d in access)
    return follow(windows, extents, layout)


_EXCHANGE = {Axis.MAB: (30, 2), Axis.L1B: (80, 8), Axis.L2B: (1500, 16)}
"""Steps of exchanging halos across an axis: fixed, and per long word of a tile that is halo."""


def halo_steps(windows: Windows, extents: Sequence[int], digits: Sequence[Digits], local_size: int) -> float:
    """A rough price of the halos: what tiles hold beyond their own part comes from neighbours."""
    steps = 0.0
    for window in windows:
        if window.out is None or window.kernel is None:
            continue
        outputs = prod(d.size for d in digits[window.out] if d.axis is Axis.ADDRESS)
        covered = reach(window, outputs, extents)
        halo = local_size * max(0, covered - outputs * window.stride) / covered
        axes = {d.axis for d in digits[window.out] if d.size > 1 and d.axis in _EXCHANGE}
        if halo:
            steps += sum(fixed + rate * halo for fixed, rate in (_EXCHANGE[axis] for axis in axes))
    return steps
