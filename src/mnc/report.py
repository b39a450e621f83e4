"""What a compiled program costs: `report.json` and the lines that commands print.

The schema of the report is `docs/report.schema.json`.
"""

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from mnc.core.diagnostics import NODE_SEPARATOR, one_line
from mnc.executable import Executable
from mnc.mncore_backend.codegen.report.ideal import Ideal
from mnc.mncore_backend.target import LONG_BYTES, named, use

if TYPE_CHECKING:
    from mnc.mncore_backend.codegen.report.cost import Cost

FORMAT = 2
LISTED = 10
"""Nodes that a summary names."""
LONGEST_NAME = 40


def _total(cost: "Cost") -> dict[str, Any]:
    plain = cost.as_dict()
    plain.pop("nodes")
    return {**plain, "dram_bytes": cost.dram_long_words * LONG_BYTES}


def _ideal(ideal: Ideal | None) -> dict[str, Any] | None:
    if ideal is None:
        return None
    return {**asdict(ideal), "dram_cycles": ideal.dram_cycles, "cycles": ideal.cycles, "bound": ideal.bound}


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
    """Exact steps, transfers and DRAM traffic, cycles by the timing model, in total and per node; and the work of the
    model, with the part of the cycles that it would take at best.

    ``preferences`` are those about layouts that made it the shortest, or that were asked for. ``host_arranged`` lists
    the tensors whose DRAM image the host prepares or reads in the order the program wants.
    """
    # Printing a report that was read needs neither of them.
    from mnc.mncore_backend.assembly import parse_program
    from mnc.mncore_backend.codegen.report.cost import cost_of

    apart = {names: set(names.split(NODE_SEPARATOR)) for names in set(executable.line_nodes)}
    nodes = [apart[names] for names in executable.line_nodes]
    with use(named(executable.machine)):
        cost = cost_of(parse_program(executable.text, executable.source), nodes or None)
        return _report(executable, cost)


def _report(executable: Executable, cost: "Cost") -> dict[str, Any]:
    ideal = executable.ideal
    return {
        "format": FORMAT,
        "ideal": _ideal(ideal),
        "of_ideal": None if ideal is None else ideal.share_of(cost.cycles),
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


def _ideal_text(costs: dict[str, Any]) -> str:
    """How close the program is to what the model needs at least."""
    ideal = costs["ideal"]
    if ideal is None:
        return "not counted"
    limits = f"compute {_few(ideal['compute_cycles'])}, DRAM {_few(ideal['dram_cycles'])}"
    return f"{costs['of_ideal']:.1%}; at best {_few(ideal['cycles'])} cycles ({limits})"


def _few(cycles: float) -> str:
    """Cycles in whole numbers; those of the smallest models with two digits, where rounding would leave nothing."""
    return f"{cycles:,.0f}" if cycles >= 10 else f"{cycles:.2g}"


def _cycles_text(node: dict[str, Any]) -> str:
    """What the cycles of a node are made of."""
    stall = f", {node['stall_cycles']:,.0f} cycles stalled" if node["stall_cycles"] else ""
    longest = f" (longest in line {node['waits'][0]['line']})" if node["waits"] else ""
    return f"{node['steps']:,.1f} steps, {node['idle_steps']:,.1f} idle steps{stall}{longest}"


def print_summary(costs: dict[str, Any], title: str) -> None:
    """The totals and the most expensive nodes, for people."""
    total, console = costs["total"], Console()
    table = Table("cost", "value", title=Text(title, "italic"), title_justify="left")
    table.add_row("steps", f"{total['steps']:,} ({total['idle_steps']:,} idle)")
    table.add_row("cycles", f"{total['cycles']:,} = {total['seconds'] * 1e6:.3g} us at the machine's clock")
    table.add_row("MV transfers", f"{total['mv_transfers']:,}")
    table.add_row("DRAM traffic", f"{total['dram_bytes']:,} bytes = {total['dram_long_words']:,} long words")
    table.add_row("layouts", ", ".join(costs["preferences"]) or "plain")
    table.add_row("of the ideal", _ideal_text(costs))
    console.print(table)
    if not costs["nodes"]:
        return
    listed = Table()
    listed.add_column("node", overflow="fold")
    for title in ("cycles", "share", "steps", "idle\nsteps", "stalled\ncycles", "longest\nwait"):
        listed.add_column(title, justify="right", no_wrap=True)
    for node in costs["nodes"][:LISTED]:
        share = node["cycles"] / max(1, total["cycles"])
        listed.add_row(Text(_shortened(node["node"])), f"{node['cycles']:,.0f}", f"{share:.1%}", *_parts(node))
    console.print(listed)
    if (rest := len(costs["nodes"]) - LISTED) > 0:
        console.print(f"and {rest} more {'node' if rest == 1 else 'nodes'} in report.json", highlight=False)


def _parts(node: dict[str, Any]) -> tuple[str, str, str, str]:
    """Cells for what the cycles of a node are made of: steps, idle steps, stalled cycles, line of the longest wait."""
    longest = f"line {node['waits'][0]['line']}" if node["waits"] else ""
    return f"{node['steps']:,.1f}", f"{node['idle_steps']:,.1f}", f"{node['stall_cycles']:,.0f}", longest


def _shortened(name: str) -> str:
    name = one_line(name, len(name))
    return name if len(name) <= LONGEST_NAME else f"...{name[3 - LONGEST_NAME :]}"


def report_text(costs: dict[str, Any]) -> str:
    """The totals and a line per node, as plain text."""
    total = costs["total"]
    lines = [
        f"{total['steps']} steps, {total['cycles']} cycles, {total['mv_transfers']} MV transfers, "
        f"{total['dram_long_words']} DRAM long words",
        f"of the ideal: {_ideal_text(costs)}",
    ]
    for node in costs["nodes"]:
        lines.append(f"{node['cycles']:10.1f} cycles  {one_line(node['node'])}: {_cycles_text(node)}")
    return "\n".join(lines)
