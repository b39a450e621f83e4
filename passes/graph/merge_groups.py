"""The pass `merge-groups`."""

from dataclasses import dataclass
from math import gcd, lcm
from typing import Any, ClassVar

import numpy as np

from mnc.core.bindings import ir
from mnc.core.pass_base import Pass, at_least
from mnc.core.rewrite import Pattern, apply_greedily, attributes_of, refuse
from mnc.dialects import graph
from mnc.passes.graph.algebra.scaling import name_after_weight_of
from mnc.passes.graph.matching import constant, constant_of


@dataclass(frozen=True)
class Merge(Pattern):
    """``conv(x, w) {group = g} -> conv(x, w') {group = g / m}``: w' has the kernels of m groups in blocks along its
    diagonal, and zeros."""

    root = "graph.conv"
    lanes: int
    most: float

    def match(self, op: Any) -> Any:
        weight = list(op.operation.operands)[1]
        groups = attributes_of(op)["group"].value
        if groups == 1:
            return None
        kernels = constant_of(weight)
        if kernels is None:
            return refuse("its weight is not constant")
        outputs, inputs = kernels.shape[0] // groups, kernels.shape[1]
        if inputs == 1:
            return refuse("a group has one channel, and needs no matrix")
        merged = lcm(self._enough(inputs), self._enough(outputs))
        if merged == 1:
            return refuse(f"groups of {inputs} and {outputs} channels are multiples of {self.lanes} as they are")
        if groups % merged:
            return refuse(f"{groups} groups do not make whole ones of {merged}")
        work, padded = merged * inputs * outputs, self._padded(inputs) * self._padded(outputs)
        if work > self.most * padded:
            return refuse(f"there would be {work / padded:.1f} times as much to multiply")
        return kernels, groups, merged

    def _enough(self, channels: int) -> int:
        """Groups of so many channels that are a multiple of the lanes together."""
        return self.lanes // gcd(self.lanes, channels)

    def _padded(self, channels: int) -> int:
        return -(-channels // self.lanes) * self.lanes

    def rewrite(self, op: Any, match: Any, rewriter: Any) -> None:
        kernels, groups, merged = match
        data, weight, *bias = op.operation.operands
        outputs, inputs = kernels.shape[0] // groups, kernels.shape[1]
        apart = kernels.reshape(groups // merged, merged, outputs, inputs, *kernels.shape[2:])
        blocks = np.zeros((groups // merged, merged, outputs, merged, inputs, *kernels.shape[2:]), kernels.dtype)
        for number in range(merged):
            blocks[:, number, :, number] = apart[:, number]
        made = constant(blocks.reshape(kernels.shape[0], merged * inputs, *kernels.shape[2:]), like=weight)
        name_after_weight_of(weight, made, "merged_groups")
        left = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), groups // merged)
        attributes = attributes_of(op) | {"group": left}
        with op.location:
            result = graph.Conv.build(data, made, *bias, **attributes)
        rewriter.replace_op(op, [result.operation.results[0]])


@dataclass(frozen=True)
class MergeGroups(Pass):
    """Make groups of a convolution so wide that their channels fill whole vectors.

    before: ``%1 = graph.conv(%0, %w) {group = 32}`` of 4 channels; after: ``%1 = graph.conv(%0, %w') {group = 16}``

    Channels of a group are padded to whole vectors of ``lanes``: groups of 4 leave half of the matrix unit idle, and
    their channels come to lie at other places than those of one row, so that all of them have to move. Groups are
    merged, with zeros between them, where whole groups fill vectors and there are at most ``most`` times as many
    products as with padding. Weights have to be constant.
    """

    name: ClassVar[str] = "merge-groups"
    lanes: int = at_least(1, 8)
    most: float = 1.0

    def run(self, module: ir.Module) -> None:
        """Merge everywhere; refusals are explained."""
        apply_greedily(module, [Merge(self.lanes, self.most)])
