"""The table of checks: what must hold of a node before its handler sees it, beyond what ONNX's schemas say.

A node that passes is a possible operation; a failure in its handler is a mistake of ours.
"""

import math

from mnc.dialects.graph.shapes import text
from mnc.lowering.onnx_to_graph.check_rules import (
    Rule,
    attribute_at_least,
    divides,
    finite,
    fits_inside,
    indices_inside,
    is_integer,
    makes,
    one_of,
    rank_between,
    same_rank,
    same_shape,
    shape,
    tuples_inside,
    vector_of,
)
from mnc.lowering.onnx_to_graph.node import Node
from mnc.lowering.onnx_to_graph.size_limits import LARGEST_VALUE

_REDUCTIONS = one_of("reduction", "none", "add", "mul", "max", "min")
_AUTO_PAD = one_of("auto_pad", "NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID")


def _block(node: Node) -> int:
    return node.attribute("blocksize")


def _groups(node: Node) -> int:
    return node.attribute("num_groups")


def _channels(node: Node) -> int:
    return shape(node, 0)[1]


def _per_group_before_21(node: Node) -> int:
    return _groups(node) if node.version < 21 else _channels(node)


def _batches(node: Node) -> int:
    return node.attribute("batch_dims", 0)


def _updates_fit(node: Node) -> None:
    extents, indices, updates = (shape(node, i) for i in range(3))
    wanted = [*indices[:-1], *extents[indices[-1] :]]
    if updates != wanted:
        message = f"updates of shape {text(updates)} do not fit indices of shape {text(indices)}"
        raise node.error(message, hint=f"into a tensor of shape {text(extents)}, their shape is {text(wanted)}")


def _range(node: Node) -> None:
    start, limit, step = (node.constant(i, name).item() for i, name in enumerate(("start", "limit", "delta")))
    if not all(map(math.isfinite, (start, limit, step))) or step == 0:
        raise node.error(f"a range from {start} to {limit} in steps of {step} does not end", hint="take another step")
    makes("its result", lambda _: math.ceil((limit - start) / step))(node)


def _filled(node: Node) -> int:
    if (lengths := node.lengths[0]) is not None:  # the shape of a value whose extents a run finds
        return math.prod(length if isinstance(length, int) else length.most for length in lengths)
    wanted = node.constant_ints(0, "shape")
    if min(wanted, default=0) < 0:
        raise node.error(f"shape {wanted} has a negative extent", hint="extents are 0 or more")
    return math.prod(wanted)


def _depth(node: Node) -> int:
    depth = node.constant(1, "depth")
    if depth.size != 1 or not depth.reshape(-1)[0] > 0:
        raise node.error(f"its depth is {depth}", hint="it is one positive number")
    return int(depth.reshape(-1)[0])


def _transformed(node: Node) -> int:
    length = node.known(1)
    count = max(shape(node, 0)) if length is None else int(length.reshape(-1)[0])
    return 2 * count * max(count if length is None else max(shape(node, 0)), 1)


_WINDOW = (
    rank_between(0, 3), _AUTO_PAD, attribute_at_least(1, "kernel_shape", "strides", "dilations"),
)  # fmt: skip
_CONVOLUTION = (*_WINDOW, same_rank(0, 1), attribute_at_least(1, "group"))
_NORMALIZED = (vector_of(1, "channels", _channels), vector_of(2, "channels", _channels))
_RECURRENT = (
    rank_between(0, 3, 3), rank_between(1, 3, 3), rank_between(2, 3, 3), attribute_at_least(1, "hidden_size"),
    one_of("direction", "forward", "reverse", "bidirectional"),
)  # fmt: skip

_RESIZED = (
    finite("cubic_coeff_a", "extrapolation_value"),
    one_of("mode", "nearest", "linear", "bilinear", "cubic"),
    one_of("nearest_mode", "round_prefer_floor", "round_prefer_ceil", "floor", "ceil"),
    one_of("keep_aspect_ratio_policy", "stretch", "not_larger", "not_smaller"),
    one_of("coordinate_transformation_mode", "half_pixel", "half_pixel_symmetric", "pytorch_half_pixel",
           "align_corners", "asymmetric", "tf_crop_and_resize", "tf_half_pixel_for_nn"),
)  # fmt: skip

