"""What a node, a step or a tensor of a program is about."""

import difflib
from collections.abc import Iterable
from typing import Any

from mnc.core.diagnostics import NODE_SEPARATOR, CompileError
from mnc.executable import Executable
from mnc.mncore_backend.assembly import parse_program
from mnc.record.costs import node_costs
from mnc.record.replay import ISSUE, Event, Replay, replay

SHOWN = 8
KINDS = {
    "dl": "load", "ul": "store", "matmul": "matrix product", "loops": "loop nest", "relayout": "change of layout",
    "reduce": "reduction", "fill_padding": "fill of padding", "lookup": "look-up", "spill": "store until needed",
}  # fmt: skip
"""Kernels by the names of their operations, in words; what is absent is called as it is."""


def unknown(kind: str, name: str, known: Iterable[str]) -> CompileError:
    """The error for a name that the program does not have."""
    names = list(known)
    close = difflib.get_close_matches(name, names, 3)
    hint = f"did you mean {', '.join(close)}?" if close else f"there are {', '.join(names[:SHOWN]) or 'none'}"
    return CompileError(f"there is no {kind} '{name}'", hint=hint)


def graph_node(record: dict[str, Any], name: str) -> dict[str, Any]:
    """The node of this name; raises CompileError."""
    found = next((node for node in record["graph"] if node["name"] == name), None)
    if found is None:
        raise unknown("node", name, [node["name"] for node in record["graph"]])
    return found


def kernel_title(kernel: dict[str, Any]) -> str:
    """A loop nest, product or movement in a few words."""
    extents = " " + "x".join(map(str, kernel["extents"])) if "extents" in kernel else ""
    tensor = f" of {kernel['tensor']}" if kernel.get("tensor") else ""
    nodes = NODE_SEPARATOR.join(kernel["nodes"])
    kind = KINDS.get(kernel["kind"], kernel["kind"])
    return f"{kind}{extents}{tensor}{f' for {nodes}' if nodes else ''}"


def explain_node(record: dict[str, Any], costs: dict[str, Any], text: str, name: str) -> list[str]:
    """Costs, waits, fusion, layouts and kernels of a node; `costs` is the report of the program."""
    node = graph_node(record, name)
    lines = [f"{name} ({node['type']}): {', '.join(node['inputs'])} -> {', '.join(node['outputs'])}"]
    cost = next((row for row in node_costs(costs, record) if row["node"] == name), None)
    if cost is None:
        return [*lines, "costs nothing: it was computed when compiling, simplified away, or moves no data"]
    total = costs["total"]["cycles"] or 1
    lines.append(
        f"{cost['cycles']:,.0f} cycles ({cost['cycles'] / total:.1%}): {cost['steps']:,.1f} steps of work, "
        f"{cost['idle_steps']:,.1f} idle steps, {cost['stall_cycles']:,.0f} cycles stalled; "
        f"the MAU works in {cost['mau_steps']:,.1f} steps"
    )
    if cost["bound"]:
        kind = "matrix steps" if cost["bound"] == "compute" else "DRAM transfers"
        share = f"{cost['share_of_bound']:.1%} of its cycles"
        lines.append(f"its own {kind} need {cost['bound_cycles']:,.0f} cycles at least, {share}")
    program = text.splitlines()
    waits = cost["waits"]
    lines += [f"waits {cycles:,.0f} cycles for line {line}: {program[line - 1]}" for line, cycles in waits[:SHOWN]]
    if rest := waits[SHOWN:]:
        lines.append(f"waits {sum(cycles for _, cycles in rest):,.0f} cycles for {len(rest)} other lines")
    own = [set(nodes) for nodes in record["fused"] if name in nodes]
    for nodes in record["fused"]:
        if name in nodes and not any(set(nodes) < other for other in own):
            lines.append(f"runs as one with: {NODE_SEPARATOR.join(n for n in nodes if n != name)}")
    for layout in record["layouts"]:
        if name in layout["nodes"]:
            lines += _layout_lines(layout)
    kernels = [kernel for kernel in record["kernels"] if name in kernel["nodes"]]
    lines += [f"kernel {k['number']}: {kernel_title(k)}, {k['cycles']:,.0f} cycles" for k in kernels]
    return lines


