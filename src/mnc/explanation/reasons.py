"""Why something was decided as it was."""

from typing import Any

from mnc.core.diagnostics import NODE_SEPARATOR
from mnc.explanation.program import graph_node


def why_layout(record: dict[str, Any], name: str) -> list[str]:
    """The candidates for the layouts of a node with their prices, the chosen one first marked; where nothing was
    compared, what the layout follows from."""
    graph_node(record, name)
    layouts = [decision for decision in record["decisions"] if decision["decision"] == "layout"]
    decisions = [decision for decision in layouts if name in decision["node"].split(NODE_SEPARATOR)]
    lines = []
    for decision in decisions:
        lines.append(f"{decision['node']}: {len(decision['candidates'])} candidates; chosen: {decision['reason']}")
        for candidate in decision["candidates"]:
            mark = "*" if candidate["what"] == decision["chosen"] else " "
            parts = ", ".join(f"{part} {price:,.0f}" for part, price in candidate["parts"].items())
            lines.append(f"{mark} {candidate['price']:8,.0f} steps ({parts}): {candidate['what']}")
    for layout in record["layouts"]:
        if name in layout["nodes"] and layout["precision"] == "single" and not _is_decided(layout, decisions):
            lines += _followed(layout)
    return lines or [f"{name} has no layout: it was folded, removed, or is part of what reads it"]


def _is_decided(layout: dict[str, Any], decisions: list[dict[str, Any]]) -> bool:
    chosen = " ".join(decision["chosen"] for decision in decisions)
    return bool(decisions) and all(not o["layout"] or o["layout"] in chosen for o in layout["operands"])


def _followed(layout: dict[str, Any]) -> list[str]:
    """Element-wise work and sums stay where their operands are."""
    nodes = NODE_SEPARATOR.join(layout["nodes"])
    same = [o["of"] for o in layout["operands"] if o["layout"] == layout["result"]]
    where = f"stays where {same[0]} is" if same else "follows its operands, as far as extents allow"
    lines = [f"{nodes}: nothing was compared, the work {where}", f"  gives {layout['shape']} {layout['result']}"]
    return [*lines, *(f"  reads {o['of']} {o['shape']} {o['layout']}" for o in layout["operands"])]


def why_not_fused(record: dict[str, Any], first: str, second: str) -> list[str]:
    """Why two nodes do not run as one loop nest, or that they do."""
    one, other = graph_node(record, first), graph_node(record, second)
    together = [nodes for nodes in record["fused"] if first in nodes and second in nodes]
    if together:
        return [f"{first} and {second} run as one: {NODE_SEPARATOR.join(together[0])}"]
    missing = [name for name in (first, second) if not _is_left(record, name)]
    if missing:
        return [f"{missing[0]} is not left to be fused: it was folded, removed, or is only a matter of places"]
    if not set(one["outputs"]) & set(other["inputs"]):
        if set(other["outputs"]) & set(one["inputs"]):
            return why_not_fused(record, second, first)
        return [f"{second} does not read what {first} gives: only a producer and its consumer run as one"]
    readers = [node["name"] for node in record["graph"] if set(one["outputs"]) & set(node["inputs"])]
    reasons = [line for line in record["refusals"] if _is_about(line, second)]
    if reasons:
        return [f"{second} reads {first}, but", *(f"  {line}" for line in reasons)]
    if len(readers) > 1:
        return [f"{first} is read by {', '.join(readers)}: to fuse it into each would compute it as many times"]
    return [f"no refusal was recorded: {first} and {second} were changed before fusion, see mnc compile --dump-dir"]


def _is_left(record: dict[str, Any], name: str) -> bool:
    return any(row["node"] == name for row in record["nodes"])


def _is_about(line: str, node: str) -> bool:
    """A refusal of fusion at a node."""
    return "FuseElementwise" in line and any(
        node in names.split(NODE_SEPARATOR) for names in line.split("'")[1::2]
    )