CHECKS: dict[str, tuple[Rule, ...]] = {
    "AveragePool": _WINDOW,
    "BitShift": (one_of("direction", "LEFT", "RIGHT"),),
    "Conv": _CONVOLUTION,
    "ConvInteger": _CONVOLUTION,
    "ConvTranspose": (*_CONVOLUTION, attribute_at_least(0, "output_padding", "output_shape")),
    "ConstantOfShape": (makes("its result", _filled, LARGEST_VALUE),),  # as weights of networks without values
    "DFT": (rank_between(0, 2), makes("its matrix", _transformed)),
    "DepthToSpace": (
        rank_between(0, 4, 4), attribute_at_least(1, "blocksize"), one_of("mode", "DCR", "CRD"),
        divides("the square of the block size", 1, lambda node: _block(node) ** 2),
    ),
    "EyeLike": (rank_between(0, 2, 2), makes("its result", lambda node: math.prod(shape(node, 0)))),
    "GRU": _RECURRENT,
    "Gather": (rank_between(0, 1), is_integer(1), indices_inside(1)),
    "GatherElements": (rank_between(0, 1), is_integer(1), same_rank(0, 1), fits_inside(1), indices_inside(1)),
    "GatherND": (rank_between(0, 1), rank_between(1, 1), is_integer(1), tuples_inside(1, _batches)),
    "GlobalAveragePool": (rank_between(0, 2),),
    "GlobalLpPool": (rank_between(0, 2), attribute_at_least(1, "p")),
    "GlobalMaxPool": (rank_between(0, 2),),
    "GridSample": (rank_between(0, 3), same_rank(0, 1)),
    "GroupNormalization": (
        rank_between(0, 3), attribute_at_least(1, "num_groups"), divides("the number of groups", 1, _groups),
        vector_of(1, "groups or channels", _per_group_before_21),
        vector_of(2, "groups or channels", _per_group_before_21),
    ),
    "InstanceNormalization": (rank_between(0, 3), *_NORMALIZED),
    "LRN": (rank_between(0, 2), attribute_at_least(1, "size")),
    "LSTM": _RECURRENT,
    "LpNormalization": (rank_between(0, 1),),
    "LpPool": (*_WINDOW, attribute_at_least(1, "p")),
    "MaxPool": _WINDOW,
    "NonMaxSuppression": (rank_between(0, 3, 3), rank_between(1, 3, 3)),
    "NonZero": (rank_between(0, 1),),
    "OneHot": (makes("the list of its classes", _depth),),
    "Pad": (one_of("mode", "constant", "reflect", "edge", "wrap"),),
    "QLinearConv": (rank_between(0, 3), rank_between(3, 3), same_rank(0, 3), *_WINDOW[1:],
                    attribute_at_least(1, "group")),
    "RNN": _RECURRENT,
    "Range": (_range,),
    "Resize": _RESIZED,
    "Scatter": (rank_between(0, 1), is_integer(1), same_rank(0, 1), same_shape(1, 2), fits_inside(1),
                indices_inside(1)),
    "ScatterElements": (rank_between(0, 1), is_integer(1), same_rank(0, 1), same_shape(1, 2), fits_inside(1),
                        indices_inside(1), _REDUCTIONS),
    "ScatterND": (rank_between(0, 1), rank_between(1, 1), is_integer(1), tuples_inside(1, lambda node: 0),
                  _updates_fit, _REDUCTIONS),
    "SpaceToDepth": (
        rank_between(0, 4, 4), attribute_at_least(1, "blocksize"), one_of("mode", "DCR", "CRD"),
        divides("the block size", 2, _block), divides("the block size", 3, _block),
    ),
    "TopK": (rank_between(0, 1),),
    "Upsample": _RESIZED,
    "Trilu": (rank_between(0, 2), makes("its triangle", lambda node: math.prod(shape(node, 0)[-2:]))),
}  # fmt: skip
"""Operator -> rules, checked in this order; a rule may rely on those before it."""


def check_node(node: Node) -> None:
    """Raise CompileError unless the node, of the standard domain, is a possible operation."""
    for rule in CHECKS.get(node.op_type, ()):
        rule(node)
