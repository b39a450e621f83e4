"""What rules have in common."""

from collections.abc import Callable, Iterable
from typing import Any

from mnc.core.diagnostics import CompileError
from mnc.dialects import graph
from mnc.lowering.onnx_to_graph.node import Node, constant, element_type_of, shape_of
from mnc.lowering.onnx_to_graph.run_time_extents import Count, Extents

Handler = Callable[[Node], Any]
Rule = Callable[[Handler, Node], Any]
"""Results of a node, by its handler; notes their extents in `Node.found`."""

_HINT = "make that value an output of the model and do the rest on the host, or use a mask of constant shape with Where"


def refusal(node: Node, index: int, dimension: int, why: str) -> CompileError:
    """The refusal of a node because of dimension `dimension` of its input `index`."""
    name, most = node.proto.input[index], node.extents(index)[dimension].most
    text = f"a run finds how long dimension {dimension} of its input {index} '{name}' is, at most {most}, {why}"
    return node.error(text, hint=_HINT)


def refuse_others(node: Node, *taken: int) -> None:
    """Raise CompileError if another input than those `taken` has an extent that a run finds."""
    for index, extents in enumerate(node.given):
        if extents and index not in taken:
            raise refusal(node, index, min(extents), "which is not taken there")


def refuse_dimensions(node: Node, index: int, dimensions: Iterable[int], why: str) -> None:
    """Raise CompileError if one of the dimensions of an input has an extent that a run finds."""
    for dimension in dimensions:
        if dimension in node.extents(index):
            raise refusal(node, index, dimension, why)


def give_all(node: Node, results: Any, extents: Extents) -> Any:
    """Note the same extents for all results."""
    for number in range(len(results) if isinstance(results, list) else 1):
        node.found[number] = extents
    return results


def without_padding(value: Any, extents: Extents, filler: float) -> Any:
    """A value with `filler` where its padding is."""
    rank = len(shape_of(value))
    for dimension, count in extents.items():
        value = graph.Where.build(count.valid(dimension, rank), value, constant(filler, like=value)).result
    return value


def axis_of(node: Node, default: int) -> int:
    """The attribute `axis`, not negative, for input 0."""
    return node.axis(node.attribute("axis", default), len(shape_of(node.operand(0))))


__all__ = ["Count", "Extents", "Handler", "Rule", "axis_of", "element_type_of", "give_all", "refusal",
           "refuse_dimensions", "refuse_others", "without_padding"]  # fmt: skip
