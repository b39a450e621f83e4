"""Derivatives of convolutions, which are convolutions again."""

from collections.abc import Sequence
from dataclasses import dataclass

from mnc.dialects import graph
from mnc.passes.autodiff.adjoint import Adjoint
from mnc.passes.autodiff.build import Value, reduce, reshape, shape_of, slice_, transpose


@dataclass(frozen=True)
class Window:
    """Strides, paddings and dilations of a convolution or pooling."""

    strides: list[int]
    pads: list[int]
    dilations: list[int]

    @classmethod
    def of(cls, a: Adjoint) -> "Window":
        """Read from the attributes."""
        return cls(a.ints("strides"), a.ints("pads"), a.ints("dilations"))


def spread(values: Value, weight: Value, window: Window, extents: Sequence[int], group: int = 1) -> Value:
    """Add ``value * weight`` to every place that the window of the value had read, in data of these `extents`."""
    outputs, kernel, rank = shape_of(values)[2:], shape_of(weight)[2:], len(extents)
    low, high, extra = window.pads[:rank], [], []
    for i in range(rank):
        covered = window.strides[i] * (outputs[i] - 1) + window.dilations[i] * (kernel[i] - 1) + 1
        # Elements behind the last window get nothing; windows that stick out are cut.
        beyond = covered - low[i] - extents[i]
        high.append(max(beyond, 0))
        extra.append(max(-beyond, 0))
    return graph.ConvTranspose.build(
        values, weight, strides=window.strides, pads=[*low, *high], dilations=window.dilations,
        output_padding=extra, group=group,
    ).result  # fmt: skip


def correlate(data: Value, gradient: Value, window: Window, kernel: Sequence[int], group: int) -> Value:
    """Gradient of the weight: data (N, C, s...) with the gradient (N, M, o...) as window gives (M, C / group, k...).

    Batch and channels change roles, and so do strides and dilations.
    """
    shape, rank = shape_of(data), len(kernel)
    spatial = list(range(rank))
    split = reshape(data, [shape[0], group, shape[1] // group, *shape[2:]])
    moved = transpose(split, [2, 1, 0, *(3 + i for i in spatial)])
    images = reshape(moved, [shape[1] // group, group * shape[0], *shape[2:]])
    windows = transpose(gradient, [1, 0, *(2 + i for i in spatial)])
    found = graph.Conv.build(
        images, windows, strides=window.dilations, pads=window.pads, dilations=window.strides, group=group
    ).result
    # More places than the kernel has when the last window does not reach the end of the data.
    found = slice_(found, [0] * (2 + rank), [*shape_of(found)[:2], *kernel])
    return transpose(found, [1, 0, *(2 + i for i in spatial)])


def _bias(a: Adjoint) -> list[Value | None]:
    if len(a.operands) < 3:
        return []
    axes = [0, *range(2, len(shape_of(a.gradient)))]
    return [reduce(a.gradient, axes, keepdims=False) if a.wanted[2] else None]


def conv(a: Adjoint) -> list[Value | None]:
    """Data: transposed convolution with the weight. Weight: see `correlate`. Bias: sum over all but the channels."""
    data, weight = a.operands[:2]
    window, group, g = Window.of(a), a.int("group"), a.gradient
    left = spread(g, weight, window, a.shape(0)[2:], group) if a.wanted[0] else None
    right = correlate(data, g, window, a.shape(1)[2:], group) if a.wanted[1] else None
    return [left, right, *_bias(a)]


def conv_transpose(a: Adjoint) -> list[Value | None]:
    """The rules of `conv` with data and gradient exchanged."""
    data, weight = a.operands[:2]
    window, group, g = Window.of(a), a.int("group"), a.gradient
    left = right = None
    if a.wanted[0]:
        left = graph.Conv.build(
            g, weight, strides=window.strides, pads=window.pads, dilations=window.dilations, group=group
        ).result
        left = slice_(left, [0] * len(a.shape(0)), a.shape(0))
    if a.wanted[1]:
        right = correlate(g, data, window, a.shape(1)[2:], group)
    return [left, right, *_bias(a)]
