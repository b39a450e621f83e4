"""Which loads of an affine loop read overlapping windows, and how wide. Plain Python, no MLIR."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Index:
    """``sum of coefficient * loop + constant``; loops are any hashable names."""

    coefficients: Mapping[object, int]
    constant: int = 0


@dataclass(frozen=True)
class Slide:
    """A window that moves along one dimension.

    Attributes:
        dimension: of the buffer that is read.
        stride: elements that the window moves per iteration of the sliding loop.
        shape: box that one iteration of the sliding loop reads, per dimension of the buffer.
    """

    dimension: int
    stride: int
    shape: tuple[int, ...]

    @property
    def width(self) -> int:
        """Extent of the window along the dimension it slides over."""
        return self.shape[self.dimension]


def find_slide(indices: Sequence[Index], loop: object, inner: Mapping[object, int]) -> Slide | str:
    """The window that `loop` slides, or why there is none.

    Args:
        indices: one per dimension of the buffer.
        loop: the sliding loop, with step 1 from 0.
        inner: trip counts of the loops inside it.
    """
    moving = [i for i, index in enumerate(indices) if index.coefficients.get(loop, 0)]
    if len(moving) != 1:
        return f"the loop moves {len(moving)} dimensions of the load, not one"
    dimension = moving[0]
    stride = indices[dimension].coefficients[loop]
    shape = []
    for index in indices:
        steps = {name: c for name, c in index.coefficients.items() if name in inner}
        if any(c < 0 for c in steps.values()) or stride < 0:
            return "an index goes backwards"
        shape.append(1 + sum(c * (inner[name] - 1) for name, c in steps.items()))
    if shape[dimension] <= stride:
        return "neighbouring windows do not overlap"
    return Slide(dimension, stride, tuple(shape))
