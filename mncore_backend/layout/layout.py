"""A layout says where each element of a tensor lives: into which digits the index of a dimension splits and which
hardware coordinate each digit selects.

Written as in the field: ``((8_L2B:1, 4:2, 8_L1B:1), (2:1, 4_PE:1, 2_W:1))``. One tuple per tensor dimension, digits
from outer to inner (mixed radix, right-most fastest), ``size_AXIS:stride``; a digit without an axis is an address in
long words of the memory of one PE. Hardware coordinates that no digit selects hold replicas. The sizes of a dimension
may multiply to more than its extent: the surplus is padding.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from math import prod
from typing import Any

from mnc.mncore_backend.target import chip


class LayoutError(ValueError):
    """A layout that breaks a rule, or an operation that the layout does not admit."""


class Axis(StrEnum):
    """Coordinates of a 32-bit word on the chip; the value is the tag in the notation."""

    L2B = "L2B"  # linear, 2 * group + l2b
    L1B = "L1B"
    MAB = "MAB"
    PE = "PE"
    W = "W"  # word in the long word, 0 = MSB side
    ADDRESS = ""  # long word in PE memory


HARDWARE_AXES = (Axis.L2B, Axis.L1B, Axis.MAB, Axis.PE, Axis.W)


@dataclass(frozen=True, slots=True)
class Digit:
    """One digit: takes `size` values and adds value * stride to the coordinate of `axis`."""

    size: int
    axis: Axis = Axis.ADDRESS
    stride: int = 1

    def __str__(self) -> str:
        tag = f"_{self.axis.value}" if self.axis is not Axis.ADDRESS else ""
        return f"{self.size}{tag}:{self.stride}"


@dataclass(frozen=True, slots=True)
class Field:
    """A digit seen from the hardware: coordinate // stride % size adds value * weight to the index of `dim`."""

    axis: Axis
    stride: int
    size: int
    dim: int
    weight: int


def place_of(digit: Digit) -> tuple[int, Axis, int]:
    """What of a digit decides in which PE an element is."""
    return digit.size, digit.axis, 0 if digit.axis is Axis.ADDRESS else digit.stride


@dataclass(frozen=True, repr=False)
class Layout:
    """Placement of a tensor of `shape`. Checked on construction; raises LayoutError."""

    shape: tuple[int, ...]
    dims: tuple[tuple[Digit, ...], ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "shape", tuple(int(n) for n in self.shape))
        object.__setattr__(self, "dims", tuple(tuple(d) for d in self.dims))
        validate(self)

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:
        """Layouts are keys of many dictionaries, and hashing all digits takes long."""
        return hash((self.shape, self.dims))

    def __getstate__(self) -> dict[str, Any]:
        """What is worked out from a layout is not pickled: hashes differ from process to process."""
        return {"shape": self.shape, "dims": self.dims}

    def __str__(self) -> str:
        return "(" + ", ".join(_dimension_text(d) for d in self.dims) + ("," if len(self.dims) == 1 else "") + ")"

    def __repr__(self) -> str:
        return f"<Layout of {'x'.join(map(str, self.shape)) or 'a scalar'}: {self}>"

    def _repr_html_(self) -> str:
        """A row for every digit, for notebooks."""
        head = "<tr><th>dimension</th><th>extent</th><th>digit</th><th>selects</th><th>stride</th></tr>"
        rows = [
            f"<tr><td>{dim}</td><td>{extent}</td><td>{digit.size}</td>"
            f"<td>{digit.axis.value or 'address'}</td><td>{digit.stride}</td></tr>"
            for dim, (extent, digits) in enumerate(zip(self.shape, self.dims, strict=True))
            for digit in digits
        ]
        return f"<p><code>{self}</code></p><table>{head}{''.join(rows)}</table>"

    @cached_property
    def fields(self) -> tuple[Field, ...]:
        """The inverse mapping: which digit of which dimension each hardware coordinate holds."""
        made = []
        for dim, digits in enumerate(self.dims):
            weight = prod(d.size for d in digits)
            for digit in digits:
                weight //= digit.size
                made.append(Field(digit.axis, digit.stride, digit.size, dim, weight))
        return tuple(f for f in made if f.size > 1)

    @cached_property
    def places(self) -> tuple[tuple[tuple[int, Axis, int], ...], ...]:
        """Per dimension what decides in which PE an element is, and under which loop variable: address strides do
        not."""
        return tuple(tuple(place_of(d) for d in digits if d.size > 1) for digits in self.dims)

    @cached_property
    def local_size(self) -> int:
        """Long words per PE."""
        return 1 + self._selected.get(Axis.ADDRESS, 0)

    @cached_property
    def size(self) -> int:
        """Elements of the tensor."""
        return prod(self.shape)

    @cached_property
    def padded_shape(self) -> tuple[int, ...]:
        return tuple(prod(d.size for d in digits) for digits in self.dims)

    def coordinates(self, index: Sequence[int]) -> dict[Axis, int]:
        """Where an element lives (replicated coordinates are 0). Raises LayoutError outside the shape."""
        if len(index) != len(self.shape) or any(not 0 <= i < n for i, n in zip(index, self.shape, strict=True)):
            raise LayoutError(f"index {tuple(index)} outside {self.shape}")
        result = dict.fromkeys((*HARDWARE_AXES, Axis.ADDRESS), 0)
        for field in self.fields:
            result[field.axis] += index[field.dim] // field.weight % field.size * field.stride
        return result

    def selected_bits(self, axis: Axis) -> int:
        """Bit mask of the coordinate bits of a hardware axis that some digit selects."""
        return self._selected.get(axis, 0)

    @cached_property
    def _selected(self) -> dict[Axis, int]:
        bits: dict[Axis, int] = {}
        for field in self.fields:
            bits[field.axis] = bits.get(field.axis, 0) + (field.size - 1) * field.stride
        return bits

    def replicated_bits(self, axis: Axis) -> int:
        """Bit mask of the coordinate bits of a hardware axis along which the tensor is replicated."""
        return (chip().axis_size[axis] - 1) & ~self.selected_bits(axis)

    def replicated_axes(self) -> tuple[Axis, ...]:
        """Hardware axes that no digit selects at all."""
        return tuple(a for a in HARDWARE_AXES if self.selected_bits(a) == 0)

    def digits(self) -> Iterator[Digit]:
        for dim in self.dims:
            yield from dim


