"""Building blocks of the table of checks: each makes a rule, a function of a node that raises its error.

ONNX's schemas say which attributes and operands an operator has and of which types; the checker and shape inference of
ONNX hold a model to that. What they do not say, such as that a size is positive or an index lies inside, is said here.
"""

import math
from collections.abc import Callable

import numpy as np

from mnc.dialects import graph
from mnc.dialects.graph.shapes import text
from mnc.lowering.onnx_to_graph.node import Node, element_type_of, shape_of
from mnc.lowering.onnx_to_graph.size_limits import LARGEST_CONSTANT, check_constant_size

Rule = Callable[[Node], None]


def shape(node: Node, operand: int) -> list[int]:
    """Shape of an operand; without its value being imported."""
    return shape_of(node.operand(operand))


def attribute_at_least(lowest: int, *names: str) -> Rule:
    """Integers, or lists of them, that are not below `lowest` where they are given."""

    def rule(node: Node) -> None:
        for name in names:
            value = node.attribute(name)
            values = value if isinstance(value, list) else [] if value is None else [value]
            if any(entry < lowest for entry in values):
                raise node.error(f"attribute '{name}' is {value}", hint=f"it must be at least {lowest}")

    return rule


def one_of(name: str, *choices: str) -> Rule:
    """A text that is one of `choices`, where it is given."""

    def rule(node: Node) -> None:
        value = node.attribute(name)
        if value is not None and value not in choices:
            raise node.error(f"attribute '{name}' is '{value}'", hint=f"it may be {', '.join(choices)}")

    return rule


def rank_between(operand: int, lowest: int, highest: int | None = None) -> Rule:
    """The rank of an operand, where it is present."""

    def rule(node: Node) -> None:
        if not node.has(operand):
            return
        found = shape(node, operand)
        if len(found) < lowest or (highest is not None and len(found) > highest):
            wanted = f"{lowest}" if lowest == highest else f"at least {lowest}" if highest is None else \
                f"{lowest} to {highest}"  # fmt: skip
            message = f"input {operand} has shape {text(found)}, which is rank {len(found)}"
            raise node.error(message, hint=f"the operator takes rank {wanted} there")

    return rule


def same_rank(*operands: int) -> Rule:
    """Operands that have equally many dimensions."""

    def rule(node: Node) -> None:
        shapes = [shape(node, operand) for operand in operands if node.has(operand)]
        if len({len(found) for found in shapes}) > 1:
            found = " and ".join(text(entry) for entry in shapes)
            raise node.error(f"inputs of shapes {found} must have equally many dimensions", hint="reshape one of them")

    return rule


def divides(what: str, dimension: int, divisor: Callable[[Node], int]) -> Rule:
    """Extent of a dimension of input 0 that `divisor`, which `what` describes, divides."""

    def rule(node: Node) -> None:
        extent, by = shape(node, 0)[dimension], divisor(node)
        if by < 1 or extent % by:
            message = f"extent {extent} of dimension {dimension} is no multiple of {what}, {by}"
            raise node.error(message, hint="change one of them")

    return rule


def vector_of(operand: int, what: str, extent: Callable[[Node], int]) -> Rule:
    """An operand with one element for each of `extent` things, which `what` names."""

    def rule(node: Node) -> None:
        if node.has(operand) and shape(node, operand) != [extent(node)]:
            found = text(shape(node, operand))
            message = f"input {operand} has shape {found}, but there are {extent(node)} {what}"
            raise node.error(message, hint=f"give it shape {extent(node)}")

    return rule


def is_integer(operand: int) -> Rule:
    """An operand that holds integers."""

    def rule(node: Node) -> None:
        element = element_type_of(node.operand(operand))
        if graph.numpy_dtype(element).kind not in "iu":
            raise node.error(f"input {operand} has element type {element}, and integers are wanted", hint="cast it")

    return rule


def check_range(node: Node, indices: np.ndarray, extent: int, what: str = "index") -> None:
    """Raise the node's error unless all indices lie in an extent, or count from its end."""
    outside = indices[(indices < -extent) | (indices >= extent)]
    if outside.size:
        message = f"{what} {outside.flat[0]} is outside the extent {extent}"
        raise node.error(message, hint=f"it may be {-extent} to {extent - 1}" if extent else "nothing can be looked up")


def indices_inside(operand: int, default_axis: int = 0) -> Rule:
    """Indices along the attribute 'axis' of input 0, where they are known when compiling."""

    def rule(node: Node) -> None:
        extents = shape(node, 0)
        axis = node.axis(node.attribute("axis", default_axis), len(extents))
        indices = node.known(operand)
        if indices is not None:
            check_range(node, indices, extents[axis])
        elif extents[axis] == 0 and math.prod(shape(node, operand)):
            raise node.error(f"looks up elements of dimension {axis}, whose extent is 0", hint="leave the node out")

    return rule


def tuples_inside(operand: int, batch: Callable[[Node], int]) -> Rule:
    """Indices whose last dimension names a place in input 0, as GatherND and ScatterND have them."""

    def rule(node: Node) -> None:
        extents, wanted, first = shape(node, 0), shape(node, operand), batch(node)
        depth = wanted[-1] if wanted else 0
        if not 0 <= first < min(len(extents), len(wanted)) or not 1 <= depth <= len(extents) - first:
            message = f"indices of shape {text(wanted)} do not name places in a tensor of shape {text(extents)}"
            raise node.error(message, hint="their last dimension has one index for each dimension that is looked up")
        if extents[:first] != wanted[:first]:
            message = f"the first {first} extents of shapes {text(extents)} and {text(wanted)} must be equal"
            raise node.error(message, hint="batch_dims counts the dimensions that both have in common")
        indices = node.known(operand)
        if indices is None:
            return
        for i in range(depth):
            check_range(node, indices[..., i], extents[first + i])

    return rule


def fits_inside(operand: int) -> Rule:
    """An operand no larger than input 0 in any dimension but that of the attribute 'axis'."""

    def rule(node: Node) -> None:
        extents, wanted = shape(node, 0), shape(node, operand)
        axis = node.axis(node.attribute("axis", 0), len(extents))
        if any(w > e for i, (w, e) in enumerate(zip(wanted, extents, strict=True)) if i != axis):
            message = f"indices of shape {text(wanted)} reach beyond a tensor of shape {text(extents)}"
            raise node.error(message, hint=f"they may only be larger along axis {axis}")

    return rule


def makes(what: str, count: Callable[[Node], int], most: int = LARGEST_CONSTANT) -> Rule:
    """The importer makes a constant of `count` elements for the node, and `most` at most; `what` describes it."""

    def rule(node: Node) -> None:
        check_constant_size(count(node), what, node.file_name, node.proto, most)

    return rule


def finite(*names: str) -> Rule:
    """Attributes that are numbers, or lists of them, and not infinite or NaN."""

    def rule(node: Node) -> None:
        for name in names:
            if not np.isfinite(node.attribute(name, 0.0)).all():
                raise node.error(f"attribute '{name}' is {node.attribute(name)}", hint="it must be a finite number")

    return rule


def same_shape(left: int, right: int) -> Rule:
    """Two operands of one shape."""

    def rule(node: Node) -> None:
        one, other = shape(node, left), shape(node, right)
        if one != other:
            message = f"inputs {left} and {right} have shapes {text(one)} and {text(other)}"
            raise node.error(message, hint="they must be equal")

    return rule
