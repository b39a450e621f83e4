"""Where the nodes of the graph stand in its picture: in layers, near what they read."""

from collections.abc import Sequence
from typing import Any


def drawn_graph(graph: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Places and edges of nodes. A node stands one layer below the lowest of those that it reads."""
    maker = {name: node["name"] for node in graph for name in node["outputs"]}
    layer: dict[str, int] = {}
    column: dict[str, float] = {}
    taken: dict[int, list[float]] = {}
    edges = []
    for node in graph:
        sources = [maker[name] for name in node["inputs"] if name in maker]
        edges += [[source, node["name"]] for source in dict.fromkeys(sources)]
        known = [source for source in sources if source in layer]
        row = layer[node["name"]] = 1 + max((layer[source] for source in known), default=-1)
        wish = sum(column[source] for source in known) / len(known) if known else 0.0
        column[node["name"]] = _free(wish, taken.setdefault(row, []))
    places = [{"name": n["name"], "x": column[n["name"]], "y": layer[n["name"]]} for n in graph]
    return {"nodes": places, "edges": edges}


def _free(wish: float, taken: list[float]) -> float:
    """The place nearest to the wish that is at least 1 from all others of the row."""
    candidates = [wish, *(place + side for place in taken for side in (-1.0, 1.0))]
    found = min((c for c in candidates if all(abs(c - t) >= 1 for t in taken)), key=lambda c: abs(c - wish))
    taken.append(found)
    return found