def _layout_lines(layout: dict[str, Any]) -> list[str]:
    reads = [
        f"  reads {o['of']} {o['shape']} {o['layout'] or 'in tiles, made where they are used'}"
        for o in layout["operands"]
    ]
    result = f"gives {layout['shape']} {layout['result']} in {layout['precision']}"
    return [result, *reads]


def explain_step(executable: Executable, record: dict[str, Any], step: int) -> list[str]:
    """What is issued in a step, for whom, what stops it, and which transfers run meanwhile."""
    times = replay(parse_program(executable.text, executable.source))
    if not 0 <= step <= times.end:
        raise CompileError(f"there is no step {step}", hint=f"the program takes steps 0 to {times.end}")
    program = executable.text.splitlines()
    kernels = {kernel["number"]: kernel for kernel in record["kernels"]}
    lines = []
    for event in times.events:
        if event.start - event.stall <= step <= max(event.start, event.start + event.steps - 1):
            lines += _event_lines(event, program)
            for owner in record["lines"][event.line]:
                lines.append(f"  for {kernel_title(kernels[owner]) if owner in kernels else owner}")
    title = f"step {step} of {times.end}"
    return [title, *(lines or ["nothing is issued any more"]), *_running(times, step, program)]


def _event_lines(event: Event, program: list[str]) -> list[str]:
    text = f"line {event.line + 1}, issued in step {event.start}: {program[event.line]}"
    if not event.stall:
        return [text]
    reason = "MVs are issued with a distance"
    if event.awaited is not None and event.awaited != ISSUE:
        reason = f"waits for line {event.awaited + 1}: {program[event.awaited]}"
    return [text, f"  stalled in steps {event.start - event.stall} to {event.start - 1}: {reason}"]


def _running(times: Replay, step: int, program: list[str]) -> list[str]:
    return [
        f"running: line {m.line + 1}, {m.path}, data in steps {m.start} to {m.end}, finished at {m.finish}: "
        + program[m.line]
        for m in times.movements.values()
        if m.issued <= step < m.finish
    ]


def explain_tensor(record: dict[str, Any], name: str) -> list[str]:
    """Who makes and reads a tensor, its layouts, and the places that hold it."""
    maker = next((node for node in record["graph"] if name in node["outputs"]), None)
    readers = [node["name"] for node in record["graph"] if name in node["inputs"]]
    own = [buffer for buffer in record["buffers"] if _title(buffer) == name]
    if maker is None and not readers and not own:
        names = [n for node in record["graph"] for n in (*node["inputs"], *node["outputs"])]
        raise unknown("tensor", name, dict.fromkeys(names))
    made = f"made by {maker['name']} ({maker['type']})" if maker else "comes from outside"
    lines = [f"{name}: {made}, read by {', '.join(readers) or 'nobody'}"]
    for layout in record["layouts"]:
        if maker and layout["nodes"] and layout["nodes"][-1] == maker["name"]:
            lines.append(f"layout {layout['shape']} {layout['result']}")
        lines += [f"layout where {NODE_SEPARATOR.join(layout['nodes'])} reads it: {o['layout']}"
                  for o in layout["operands"] if o["of"] == name and o["layout"]]  # fmt: skip
    if maker:
        results = [b for b in record["buffers"] if _title(b).split(NODE_SEPARATOR)[-1] == maker["name"]]
        own += [buffer for buffer in results if buffer not in own]
    lines += [_place(buffer) for buffer in own]
    return lines


def _title(buffer: dict[str, Any]) -> str:
    """What a buffer holds, without the shape."""
    return buffer["tensor"].rpartition(" ")[0]


def _place(buffer: dict[str, Any]) -> str:
    last = buffer["base"] + buffer["size"] - 1
    return (
        f"{buffer['memory']} {buffer['base']} to {last} ({buffer['size']} long words), "
        f"steps {buffer['first']} to {buffer['last']}: {buffer['tensor']}"
    )
