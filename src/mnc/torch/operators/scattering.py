"""Scattering: elements put, or combined with those that are there, where indices say."""

import math
from collections.abc import Sequence
from typing import Any

import torch

from mnc.torch.call import Call

_REDUCTIONS = {
    "sum": "add", "add": "add", "mean": "add", "prod": "mul", "multiply": "mul", "amax": "max", "amin": "min",
}  # fmt: skip
"""torch's names -> those of ScatterElements."""
_LARGEST_INTEGER = 2**31 - 1


def _neutral(reduction: str, dtype: torch.dtype) -> float | int:
    """What changes nothing when it is combined with a number, of the 32 bits that the machine has for integers."""
    if reduction in ("add", "mul"):
        return int(reduction == "mul")
    largest = math.inf if dtype.is_floating_point else min(torch.iinfo(dtype).max, _LARGEST_INTEGER)
    smallest = -math.inf if dtype.is_floating_point else max(torch.iinfo(dtype).min, -_LARGEST_INTEGER - 1)
    return smallest if reduction == "max" else largest


def _spread(c: Call, value: Any, shape: Sequence[int]) -> str:
    return c.op("Expand", c.value(value, c.dtype), c.writer.ints(shape))


def _updates(c: Call) -> str:
    """One value for every index: the first ones of a tensor that has more."""
    wanted = c.shape_of("index")
    if "src" not in c.names:
        return _spread(c, c["value"], wanted)
    value, given = c.operand("src", c.dtype), c.shape_of("src")
    cut = [axis for axis, extent in enumerate(wanted) if given[axis] != extent]
    if not cut:
        return value
    ends = [wanted[axis] for axis in cut]
    return c.op("Slice", value, *map(c.writer.ints, ([0] * len(cut), ends, cut)))


def _scatter(c: Call) -> str:
    reduce = c["reduce"] if "reduce" in c.names else None
    if not c.shape:
        raise c.error("scattering into a number is not supported", "give tensors of one dimension")
    axis, index, updates = c.axis(c["dim"], len(c.shape)), c.operand("index"), _updates(c)
    value = c.operand("self")
    if reduce is None:
        return c.op("ScatterElements", value, index, updates, axis=axis)
    reduction = _REDUCTIONS[reduce]
    includes = c["include_self"] if "include_self" in c.names else True
    if not includes:
        neutral = _spread(c, _neutral(reduction, c.dtype), c.shape_of("index"))
        value = c.op("ScatterElements", value, index, neutral, axis=axis)
    result = c.op("ScatterElements", value, index, updates, axis=axis, reduction=reduction)
    return _mean(c, result, index, axis, includes=includes) if reduce == "mean" else result


def _mean(c: Call, total: str, index: str, axis: int, *, includes: bool) -> str:
    """Sums, divided by how many numbers came together; where none was put, one is there."""
    if not c.dtype.is_floating_point:
        raise c.error("a mean of integers is not supported", "scatter floats")
    one = _spread(c, 1, c.shape_of("index"))
    count = _spread(c, int(includes), c.shape)
    count = c.op("ScatterElements", count, index, one, axis=axis, reduction="add")
    return c.op("Div", total, count if includes else c.op("Max", count, c.value(1, c.dtype)))


OPERATORS = {"scatter": _scatter, "scatter_reduce": _scatter}
