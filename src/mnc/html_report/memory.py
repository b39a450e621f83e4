"""When a memory is fullest, and what it holds then."""

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

LISTED = 40
"""How many tensors of a peak are listed; the rest is one line."""


def peaks(buffers: Sequence[dict[str, Any]], memories: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Of every memory its fullest step, the long words in use then, and the tensors that they belong to, largest
    first."""
    by_memory: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for buffer in buffers:
        by_memory[buffer["memory"]].append(buffer)
    return {name: _peak(own, memories[name]["longs"]) for name, own in by_memory.items() if name in memories}


def usage(buffers: Sequence[dict[str, Any]]) -> list[tuple[int, int]]:
    """Steps at which the use of a memory changes, and the long words in use from then on."""
    changes: dict[int, int] = defaultdict(int)
    for buffer in buffers:
        changes[buffer["first"]] += buffer["size"]
        changes[max(buffer["last"], buffer["first"] + 1)] -= buffer["size"]
    used, found = 0, []
    for step in sorted(changes):
        used += changes[step]
        found.append((step, used))
    return found


def _peak(buffers: Sequence[dict[str, Any]], capacity: int) -> dict[str, Any]:
    step, used = max(usage(buffers), key=lambda pair: pair[1])
    alive = [b for b in buffers if b["first"] <= step < max(b["last"], b["first"] + 1)]
    alive.sort(key=lambda b: -b["size"])
    shown = [{"tensor": b["tensor"], "size": b["size"], "nodes": b["nodes"][:4]} for b in alive[:LISTED]]
    rest = sum(b["size"] for b in alive[LISTED:])
    if rest:
        shown.append({"tensor": f"{len(alive) - LISTED} more", "size": rest, "nodes": []})
    return {"step": step, "used": used, "capacity": capacity, "tensors": shown}
