"""Costs of nodes with all that is known of them: the figures of the report, operators and bounds of the record."""

from collections.abc import Mapping
from typing import Any


def node_costs(costs: Mapping[str, Any], record: Mapping[str, Any]) -> list[dict[str, Any]]:
    """A row per node, the most expensive first. `costs` is the report of the program: pages, explanations and
    ``report.json`` give the same figures."""
    known = {row["node"]: row for row in record["nodes"]}
    rows = []
    for row in costs["nodes"]:
        own = known.get(row["node"], {"type": "", "bound": "", "bound_cycles": 0, "dram_bytes": 0})
        share = min(1.0, own["bound_cycles"] / row["cycles"]) if row["cycles"] else 0.0
        waits = [[wait["line"], wait["cycles"]] for wait in row["waits"]]
        rows.append({**own, **row, "waits": waits, "share_of_bound": share})
    return rows
