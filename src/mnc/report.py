"""What a compiled program costs: `report.json` and the lines that commands print.

The schema of the report is `docs/report.schema.json`.
"""

from typing import Any

from rich.console import Console
from rich.table import Table

from mnc.core.diagnostics import NODE_SEPARATOR
from mnc.executable import Executable
from mnc.mncore_backend.assembly import parse_program
from mnc.mncore_backend.cost import cost_of
from mnc.mncore_backend.machine import LONG_BYTES

FORMAT = 1


def _total(cost: Any) -> dict[str, Any]:
    plain = cost.as_dict()
    plain.pop("nodes")
    roofline = {
        "cycles": plain.pop("roofline_cycles"),
        "bound": plain.pop("bound"),
        "compute_cycles": plain.pop("compute_limit_cycles"),
        "dram_cycles": plain.pop("dram_limit_cycles"),
        "utilisation": plain.pop("utilisation"),
    }
    return {**plain, "dram_bytes": plain["dram_long_words"] * LONG_BYTES, "roofline": roofline}


def _host_tensors(executable: Executable) -> list[dict[str, Any]]:
    return [
        {
            "name": tensor.name,
            "role": tensor.role,
            "elements": tensor.elements,
            "dram_long_words": tensor.image.total,
        }
        for tensor in executable.tensors
    ]


def report(executable: Executable) -> dict[str, Any]:
    """Exact steps, transfers and DRAM traffic, cycles by the timing model, and the roofline; in total and per node.

    ``preferences`` are those about layouts that made it the shortest, or that were asked for. ``host_arranged`` lists
    the tensors whose DRAM image the host prepares or reads in the order the program wants.
    """
    nodes = [set(names.split(NODE_SEPARATOR)) for names in executable.line_nodes]
    cost = cost_of(parse_program(executable.text), nodes or None)
    return {
        "format": FORMAT,
        "preferences": list(executable.preferences),
        "total": _total(cost),
        "nodes": cost.as_dict()["nodes"],
        "host_arranged": _host_tensors(executable),
    }


def statistics_line(statistics: Any) -> str:
    """One line about a run on the emulator."""
    return (
        f"{statistics.steps} steps, {statistics.cycles} cycles, {statistics.mv_transfers} MV transfers, "
        f"{statistics.stall_cycles} cycles stalled"
    )


def print_summary(costs: dict[str, Any], title: str) -> None:
    """The totals and the costliest nodes, for people."""
    total, console = costs["total"], Console()
    roofline = total["roofline"]
    table = Table("cost", "value", title=title, title_justify="left")
    table.add_row("steps", f"{total['steps']:,} ({total['idle_steps']:,} idle)")
    table.add_row("cycles", f"{total['cycles']:,} = {total['seconds'] * 1e6:.3g} us at the machine's clock")
    table.add_row("MV transfers", f"{total['mv_transfers']:,}")
    table.add_row("DRAM traffic", f"{total['dram_bytes']:,} bytes = {total['dram_long_words']:,} long words")
    limits = f"compute {roofline['compute_cycles']:,.0f}, DRAM {roofline['dram_cycles']:,.0f}"
    table.add_row("layouts", ", ".join(costs["preferences"]) or "plain")
    table.add_row("roofline", f"{roofline['cycles']:,.0f} cycles ({limits}), {roofline['utilisation']:.1%} reached")
    console.print(table)


def report_text(costs: dict[str, Any]) -> str:
    """The totals and a line per node, as plain text."""
    total = costs["total"]
    roofline = total["roofline"]
    lines = [
        f"{total['steps']} steps, {total['cycles']} cycles, {total['mv_transfers']} MV transfers, "
        f"{total['dram_long_words']} DRAM long words",
        f"roofline {roofline['cycles']:.0f} cycles ({roofline['bound']}), {roofline['utilisation']:.1%} reached",
    ]
    for node in costs["nodes"]:
        shares = f"{node['steps']:10.1f} steps {node['mv_transfers']:5} MVs {node['dram_long_words']:8} DRAM long words"
        lines.append(f"{shares}  {node['node']}")
    return "\n".join(lines)
