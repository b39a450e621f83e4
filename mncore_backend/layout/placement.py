"""Layouts evaluated with numpy: the whole chip at once."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np
from numpy.typing import NDArray

from mnc.mncore_backend.layout.layout import HARDWARE_AXES, Axis, Layout
from mnc.mncore_backend.target import cached_per_machine, chip

# Array order of a placement; the word is innermost so that addresses count words as the machine does.
_ORDER = (Axis.L2B, Axis.L1B, Axis.MAB, Axis.PE, Axis.ADDRESS, Axis.W)


@cached_per_machine(8)
def place(layout: Layout, local_size: int | None = None) -> NDArray[np.int32]:
    """Flat tensor index held by every word, -1 for padding: int32 [L2B, L1B, MAB, PE, words].

    `local_size` (long words) extends or cuts the local memory that is looked at. Shared between callers: read only.
    """
    size = layout.local_size if local_size is None else local_size
    above = _grid(_ORDER[:4], chip().shape)
    below = _grid(_ORDER[4:], (size, chip().axis_size[Axis.W]))
    # Digits of the PE and of its words are added up apart, so that the large array is made once.
    outer, inner = np.zeros((prod(chip().shape), 1), np.int32), np.zeros(2 * size, np.int32)
    missing = [~np.repeat(_address_valid(layout, np.arange(size, dtype=np.int32)), 2)]
    weight = layout.size
    for dim, extent in enumerate(layout.shape):
        weight //= extent
        parts = [_digits(layout, dim, grid) for grid in (above, below)]
        outer[:, 0] += parts[0] * np.int32(weight)
        inner += parts[1] * np.int32(weight)
        if layout.padded_shape[dim] > extent:
            missing.append(parts[0].reshape(-1, 1) + parts[1] >= extent)
    held = outer + inner
    for places in missing:
        np.copyto(held, np.int32(-1), where=places)
    held = held.reshape(*chip().shape, 2 * size)
    held.flags.writeable = False
    return held


def _grid(axes: Sequence[Axis], shape: tuple[int, ...]) -> dict[Axis, NDArray[np.int32]]:
    """Coordinates along each axis of all places of a grid, flat."""
    return dict(zip(axes, np.indices(shape, np.int32).reshape(len(shape), -1), strict=True))


def _digits(layout: Layout, dim: int, grid: Mapping[Axis, NDArray[np.int32]]) -> NDArray[np.int32]:
    """What the coordinates of a grid add to the index of a dimension."""
    result = np.zeros(len(next(iter(grid.values()))), np.int32)
    for field in layout.fields:
        if field.dim == dim and field.axis in grid:
            result += grid[field.axis] // np.int32(field.stride) % np.int32(field.size) * np.int32(field.weight)
    return result


def addresses_in_use(layout: Layout) -> list[int]:
    """Long-word addresses that hold an element in some PE, ascending."""
    fields = [field for field in layout.fields if field.axis is Axis.ADDRESS]
    grid = np.indices([field.size for field in fields]).reshape(len(fields), prod(field.size for field in fields))
    address = np.zeros(grid.shape[1], np.int64)
    index = np.zeros((len(layout.shape), grid.shape[1]), np.int64)
    for values, field in zip(grid, fields, strict=True):
        address += values * field.stride
        index[field.dim] += values * field.weight
    held = (index < np.array(layout.shape).reshape(-1, 1)).all(axis=0)
    return np.sort(address[held]).tolist()


def _address_valid(layout: Layout, addresses: NDArray[np.int32]) -> NDArray[np.bool_]:
    """Addresses that some index maps to (strides may leave holes)."""
    rest = addresses.copy()
    for field in sorted((f for f in layout.fields if f.axis is Axis.ADDRESS), key=lambda f: -f.stride):
        rest -= np.minimum(rest // field.stride, field.size - 1) * field.stride
    return rest == 0


@cached_per_machine(16)
def locate(layout: Layout) -> dict[Axis, NDArray[np.int32]]:
    """Coordinates of every element in flat order (replicated coordinates are 0). Shared between callers: read only."""
    index = np.unravel_index(np.arange(layout.size), layout.shape) if layout.shape else ()
    result = {a: np.zeros(layout.size, np.int32) for a in (*HARDWARE_AXES, Axis.ADDRESS)}
    for field in layout.fields:
        result[field.axis] += (index[field.dim] // field.weight % field.size * field.stride).astype(np.int32)
    for values in result.values():
        values.flags.writeable = False
    return result


_CODE_ORDER = (Axis.W, Axis.PE, Axis.ADDRESS, Axis.MAB, Axis.L1B, Axis.L2B)


@dataclass(frozen=True, slots=True)
class PlaceCode:
    """A place on the chip as one number: coordinates as bit fields, the word lowest, then PE, `address_bits` of
    address, MAB, L1B and L2B. Arrays of such numbers take a sixth of the memory of arrays per coordinate."""

    address_bits: int

    def shift(self, axis: Axis) -> int:
        """Lowest bit of the field of an axis."""
        return _shifts()[axis] + (self.address_bits if axis in _ABOVE_ADDRESS else 0)

    def field(self, axis: Axis) -> int:
        """Bit mask of the field of an axis, in place."""
        width = self.address_bits if axis is Axis.ADDRESS else _bits(axis)
        return ((1 << width) - 1) << self.shift(axis)

    def get(self, codes: NDArray[np.integer], axis: Axis) -> NDArray[np.integer]:
        """The coordinates along one axis."""
        if axis is _CODE_ORDER[-1]:
            return codes >> self.shift(axis)
        return codes >> self.shift(axis) & (self.field(axis) >> self.shift(axis))


def _bits(axis: Axis) -> int:
    return chip().axis_size[axis].bit_length() - 1


_ABOVE_ADDRESS = _CODE_ORDER[_CODE_ORDER.index(Axis.ADDRESS) + 1 :]


@cached_per_machine()
def _shifts() -> dict[Axis, int]:
    """Lowest bit of every field where addresses take none."""
    return {
        axis: sum(_bits(below) for below in _CODE_ORDER[:i] if below is not Axis.ADDRESS)
        for i, axis in enumerate(_CODE_ORDER)
    }


@cached_per_machine(16)
def place_codes(layout: Layout) -> tuple[PlaceCode, NDArray[np.integer]]:
    """`locate` as numbers: the place of every element in flat order (replicated coordinates are 0), then once more that
    of element 0 for the index -1. Shared between callers: read only."""
    code = PlaceCode((layout.local_size - 1).bit_length())
    dtype = np.int32 if code.field(_CODE_ORDER[-1]) < 1 << 31 else np.int64
    index = np.unravel_index(np.arange(layout.size), layout.shape) if layout.shape else ()
    result = np.zeros(layout.size + 1, dtype)
    for field in layout.fields:
        digit = index[field.dim] // field.weight % field.size * field.stride
        result[:-1] += (digit << code.shift(field.axis)).astype(dtype)
    result[-1] = result[0]
    result.flags.writeable = False
    return code, result


def as_words(array: NDArray[np.generic]) -> NDArray[np.uint32]:
    """The 32-bit patterns of an array of a 32-bit type, flat. Raises ValueError for other widths."""
    flat = np.ascontiguousarray(array).reshape(-1)
    if flat.dtype.itemsize != 4:
        raise ValueError(f"layouts hold 32-bit elements, not {flat.dtype}")
    return flat.view(np.uint32)


def pack(array: NDArray[np.generic], layout: Layout, padding: int = 0) -> NDArray[np.uint32]:
    """Contents of PE memory: uint32 [L2B, L1B, MAB, PE, words]; `padding` is the bit pattern of words without an
    element."""
    if array.size != layout.size:
        raise ValueError(f"array of {array.shape} for a layout of {layout.shape}")
    words = np.append(as_words(array), np.uint32(padding))
    return words[place(layout)]


def unpack(words: NDArray[np.uint32], layout: Layout, dtype: np.dtype | type = np.float32) -> NDArray[np.generic]:
    """The tensor from PE memory, read from the first replica."""
    at = locate(layout)
    picked = words[at[Axis.L2B], at[Axis.L1B], at[Axis.MAB], at[Axis.PE], 2 * at[Axis.ADDRESS] + at[Axis.W]]
    return np.ascontiguousarray(picked).view(dtype).reshape(layout.shape)
