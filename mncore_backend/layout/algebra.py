"""Operations on layouts that keep the data where it is: canonical form, permuting, merging, splitting and reshaping
dimensions, restriction to a slice, composition."""

from collections.abc import Sequence
from math import prod

from mnc.mncore_backend.layout.layout import HARDWARE_AXES, Axis, Digit, Layout, LayoutError
from mnc.mncore_backend.target import cached_per_machine

REMEMBERED = 20_000
"""Reshapes whose results are kept."""


def canonical(layout: Layout) -> Layout:
    """Size-1 digits dropped, neighbours that continue each other merged; equal mappings get equal canonical forms."""
    return Layout(layout.shape, tuple(_canonical(d) for d in layout.dims))


def equivalent(a: Layout, b: Layout) -> bool:
    """Whether two layouts put every element into the same place (equal up to digit splitting)."""
    return canonical(a) == canonical(b)


def _canonical(digits: Sequence[Digit]) -> tuple[Digit, ...]:
    merged: list[Digit] = []
    for digit in digits:
        if digit.size == 1:
            continue
        if merged and merged[-1].axis is digit.axis and merged[-1].stride == digit.stride * digit.size:
            last = merged.pop()
            digit = Digit(last.size * digit.size, digit.axis, digit.stride)
        merged.append(digit)
    return tuple(merged)


def permute(layout: Layout, order: Sequence[int]) -> Layout:
    """The same placement for the transposed tensor: dimension i of the result is dimension order[i]."""
    if sorted(order) != list(range(len(layout.shape))):
        raise LayoutError(f"{tuple(order)} is no permutation of {len(layout.shape)} dimensions")
    return Layout(tuple(layout.shape[i] for i in order), tuple(layout.dims[i] for i in order))