def _dimension_text(digits: tuple[Digit, ...]) -> str:
    return "(" + ", ".join(str(d) for d in digits) + ("," if len(digits) == 1 else "") + ")"


def validate(layout: Layout) -> None:
    """Raise LayoutError unless every coordinate is selected at most once, every index has a place, and the coordinates
    of a place say which element it holds."""
    if len(layout.shape) != len(layout.dims):
        raise LayoutError(f"{len(layout.shape)} dimensions in the shape, {len(layout.dims)} in the layout")
    for extent, digits in zip(layout.shape, layout.dims, strict=True):
        if extent < 1 or any(d.size < 1 or d.stride < 1 for d in digits):
            raise LayoutError(f"extents, sizes and strides must be positive in {layout}")
        if prod(d.size for d in digits) < extent:
            raise LayoutError(f"digits of {_dimension_text(digits)} hold fewer than {extent} values")
    used: dict[Axis, int] = {}
    addresses: list[Digit] = []
    for digit in layout.digits():
        if digit.size > 1 and digit.axis is Axis.ADDRESS:
            addresses.append(digit)
        elif digit.size > 1:
            used[digit.axis] = used.get(digit.axis, 0) | _free_bits(layout, digit, used.get(digit.axis, 0))
    below = 1
    for digit in sorted(addresses, key=lambda d: d.stride):
        if digit.stride % below:  # else address // stride % size is not the value of the digit below
            raise LayoutError(f"address digit {digit} overlaps others in {layout}, or is no multiple of {below}")
        below = digit.size * digit.stride


def _free_bits(layout: Layout, digit: Digit, used: int) -> int:
    """Bits of a hardware coordinate that a digit selects. Raises LayoutError if it cannot, or they are `used`."""
    if digit.size & (digit.size - 1) or digit.stride & (digit.stride - 1):
        raise LayoutError(f"digit {digit} of a hardware axis must have powers of two as size and stride")
    bits = (digit.size - 1) * digit.stride
    if bits >= chip().axis_size[digit.axis]:
        raise LayoutError(f"digit {digit} exceeds the {chip().axis_size[digit.axis]} coordinates of {digit.axis.value}")
    if used & bits:
        raise LayoutError(f"digit {digit} selects a coordinate of {digit.axis.value} twice in {layout}")
    return bits
