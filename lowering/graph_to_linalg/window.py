"""Sliding windows: which element a window position reads, and how many positions are inside the data."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mnc.core.bindings import ir


@dataclass(frozen=True)
class Window:
    """Windows over the spatial dimensions of one tensor; every field has one entry per dimension."""

    kernel: tuple[int, ...]
    strides: tuple[int, ...]
    dilations: tuple[int, ...]

    def outputs(self, extents: Sequence[int]) -> list[int]:
        """Number of windows that fit into data of these extents."""
        return [
            (extent - d * (k - 1) - 1) // stride + 1
            for extent, k, stride, d in zip(extents, self.kernel, self.strides, self.dilations, strict=True)
        ]

    def covers(self, extents: Sequence[int]) -> bool:
        """Whether one window reads all elements of data of these extents, in their order."""
        return tuple(extents) == self.kernel and all(
            dilation == 1 or extent == 1 for extent, dilation in zip(extents, self.dilations, strict=True)
        )

    def loops(self, first: int) -> list[int | None]:
        """Loop numbers of the kernel dimensions from `first` on; None for extent 1, which needs no loop."""
        loops: list[int | None] = []
        for extent in self.kernel:
            loops.append(first if extent > 1 else None)
            first += extent > 1
        return loops

    def reads(self, output_loops: Sequence[int], kernel_loops: Sequence[int | None]) -> list[Any]:
        """Map results ``output * stride + kernel * dilation``."""
        results: list[Any] = []
        for i, (output, kernel) in enumerate(zip(output_loops, kernel_loops, strict=True)):
            index = ir.AffineExpr.get_dim(output) * self.strides[i]
            results.append(index if kernel is None else index + ir.AffineExpr.get_dim(kernel) * self.dilations[i])
        return results

    def positions(self, kernel_loops: Sequence[int | None]) -> list[Any]:
        """Map results that read the kernel itself: its loop, or 0."""
        return [ir.AffineExpr.get_constant(0) if loop is None else loop for loop in kernel_loops]

    def inside(self, dimension: int, outputs: int, start: int, stop: int) -> np.ndarray:
        """For each of `outputs` windows, how many positions lie in [start, stop) of `dimension`."""
        first = np.arange(outputs)[:, None] * self.strides[dimension]
        position = first + np.arange(self.kernel[dimension])[None, :] * self.dilations[dimension]
        return ((position >= start) & (position < stop)).sum(axis=1)
