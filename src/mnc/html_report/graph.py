"""Where the nodes of the graph stand in its picture: in layers, near what they read."""

from collections.abc import Sequence
from typing import Any


def drawn_graph(graph: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Places of nodes, and edges between their numbers: several nodes may have one name. A node stands one layer below
    the lowest of those that it reads."""
    maker = {name: number for number, node in enumerate(graph) for name in node["outputs"]}
    rows: list[int] = []
    columns: list[float] = []
    taken: dict[int, list[float]] = {}
    edges = []
    for number, node in enumerate(graph):
        sources = [maker[name] for name in node["inputs"] if name in maker]
        edges += [[source, number] for source in dict.fromkeys(sources)]
        known = [source for source in sources if source < number]
        rows.append(1 + max((rows[source] for source in known), default=-1))
        wish = sum(columns[source] for source in known) / len(known) if known else 0.0
        columns.append(_free(wish, taken.setdefault(rows[number], [])))
    places = [{"name": node["name"], "x": x, "y": y} for node, x, y in zip(graph, columns, rows, strict=True)]
    return {"nodes": places, "edges": edges}


def _free(wish: float, taken: list[float]) -> float:
    """The place nearest to the wish that is at least 1 from all others of the row."""
    candidates = [wish, *(place + side for place in taken for side in (-1.0, 1.0))]
    found = min((c for c in candidates if all(abs(c - t) >= 1 for t in taken)), key=lambda c: abs(c - wish))
    taken.append(found)
    return found
