"""From what was recorded during a compilation, and the program it led to, a record."""


from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from mnc.core.recording import Decision, Recording
from mnc.executable import Executable
from mnc.mncore_backend.assembly import parse_program
from mnc.mncore_backend.program import Buffer, BufferOperand, MachineOp, kernel_of_origin
from mnc.record.attribution import Owner, by_node, shares
from mnc.record.lifetimes import buffer_lives, capacities, host_lives
from mnc.record.loops import loops_of
from mnc.record.origins import operations_of_lines
from mnc.record.recorder import ALLOCATED, FUSED, KERNELS, LAYOUTS
from mnc.record.replay import Replay, replay

FORMAT = 1


def make_record(executable: Executable, recording: Recording, model: Any = None, title: str = "") -> dict[str, Any]:
    """Plain values for ``record.json.gz``; `model` is the ONNX model, of which names and edges are kept."""
    statements = parse_program(executable.text)
    times = replay(statements)
    notes: dict[str, Any] = {}
    for attempt in recording.relevant:
        notes |= attempt.notes
    program = notes.get(ALLOCATED)
    operations = operations_of_lines(program.operations if program else (), statements)
    known = notes.get(KERNELS, {"kernels": [], "buffers": {}})
    owners = _owners(operations, executable.line_nodes, {kernel["number"] for kernel in known["kernels"]})
    kernels, nodes = _costs(times, owners, known["kernels"])
    graph = graph_of(model) if model is not None else []
    types = {entry["name"]: entry["type"] for entry in graph}
    return {
        "format": FORMAT,
        "title": title,
        "preferences": list(executable.preferences),
        "attempts": [a.label or "plain" for a in recording.attempts[1:] if len(a.passes) > 1],
        "passes": [{**entry, "attempt": a.label} for a in recording.relevant for entry in a.passes],
        "decisions": [_plain(decision) for a in recording.relevant for decision in a.decisions],
        "refusals": [line for a in recording.relevant for line in a.notes.get("refusals", ())],
        "fused": notes.get(FUSED, []),
        "layouts": notes.get(LAYOUTS, []),
        "kernels": kernels,
        "nodes": [{**node, "type": types.get(node["node"], "")} for node in nodes],
        "graph": graph,
        "memories": capacities(),
        "buffers": buffer_lives(operations, times, known["buffers"]) + host_lives(executable.tensors, times),
        "lines": [list(own) for own in owners],
        "loops": None if program is None else loops_of(program.operations, operations, times),
        "end": times.end,
    }


def _plain(decision: Decision) -> dict[str, Any]:
    return {**asdict(decision), "candidates": [asdict(candidate) for candidate in decision.candidates]}


def _owners(
    operations: Sequence[Sequence[MachineOp]], line_nodes: Sequence[str], numbers: Collection[int]
) -> list[list[Owner]]:
    """Kernels of every line, those that read what it brings where it is a transfer for several; where none is known,
    the nodes. `numbers` are those of all kernels."""
    readers: dict[Buffer, list[tuple[int, tuple[int, ...]]]] = {}  # offsets at which a buffer is read, and by whom
    result: list[list[Owner]] = []
    names = line_nodes or [""] * len(operations)
    for own, nodes in zip(reversed(operations), reversed(names), strict=True):
        kernels: dict[Owner, None] = {}
        for op in own:
            number = kernel_of_origin(op.location)
            who = tuple(dict.fromkeys(_who_reads(op, readers)))
            if number is not None and number in numbers:
                who = (number,)
            kernels |= dict.fromkeys(who)
            for source in op.sources:
                if isinstance(source, BufferOperand) and not source.buffer.is_pe_memory:
                    readers.setdefault(source.buffer, []).append((source.offsets[0], who))
        result.append(list(kernels) or ([nodes] if nodes else []))
    return result[::-1]


def _who_reads(op: MachineOp, readers: Mapping[Buffer, Sequence[tuple[int, tuple[int, ...]]]]) -> Iterator[int]:
    for target in op.destinations:
        if isinstance(target, BufferOperand):
            for offset, who in readers.get(target.buffer, ()):
                if target.offsets[0] <= offset < target.offsets[0] + op.size:
                    yield from who


def _costs(
    times: Replay, owners: Sequence[Sequence[Owner]], kernels: Sequence[dict[str, Any]]
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    found = shares(times, owners)
    nodes_of: dict[Owner, list[str]] = {kernel["number"]: kernel["nodes"] for kernel in kernels}
    named = [{**kernel, **found[kernel["number"]].as_dict()} for kernel in kernels if kernel["number"] in found]
    nodes = [{"node": name, **share.as_dict()} for name, share in by_node(found, nodes_of).items()]
    return named, sorted(nodes, key=lambda node: -node["cycles"])


def graph_of(model: Any) -> list[dict[str, Any]]:
    """Nodes of an ONNX model by the names that the compiler gives them, with their type, inputs and outputs."""
    return [
        {
            "name": node.name or f"{node.op_type}_{index}",
            "type": node.op_type,
            "inputs": [name for name in node.input if name],
            "outputs": [name for name in node.output if name],
        }
        for index, node in enumerate(model.graph.node)
    ]




__all__ = ["FORMAT", "graph_of", "make_record"]
