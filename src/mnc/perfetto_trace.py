"""A program in time as a trace for Perfetto (ui.perfetto.dev): a track for every unit and MV path, memory as counters.

The package ``perfetto`` (extra ``trace``) brings the format. Long programs are bounded: where there would be more than
`MOST` slices, those of a bucket of steps become one, named by what it holds first.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, Any

from mnc.core.diagnostics import CompileError
from mnc.core.files import whole_file
from mnc.html_report.memory import usage
from mnc.html_report.timeline import timeline
from mnc.mncore_backend.assembly import parse_program
from mnc.mncore_backend.target import CYCLES_PER_STEP, chip
from mnc.record.replay import replay

MOST = 400_000
"""Slices of a trace: some 30 MB."""
_SEQUENCE, _ROOT = 1, 1
_LONGEST_NAME = 120

Slice = tuple[int, int, str]
"""First step, step behind the last one, name."""


def _nanoseconds(step: int) -> int:
    return round(step * CYCLES_PER_STEP * 1e9 / chip().clock_hz)


def tracks(
    text: str, record: dict[str, Any] | None, most: int = MOST, source: str = "<program>"
) -> list[tuple[str, list[Slice]]]:
    """Names of units and paths with their slices, at most `most` together."""
    statements = parse_program(text, source)
    lines = record["lines"] if record else [[] for _ in statements]
    kernels = {kernel["number"]: " + ".join(kernel["nodes"]) for kernel in record["kernels"]} if record else {}
    drawn = timeline(replay(statements), lines, join=False)
    owners = [", ".join(dict.fromkeys(kernels.get(o, str(o)) for o in own)) for own in drawn["owners"]]
    program = text.splitlines()
    rows = [(row["name"], list(_slices(row, owners, program))) for row in drawn["rows"]]
    width = 1
    while sum(len(slices) for _, slices in rows) > most:
        width *= 2
        rows = [(name, list(_joined(slices, width))) for name, slices in rows]
    return rows


def _slices(row: dict[str, Any], owners: Sequence[str], program: Sequence[str]) -> Iterator[Slice]:
    start = 0
    for distance, length, owner, line in zip(row["start"], row["length"], row["owner"], row["line"], strict=True):
        start += distance
        name = f"{owners[owner]}: {program[line]}" if owners[owner] else program[line]
        shown: str = str(name)[:_LONGEST_NAME]
        yield start, start + length, shown


def _joined(slices: Sequence[Slice], width: int) -> Iterator[Slice]:
    """One slice for those that begin in one bucket of steps."""
    current: Slice | None = None
    for first, last, name in slices:
        if current is not None and current[0] // width == first // width:
            current = current[0], max(current[1], last), current[2]
            continue
        if current is not None:
            yield current
        current = first, last, name
    if current is not None:
        yield current


def write_trace(
    path: Path, text: str, record: dict[str, Any] | None, most: int = MOST, source: str = "<program>"
) -> None:
    """Write a trace of a program; `record` names nodes and fills the counters. Raises CompileError."""
    builder = trace_builder()
    with whole_file(path, "choose another file") as file:
        _Writer(file, builder).write(tracks(text, record, most, source), record)


def trace_builder() -> Any:
    """The class that writes traces; raises CompileError where its package is not installed."""
    try:
        from perfetto.trace_builder.proto_builder import StreamingTraceProtoBuilder
    except ImportError:
        hint = "pip install 'mnc[trace]'"
        raise CompileError("traces need the package 'perfetto', which is not installed", hint=hint) from None
    return StreamingTraceProtoBuilder


class _Writer:
    def __init__(self, file: IO[bytes], builder: Any) -> None:
        self._builder = builder(file)
        self._names: dict[str, int] = {}

    def write(self, rows: list[tuple[str, list[Slice]]], record: dict[str, Any] | None) -> None:
        self._start()
        for number, (name, slices) in enumerate(rows, _ROOT + 1):
            self._track(number, name)
            for first, last, title in slices:
                self._slice(number, first, last, title)
        buffers = record["buffers"] if record else []
        memories = list(dict.fromkeys(buffer["memory"] for buffer in buffers))
        for number, memory in enumerate(memories, _ROOT + len(rows) + 1):
            self._track(number, f"{memory} long words", counter=True)
            for step, used in usage([b for b in buffers if b["memory"] == memory]):
                packet = self._event(number, step, 4)  # TYPE_COUNTER
                packet.track_event.counter_value = used
                self._builder.write_packet(packet)

    def _start(self) -> None:
        packet = self._packet()
        packet.sequence_flags = 1  # SEQ_INCREMENTAL_STATE_CLEARED
        packet.track_descriptor.uuid = _ROOT
        packet.track_descriptor.name = "MN-Core 2"
        packet.track_descriptor.child_ordering = 3  # EXPLICIT
        self._builder.write_packet(packet)

    def _packet(self) -> Any:
        packet = self._builder.create_packet()
        packet.trusted_packet_sequence_id = _SEQUENCE
        return packet

    def _track(self, number: int, name: str, *, counter: bool = False) -> None:
        packet = self._packet()
        descriptor = packet.track_descriptor
        descriptor.uuid, descriptor.parent_uuid, descriptor.name = number, _ROOT, name
        descriptor.sibling_order_rank = number
        if counter:
            descriptor.counter.SetInParent()
        self._builder.write_packet(packet)

    def _event(self, track: int, step: int, kind: int) -> Any:
        packet = self._packet()
        packet.timestamp = _nanoseconds(step)
        packet.sequence_flags = 2  # SEQ_NEEDS_INCREMENTAL_STATE
        packet.track_event.track_uuid, packet.track_event.type = track, kind
        return packet

    def _slice(self, track: int, first: int, last: int, name: str) -> None:
        packet = self._event(track, first, 1)  # TYPE_SLICE_BEGIN
        known = name in self._names
        number = self._names.setdefault(name, len(self._names) + 1)
        packet.track_event.name_iid = number
        if not known:
            packet.interned_data.event_names.add(iid=number, name=name)
        self._builder.write_packet(packet)
        self._builder.write_packet(self._event(track, last, 2))  # TYPE_SLICE_END
