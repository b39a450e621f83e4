"""The pass `space-to-depth`: the elements that a strided convolution steps over become channels."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, ClassVar

import numpy as np

from mnc.core.bindings import ir
from mnc.core.pass_base import Pass, at_least
from mnc.core.rewrite import Pattern, apply_greedily, attributes_of, refuse
from mnc.passes.graph.algebra.common import build, operands_of
from mnc.passes.graph.algebra.scaling import name_after_weight_of
from mnc.passes.graph.decomposition.build import zeros_around
from mnc.passes.graph.matching import constant, constant_of, has_one_use, producer, reshaped, shape_of

_VIEWS = ("transpose", "reshape")


@dataclass(frozen=True)
class _Blocks:
    """How a convolution reads blocks of elements.

    Attributes:
        strides: extents of a block, per spatial dimension.
        taps: blocks that a window touches.
        counts: blocks altogether.
        low, high: zeros before and behind the data; negative numbers cut what no window reads.
    """

    strides: list[int]
    taps: list[int]
    counts: list[int]
    low: list[int]
    high: list[int]


@dataclass(frozen=True)
class ToChannels(Pattern):
    """``conv(x, w) {strides = s} -> conv(blocks of s elements of x as channels, w')``."""

    root = "graph.conv"
    lanes: int

    def match(self, op: Any) -> Any:
        data, weight = operands_of(op)[:2]
        attributes = attributes_of(op)
        strides = list(attributes["strides"])
        if max(strides, default=1) == 1 or not _is_input(data):
            return None
        kernels = constant_of(weight)
        if kernels is None:
            return refuse("its weight is not constant")
        if attributes["group"].value > 1 or max(attributes["dilations"]) > 1:
            return refuse("it has groups, or windows with gaps")
        channels, window = kernels.shape[1], kernels.shape[2:]
        taps = [-(-extent // stride) for extent, stride in zip(window, strides, strict=True)]
        before, after = channels, channels * prod(strides)
        if self._padded(before) * after <= self._padded(after) * before:
            return refuse(f"{channels} channels fill vectors as well as {after}")
        if self._padded(after) * prod(taps) > self._padded(before) * prod(window):
            return refuse("there would be more to multiply")
        return kernels, self._blocks(op, strides, taps)

    def _padded(self, channels: int) -> int:
        return -(-channels // self.lanes) * self.lanes

    @staticmethod
    def _blocks(op: Any, strides: list[int], taps: list[int]) -> _Blocks:
        extents, results = shape_of(operands_of(op)[0])[2:], shape_of(op.operation.results[0])[2:]
        counts = [places + own - 1 for places, own in zip(results, taps, strict=True)]
        low = list(attributes_of(op)["pads"])[: len(strides)]
        high = [
            count * stride - before - extent
            for count, stride, before, extent in zip(counts, strides, low, extents, strict=True)
        ]
        return _Blocks(strides, taps, counts, low, high)

    def rewrite(self, op: Any, match: Any, rewriter: Any) -> None:
        kernels, blocks = match
        data, weight, *bias = operands_of(op)
        rank = len(blocks.strides)
        with op.location:
            made = constant(_weights(kernels, blocks), like=weight)
            name_after_weight_of(weight, made, "space_to_depth")
            window = {"strides": [1] * rank, "pads": [0] * 2 * rank, "dilations": [1] * rank, "group": 1}
            rewriter.replace_op(op, [build("conv", _as_channels(data, blocks), made, *bias, **window)])


def _is_input(value: ir.Value) -> bool:
    """Whether a value is an input of the function, or a view of one, that nothing else reads: the host, which writes it
    to DRAM, gives it any order."""
    while has_one_use(value):
        view = producer(value, *_VIEWS)
        if view is None:
            return isinstance(value.owner, ir.Block)
        value = operands_of(view)[0]
    return False


def _order(rank: int) -> list[int]:
    """Of (channels or batch and channels, block and place in it per dimension): places before blocks."""
    return [0, 1, *range(3, 3 + 2 * rank, 2), *range(2, 2 + 2 * rank, 2)]


def _weights(kernels: np.ndarray, blocks: _Blocks) -> np.ndarray:
    """Kernels of blocks, with zeros where windows do not fill their last ones."""
    outputs, channels, *window = kernels.shape
    wide = [taps * stride for taps, stride in zip(blocks.taps, blocks.strides, strict=True)]
    whole = np.zeros((outputs, channels, *wide), kernels.dtype)
    whole[(..., *(slice(extent) for extent in window))] = kernels
    cut = whole.reshape(outputs, channels, *_pairs(blocks.taps, blocks.strides))
    return cut.transpose(_order(len(window))).reshape(outputs, -1, *blocks.taps)


def _as_channels(data: ir.Value, blocks: _Blocks) -> ir.Value:
    """The data with the elements of each block as channels."""
    batch, channels, *_ = shape_of(data)
    data = zeros_around(data, [0, 0, *blocks.low], [0, 0, *blocks.high])
    cut = reshaped(data, [batch, channels, *_pairs(blocks.counts, blocks.strides)])
    turned = build("transpose", cut, permutation=_order(len(blocks.strides)))
    return reshaped(turned, [batch, channels * prod(blocks.strides), *blocks.counts])


def _pairs(outer: Sequence[int], inner: Sequence[int]) -> list[int]:
    return [extent for pair in zip(outer, inner, strict=True) for extent in pair]


@dataclass(frozen=True)
class SpaceToDepth(Pass):
    """Make channels of the elements that a strided convolution of an input steps over.

    before: ``conv(%x, %w) {strides = [2, 2]}``, of 3 channels and windows of 3x3
    after: ``conv(%blocks, %w') {strides = [1, 1]}``, of 12 channels and windows of 2x2

    Channels fill the vectors of the matrix unit, of ``lanes`` elements, and what they do not fill is brought from DRAM
    and multiplied all the same: of images with 3 channels most. What windows read is an input, which the host puts into
    the order that is wanted.
    """

    name: ClassVar[str] = "space-to-depth"
    lanes: int = at_least(1, 8)

    def run(self, module: ir.Module) -> None:
        """Rewrite everywhere; refusals are explained."""
        apply_greedily(module, [ToChannels(self.lanes)])
