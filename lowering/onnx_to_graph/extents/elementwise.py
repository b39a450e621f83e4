"""Operators that compute every element by itself: the padding of the result comes from padding."""

from collections.abc import Sequence
from typing import Any

from mnc.lowering.onnx_to_graph.extents.common import Count, Extents, Handler, Rule, give_all, refusal, refuse_others
from mnc.lowering.onnx_to_graph.node import Node, shape_of

_OF_ONE = (
    "Abs", "Acos", "Acosh", "Asin", "Asinh", "Atan", "Atanh", "BitCast", "BitwiseNot", "Cast", "Ceil", "Celu", "Clip",
    "Cos", "Cosh", "Dropout", "Elu", "Erf", "Exp", "Floor", "Gelu", "HardSigmoid", "HardSwish", "Identity", "IsInf",
    "IsNaN", "LeakyRelu", "Log", "Mish", "Neg", "Not", "Reciprocal", "Relu", "Round", "Selu", "Shrink", "Sigmoid",
    "Sign", "Sin", "Sinh", "Softplus", "Sqrt", "Tan", "Tanh",
)  # fmt: skip
_OF_SEVERAL = (
    "Add", "And", "BitShift", "BitwiseAnd", "BitwiseOr", "BitwiseXor", "Div", "Equal", "Greater", "GreaterOrEqual",
    "Less", "LessOrEqual", "Max", "Mean", "Min", "Mod", "Mul", "Or", "PRelu", "Pow", "Sub", "Sum", "Where", "Xor",
)  # fmt: skip


def of_one(handler: Handler, node: Node) -> Any:
    """Operators of one tensor; further inputs are numbers."""
    refuse_others(node, 0)
    return give_all(node, handler(node), node.extents(0))


def of_several(handler: Handler, node: Node) -> Any:
    """Operators of tensors that broadcast: extents that meet are the same, or of one element."""
    return give_all(node, handler(node), broadcast(node, [shape_of(node.operand(i)) for i in range(len(node.given))]))


def broadcast(node: Node, shapes: Sequence[Sequence[int]]) -> Extents:
    """Extents of a result of operands that broadcast; `shapes` are those that take part, from the last dimension on."""
    rank = max(map(len, shapes))
    found: dict[int, Count] = {}
    for index, shape in enumerate(shapes):
        for dimension, count in node.extents(index).items():
            place = dimension + rank - len(shape)
            if found.setdefault(place, count).number != count.number:
                raise refusal(node, index, dimension, "and there it meets another one that a run finds")
    for place in found:
        for index, shape in enumerate(shapes):
            own = place - rank + len(shape)
            if own >= 0 and shape[own] != 1 and own not in node.extents(index):
                other = next(i for i, extents in enumerate(node.given) if place - rank + len(shapes[i]) in extents)
                why = f"and there it meets one of {shape[own]}"
                raise refusal(node, other, place - rank + len(shapes[other]), why)
    return found


def like_first(handler: Handler, node: Node) -> Any:
    """CastLike: of the second input only the type counts."""
    return give_all(node, handler(node), node.extents(0))


RULES: dict[str, Rule] = {
    **dict.fromkeys(_OF_ONE, of_one),
    **dict.fromkeys(_OF_SEVERAL, of_several),
    "CastLike": like_first,
}
