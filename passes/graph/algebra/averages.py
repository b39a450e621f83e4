"""Averages of what a pointwise convolution gives: the convolution of the averages has fewer products."""

import math
from typing import Any

import numpy as np

from mnc.core.rewrite import Pattern, attributes_of, location_of_all, refuse
from mnc.passes.graph.algebra.common import RootedPattern, build, operands_of, replace, result_of
from mnc.passes.graph.matching import constant, has_one_use, is_float, producer, rebuilt, reshaped, shape_of, size_of

PRODUCTS_PER_SUM = 16
"""Multiplications of a convolution that take as long as one addition of an average, as an order of magnitude."""


class AverageBefore(RootedPattern):
    """``average(conv(x, w, b)) -> conv(average(x), w, b)`` for convolutions of windows of one element; the same for
    sums and means over spatial dimensions. Both are linear, and work on different dimensions.

    Transitions of dense networks are such: a quarter of the products remains. Sums that have an infinity or NaN have it
    in both orders; only sums near the largest number may be infinite in one and not in the other.
    """

    def match(self, op: Any) -> Any:
        value = operands_of(op)[0]
        convolution = _pointwise(value)
        if convolution is None or not self._is_linear(op, with_bias=len(operands_of(convolution)) > 2):
            return None
        if not has_one_use(value):
            return refuse("the convolution has other uses, so that it is computed anyway")
        data, weight = operands_of(convolution)[:2]
        saved = (size_of(value) - size_of(result_of(op))) * shape_of(weight)[1]
        if saved <= max(0, size_of(data) - size_of(value)) * PRODUCTS_PER_SUM:
            return refuse("averages of the data, which has more channels, take longer than what is saved")
        return convolution

    def _is_linear(self, op: Any, *, with_bias: bool) -> bool:
        """Whether it averages or sums along spatial dimensions only, in a way that a bias can follow."""
        attributes = attributes_of(op)
        kind = attributes["kind"].value
        if self.root == "graph.reduce":
            return kind in ("mean", "sum") and min(attributes["axes"], default=0) > 1
        around = any(attributes["pads"]) or attributes["ceil_mode"].value
        return kind == "average" and not (with_bias and around and attributes["count_include_pad"].value)

    def rewrite(self, op: Any, match: Any, rewriter: Any) -> None:
        data, weight, *bias = operands_of(match)
        attributes = attributes_of(op)
        if self.root == "graph.reduce":
            average = build("reduce", data, **{**attributes, "keepdims": True})
            if attributes["kind"].value == "sum":
                count = math.prod(shape_of(data)[axis] for axis in attributes["axes"])
                bias = [build("mul", b, constant(np.asarray(count), like=b)) for b in bias]
        else:
            average = rebuilt(op, data)
        with location_of_all(match, op):
            value = rebuilt(match, average, weight, *bias)
        replace(op, reshaped(value, shape_of(result_of(op))), rewriter)


def _pointwise(value: Any) -> Any:
    """The convolution that makes a value, if its windows are all elements, one by one."""
    convolution = producer(value, "conv")
    if convolution is None or not is_float(value):
        return None
    attributes = attributes_of(convolution)
    whole = not any(attributes["pads"]) and all(step == 1 for step in attributes["strides"])
    return convolution if whole and math.prod(shape_of(operands_of(convolution)[1])[2:]) == 1 else None


def patterns() -> list[Pattern]:
    """All patterns of this file."""
    return [AverageBefore("pool"), AverageBefore("reduce")]
