"""Finding calls in a trace, and putting others in their places."""

from collections.abc import Callable, Sequence
from typing import Any

from torch import fx


def calls(graph: fx.Graph, *targets: Any) -> list[fx.Node]:
    """The calls of some functions, in order."""
    return [node for node in graph.nodes if node.op == "call_function" and node.target in targets]


def replace(node: fx.Node, target: Callable[..., Any], arguments: Sequence[Any]) -> fx.Node:
    """Put a call of `target` in the place of `node`; its origin is kept."""
    with node.graph.inserting_before(node):
        new = node.graph.call_function(target, tuple(arguments))
    new.meta = {key: value for key, value in node.meta.items() if key in ("custom", "stack_trace", "seq_nr")}
    node.replace_all_uses_with(new)
    node.graph.erase_node(node)
    return new
