"""Pooling."""

import math
from typing import Any

import torch

from mnc.torch.call import Call


def _all(values: Any, rank: int, default: list[int] | None = None) -> list[int]:
    """One value per spatial dimension; torch lets one stand for all, and leaves strides out."""
    given = [values] if isinstance(values, int) else list(values)
    if not given:
        return list(default or [])
    return given * rank if len(given) == 1 else given


def _attributes(c: Call) -> dict[str, Any]:
    rank = len(c["kernel_size"]) if not isinstance(c["kernel_size"], int) else len(c.shape) - 2
    kernel = _all(c["kernel_size"], rank)
    strides, pads = _all(c["stride"], rank, kernel), _all(c["padding"], rank)
    return {
        "kernel_shape": kernel,
        "strides": strides,
        "pads": pads * 2,
        "ceil_mode": int(bool(c["ceil_mode"]) and _reaches_beyond(c, kernel, strides, pads)),
    }


def _reaches_beyond(c: Call, kernel: list[int], strides: list[int], pads: list[int]) -> bool:
    """Whether a window reaches beyond the padding. torch leaves one out that would begin in the padding behind, which
    shape inference of ONNX counts."""
    rank = len(kernel)
    dilations = _all(c["dilation"], rank) if "dilation" in c.names else [1] * rank
    sizes = zip(c.shape_of("self")[-rank:], kernel, strides, pads, dilations, strict=True)
    room = [extent + 2 * pad - d * (k - 1) - 1 for extent, k, _, pad, d in sizes]
    if c.shape[-rank:] == [r // step + 1 for r, step in zip(room, strides, strict=True)]:
        return False
    if c.shape[-rank:] != [-(-r // step) + 1 for r, step in zip(room, strides, strict=True)]:
        hint = "leave ceil_mode out, and pad with torch.nn.functional.pad before"
        raise c.error("ceil_mode leaves a window out in one dimension, and adds one in another", hint)
    return True


def _batched(c: Call, op_type: str, attributes: dict[str, Any]) -> str:
    """The pooling; a tensor without a batch dimension gets one."""
    value, rank = c.operand("self"), len(attributes["kernel_shape"])
    if len(c.shape) == rank + 2:
        return c.op(op_type, value, **attributes)
    return c.reshape(c.op(op_type, c.reshape(value, [1, *c.shape_of("self")]), **attributes), c.shape)


def _max_pool(c: Call) -> list[str | None]:
    """Largest of each window; its place, which the backward part does without, only where it is read."""
    attributes = _attributes(c)
    rank = len(attributes["kernel_shape"])
    attributes["dilations"] = _all(c["dilation"], rank)
    if all(user.args[1:] != (1,) for user in c.node.users):
        return [_batched(c, "MaxPool", attributes), None]
    value, extents = c.operand("self"), c.shape_of("self")
    if is_batched := len(c.shape) == rank + 2:
        found = list(c.writer.ops("MaxPool", [value], 2, **attributes))
    else:
        found = list(c.writer.ops("MaxPool", [c.reshape(value, [1, *extents])], 2, **attributes))
    # ONNX counts the elements of all images, torch those of one.
    found[1] = c.op("Mod", found[1], c.writer.constant(math.prod(extents[-rank:]), torch.int64), fmod=0)
    return list(found) if is_batched else [c.reshape(name, c.shape) for name in found]


def _average_pool(c: Call) -> str:
    divisor = c["divisor_override"] if "divisor_override" in c.names else None
    attributes = _attributes(c)
    if divisor is None:
        return _batched(c, "AveragePool", {**attributes, "count_include_pad": int(c["count_include_pad"])})
    if c["ceil_mode"]:
        hint = "scale the result instead"
        raise c.error("a divisor of its own is not supported in average pooling with ceil_mode", hint)
    means = _batched(c, "AveragePool", {**attributes, "count_include_pad": 1})
    return c.op("Mul", means, c.value(math.prod(attributes["kernel_shape"]) / divisor, c.dtype))


OPERATORS = {
    **dict.fromkeys(("max_pool2d_with_indices", "max_pool3d_with_indices"), _max_pool),
    **dict.fromkeys(("avg_pool1d", "avg_pool2d", "avg_pool3d"), _average_pool),
}
