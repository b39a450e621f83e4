"""What the planner emits for a movement, counted by unit."""

from collections import Counter

import numpy as np
from price_samples import Sample

from mnc.mncore_backend.assembly.isa import OPCODES, Unit
from mnc.mncore_backend.layout import Layout
from mnc.mncore_backend.movement.estimate import count
from mnc.mncore_backend.movement.gather import plan_gather
from mnc.mncore_backend.movement.load import plan_load
from mnc.mncore_backend.movement.reduce import plan_reduce
from mnc.mncore_backend.movement.relayout import plan_relayout
from mnc.mncore_backend.movement.repeats import REPEATS
from mnc.mncore_backend.movement.scope import Index
from mnc.mncore_backend.movement.store import plan_store
from mnc.mncore_backend.placement.candidates.space import same_places
from mnc.mncore_backend.placement.candidates.windows import tile
from mnc.mncore_backend.pricing import Resources
from mnc.mncore_backend.program import LOCAL_MEMORY, Buffer, Builder, MachineOp, Program
from mnc.mncore_backend.target import chip

_UNITS = {Unit.L1BM: "l1bm", Unit.L2BM: "l2bm", Unit.ALU: "alu"}


def resources_of(operations: list[MachineOp]) -> Resources:
    """Steps of operations by unit; their sum is `Cost.total_steps`."""
    cost = count(operations)
    units = Counter(_UNITS.get(OPCODES[op.opcode].unit, "mau") for op in operations if not op.is_transfer)
    return Resources(mv=cost.transfer_steps, latency=cost.in_turn * chip().mv_latency_steps, **units)


def measured(sample: Sample) -> Resources:
    """What the planner emits for a sample, without anything that it remembers."""
    REPEATS.forget()
    builder = Builder(Program())
    _WAYS[sample.kind](builder, sample)
    return resources_of(builder.program.operations)


def _buffer(builder: Builder, layout: Layout) -> Buffer:
    return builder.program.buffer("held", layout.local_size, LOCAL_MEMORY)


def _relayout(builder: Builder, sample: Sample) -> None:
    assert sample.target is not None
    ends = _buffer(builder, sample.source), _buffer(builder, sample.target)
    plan_relayout(builder, sample.source, ends[0], sample.target, ends[1])


def _tiling(builder: Builder, sample: Sample) -> None:
    """As `lowering.linalg_to_spmd` does it: a tensor goes where the tiles are before they are made."""
    windows, extents, digits, layout, places, _ = sample.tiled
    held = _buffer(builder, layout)
    if places is not None and not same_places(layout, places):
        moved = _buffer(builder, places)
        plan_relayout(builder, layout, held, places, moved)
        layout, held = places, moved
    tiled = tile(windows, extents, digits, sample.source.shape)
    ends = layout, held, tiled.layout, _buffer(builder, tiled.layout)
    plan_gather(builder, *ends, tiled.index_map, padding=0, fills=True)


def _joining(builder: Builder, sample: Sample) -> None:
    assert sample.target is not None
    assert sample.box is not None
    index_map = sample.box.index_map(sample.source.shape, sample.target.shape)
    _gather(builder, sample.source, sample.target, index_map, None)


def _reshaping(builder: Builder, sample: Sample) -> None:
    assert sample.target is not None
    _gather(builder, sample.source, sample.target, np.arange(sample.source.size), 0)


def _gather(builder: Builder, source: Layout, target: Layout, index_map: Index, padding: int | None) -> None:
    ends = _buffer(builder, source), _buffer(builder, target)
    plan_gather(builder, source, ends[0], target, ends[1], index_map, padding=padding)


def _reduction(builder: Builder, sample: Sample) -> None:
    ends = _buffer(builder, sample.source), _buffer(builder, sample.source)
    plan_reduce(builder, "sum", sample.source, ends[0], dict(sample.partial), ends[1])


def _arrival(builder: Builder, sample: Sample) -> None:
    plan_load(builder, sample.source, _buffer(builder, sample.source))


def _store(builder: Builder, sample: Sample) -> None:
    plan_store(builder, sample.source, _buffer(builder, sample.source))


_WAYS = {
    "relayout": _relayout, "joining": _joining, "reshaping": _reshaping, "tiling": _tiling, "reduction": _reduction,
    "arrival": _arrival, "store": _store,
}  # fmt: skip
