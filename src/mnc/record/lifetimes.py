"""Which part of which memory holds what, and from when to when."""

from collections.abc import Mapping, Sequence
from typing import Any

from mnc.core.diagnostics import NODE_SEPARATOR
from mnc.mncore_backend.assembly.accesses import Access
from mnc.mncore_backend.assembly.mv_accesses import transfer_accesses
from mnc.mncore_backend.assembly.records import Memory, Transfer
from mnc.mncore_backend.program import Buffer, BufferOperand, MachineOp
from mnc.mncore_backend.target import chip
from mnc.record.replay import Replay

SHOWN = (
    Memory.LM0, Memory.LM1, Memory.GRF0, Memory.GRF1, Memory.L1BM, Memory.L2BM, Memory.PDM, Memory.DRAM
)  # fmt: skip
"""Memories of which pictures are drawn."""


def capacities() -> dict[str, dict[str, Any]]:
    """Long words of one copy of every memory of `SHOWN`, and whose copy it is."""
    shown = {memory.name: chip().memories[memory] for memory in SHOWN}
    return {name: {"longs": facts.longs, "of": facts.level} for name, facts in shown.items()}


def buffer_lives(
    lines: Sequence[Sequence[MachineOp]], replay: Replay, holds: Mapping[str, Mapping[str, Any]]
) -> list[dict[str, Any]]:
    """Every buffer below DRAM: name, what it holds, memory, base and size in long words, first and last step of use,
    and the nodes that use it. `lines` are the operations of every line, `holds` what selection knows of buffers."""
    first: dict[Buffer, int] = {}
    last: dict[Buffer, int] = {}
    nodes: dict[Buffer, dict[str, None]] = {}
    for event, operations in zip(replay.events, lines, strict=True):
        movement = replay.movements.get(event.line)
        end = movement.finish if movement is not None else event.start + event.steps
        for op in operations:
            for operand in (*op.sources, *op.destinations):
                if not isinstance(operand, BufferOperand):
                    continue
                buffer = operand.buffer
                first.setdefault(buffer, event.start)
                last[buffer] = max(last.get(buffer, 0), end)
                nodes.setdefault(buffer, {}).update(dict.fromkeys(op.location.split(NODE_SEPARATOR)))
    found = []
    for buffer, start in first.items():
        if buffer.memory is None or buffer.base is None or buffer.memory is Memory.DRAM:
            continue
        known = holds.get(buffer.name, {})
        used_by = [name for name in nodes[buffer] if name]
        found.append(
            {
                "name": buffer.name,
                "tensor": _title(buffer, known, used_by),
                "memory": buffer.memory.name,
                "base": buffer.base,
                "size": buffer.size,
                "first": 0 if buffer.pinned else start,
                "last": replay.end if buffer.pinned else last[buffer],
                "nodes": used_by,
            }
        )
    return found


def _title(buffer: Buffer, known: Mapping[str, Any], used_by: Sequence[str]) -> str:
    """What people know the content by."""
    if known.get("tensor"):
        return f"{known['tensor']} {known['shape']}"
    if known.get("by"):
        return f"{NODE_SEPARATOR.join(known['by'])} {known['shape']}"
    return f"{buffer.name} of {used_by[0]}" if used_by else buffer.name


def host_lives(tensors: Sequence[Any], replay: Replay) -> list[dict[str, Any]]:
    """The tensors that the host writes and reads, in DRAM: an input or constant is wanted until it has been read for
    the last time, an output holds something from the first time on that it is written."""
    touched: list[tuple[int, int, int, int, bool]] = []
    for line, movement in replay.movements.items():
        statement = replay.events[line].statement
        assert isinstance(statement, Transfer)
        for access in transfer_accesses(statement):
            if access.memory is Memory.DRAM:
                touched += [(*span, movement.issued, movement.finish, access.write) for span in _spans(access)]
    return [entry for tensor in tensors for entry in _host_entries(tensor, touched, replay.end)]


def _spans(access: Access) -> Sequence[tuple[int, int]]:
    return access.cycles[0]


def _host_entries(
    tensor: Any, touched: Sequence[tuple[int, int, int, int, bool]], end: int
) -> list[dict[str, Any]]:
    found = []
    for offset, part in tensor.image.parts:
        base, size = tensor.address + offset, part.stop - part.start
        if not size:
            continue
        own = [t for t in touched if t[0] < base + size and base < t[1]]
        if tensor.role == "output":
            start, stop = min((issued for *_, issued, _, write in own if write), default=end), end
        else:
            start, stop = 0, max((finish for *_, finish, write in own if not write), default=0)
        shape = "x".join(map(str, tensor.shape)) or "scalar"
        entry = {"name": tensor.name, "tensor": f"{tensor.name} {shape}", "memory": "DRAM", "base": base, "size": size}
        found.append({**entry, "first": start, "last": stop, "nodes": [], "role": tensor.role})
    return found