def split_digits(digits: Sequence[Digit], inner: int) -> tuple[tuple[Digit, ...], tuple[Digit, ...]]:
    """Cut a digit string so that the right part has exactly `inner` values. Raises LayoutError if no digit can be cut
    there (a hardware digit only at a power of two)."""
    right: list[Digit] = []
    left = [d for d in digits if d.size > 1]
    while inner > 1:
        if not left:
            raise LayoutError(f"no {inner} values left to split off {digits}")
        digit = left.pop()
        if inner % digit.size == 0:
            right.insert(0, digit)
            inner //= digit.size
            continue
        if digit.size % inner:
            raise LayoutError(f"digit {digit} cannot be cut at {inner}")
        right.insert(0, Digit(inner, digit.axis, digit.stride))
        left.append(Digit(digit.size // inner, digit.axis, digit.stride * inner))
        inner = 1
    return tuple(left), tuple(right)


def merge(layout: Layout, first: int, count: int) -> Layout:
    """Join `count` dimensions from `first` into one. Raises LayoutError when one but the outermost is padded."""
    for dim in range(first + 1, first + count):
        if layout.padded_shape[dim] != layout.shape[dim] and prod(layout.shape[first:dim]) > 1:
            raise LayoutError(f"dimension {dim} of {layout} is padded and cannot be merged into the one before")
    chosen = slice(first, first + count)
    digits = tuple(d for dim in layout.dims[chosen] for d in dim)
    shape = (*layout.shape[:first], prod(layout.shape[chosen]), *layout.shape[first + count :])
    return Layout(shape, (*layout.dims[:first], digits, *layout.dims[first + count :]))


def split(layout: Layout, dim: int, sizes: Sequence[int]) -> Layout:
    """Split a dimension into several (outer to inner). Padding stays in the outermost that is larger than 1. Raises
    LayoutError."""
    if prod(sizes) != layout.shape[dim]:
        raise LayoutError(f"{tuple(sizes)} does not multiply to {layout.shape[dim]}")
    parts: list[tuple[Digit, ...]] = []
    rest: tuple[Digit, ...] = layout.dims[dim]
    for position in reversed(range(1, len(sizes))):
        inner: tuple[Digit, ...]
        if prod(sizes[:position]) == 1:  # nothing is outside: the padding may stay here
            rest, inner = (), rest
        else:
            rest, inner = split_digits(rest, sizes[position])
        parts.insert(0, inner)
    return Layout(
        (*layout.shape[:dim], *sizes, *layout.shape[dim + 1 :]),
        (*layout.dims[:dim], rest, *parts, *layout.dims[dim + 1 :]),
    )


def reshape(layout: Layout, shape: Sequence[int]) -> Layout:
    """The same placement seen as a tensor of another shape (row-major order kept). Raises LayoutError when padding or
    a digit that cannot be cut stands in the way: then the reshape needs a relayout."""
    found = _reshaped(layout, tuple(shape))
    if isinstance(found, str):
        raise LayoutError(found)
    return found


@cached_per_machine(REMEMBERED)
def _reshaped(layout: Layout, shape: tuple[int, ...]) -> Layout | str:
    """The layout, or what stands in the way. A search asks for few of them many times."""
    try:
        return _seen_as(layout, shape)
    except LayoutError as error:
        return str(error)


def _seen_as(layout: Layout, shape: tuple[int, ...]) -> Layout:
    if prod(shape) != layout.size:
        raise LayoutError(f"cannot reshape {layout.shape} to {shape}")
    result_dims: list[tuple[Digit, ...]] = []
    old, new = list(layout.shape), list(shape)
    i = j = 0
    while j < len(new) or i < len(old):
        old_end, new_end, left, right = i + 1, j + 1, prod(old[i : i + 1]), prod(new[j : j + 1])
        while left != right:
            if left < right:
                left *= old[old_end]
                old_end += 1
            else:
                right *= new[new_end]
                new_end += 1
        part = Layout(tuple(old[i:old_end]), layout.dims[i:old_end])
        if old_end > i + 1:
            part = merge(part, 0, old_end - i)
        part_dims = part.dims if part.shape else ((),)
        if j < len(new):
            target = tuple(new[j:new_end])
            part = split(Layout((prod(part.shape),), part_dims[:1]), 0, target)
            result_dims.extend(part.dims)
        elif any(d.size > 1 for d in part_dims[0]):
            raise LayoutError(f"dimension {i} of {layout} is padding only and cannot be dropped")
        i, j = old_end, new_end
    return Layout(shape, tuple(result_dims))


def with_dims(layout: Layout, order: Sequence[int], shape: Sequence[int] | None = None) -> Layout:
    """Layout of the tensor after a transposition (and then a reshape) that moves no data."""
    turned = permute(layout, order)
    return turned if shape is None else reshape(turned, shape)


def restrict(layout: Layout, dim: int, start: int, extent: int) -> tuple[Layout, dict[Axis, int]]:
    """Layout of the slice start..start+extent of a dimension and the fixed coordinates it adds.

    The slice must be a block that some digits address alone: `extent` cuts the digit string and divides `start`.
    """
    outer, inner = split_digits(layout.dims[dim], extent)
    if start % extent or start + extent > layout.shape[dim]:
        raise LayoutError(f"slice {start}..{start + extent} is not a block of dimension {dim} of {layout}")
    offset = dict.fromkeys((*HARDWARE_AXES, Axis.ADDRESS), 0)
    value = start // extent
    for digit in reversed(outer):
        offset[digit.axis] += value % digit.size * digit.stride
        value //= digit.size
    shape = (*layout.shape[:dim], extent, *layout.shape[dim + 1 :])
    return Layout(shape, (*layout.dims[:dim], inner, *layout.dims[dim + 1 :])), offset


def compose(layout: Layout, storage: Layout) -> Layout:
    """Substitute the addresses of `layout` by the one-dimensional layout `storage`: its index is the address.

    Raises LayoutError when an address digit does not fall onto digits of `storage`.
    """
    if len(storage.shape) != 1:
        raise LayoutError("the storage of a composition has one dimension")

    def substitute(digit: Digit) -> tuple[Digit, ...]:
        if digit.axis is not Axis.ADDRESS or digit.size == 1:
            return (digit,)
        outer, _ = split_digits(storage.dims[0], digit.stride)
        return split_digits(outer, digit.size)[1]

    return Layout(layout.shape, tuple(tuple(n for d in dim for n in substitute(d)) for dim in layout.dims))
