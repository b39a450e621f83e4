"""What a whole function needs, and what it costs, if only parts of its results are made at a time."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any

from mnc.core.bindings import ir
from mnc.core.diagnostics import CompileError
from mnc.lowering.linalg_to_spmd.demand import needs, whole
from mnc.lowering.linalg_to_spmd.reading import (
    body_work,
    extents_of,
    is_tensor,
    maps_of,
    read_generic,
    shape_of,
    splat_value,
)
from mnc.lowering.linalg_to_spmd.slices import Ranges
from mnc.mncore_backend.target import CYCLES_PER_STEP, chip

WORDS_PER_LONG = 2


def loaded_per_step() -> int:
    """Words that DRAM gives in a step."""
    return chip().dram_port_longs_per_cycle * chip().groups * CYCLES_PER_STEP * WORDS_PER_LONG


def _computed_per_step() -> int:
    """Words that one instruction of the vector units makes in a step."""
    return chip().pes * CYCLES_PER_STEP * WORDS_PER_LONG


MOVED = 256
"""Words of a result for which a program has one statement more, beside its arithmetic: they are moved from layout to
layout. Measured on products of 2,048 x 2,048, ResNet-50 and perceptrons: within a factor of two."""


@dataclass
class Demand:
    """What is needed for one part of every result.

    boxes      (value, its part), in the order in which they were first asked for
    arguments  the same for arguments of the function
    steps      steps that the arithmetic takes at the peak of the machine
    size       steps that a program for it will have, roughly
    loaded     words of arguments, constants and results that pass the DRAM port
    """

    boxes: dict[tuple[Any, Ranges], None] = field(default_factory=dict)
    arguments: dict[tuple[Any, Ranges], None] = field(default_factory=dict)
    steps: float = 0.0
    size: float = 0.0
    loaded: int = 0


def demand_of(
    results: Sequence[tuple[Any, Ranges]], *, alone: bool = False, known: dict[Any, float] | None = None
) -> Demand | None:
    """What parts of results need, or only (`alone`) what the operations need that make them; None where that is no box,
    or a part of a constant, and those differ. `known`: steps of whole operations, which several calls may share."""
    demand = Demand()
    known = {} if known is None else known
    waiting = list(reversed(results))
    while waiting:
        value, box = waiting.pop()
        if (value, box) in demand.boxes:
            continue
        demand.boxes[value, box] = None
        below = _below(demand, value, box, known)
        if below is None:
            return None
        waiting += [] if alone else reversed(below)
    demand.loaded += sum(_size(box) for _, box in results)
    return demand


def _below(demand: Demand, value: Any, box: Ranges, known: dict[Any, float]) -> list[tuple[Any, Ranges]] | None:
    """Counts what makes a part of a value; returns what it needs itself."""
    if isinstance(value.owner, ir.Block):
        demand.arguments[value, box] = None
        demand.loaded += _size(box)
        return []
    op = value.owner
    if op.name in ("tensor.empty", "linalg.fill") or splat_value(value) is not None:
        return []
    if op.name == "arith.constant":
        demand.loaded += _size(box)
        return [] if box == whole(value) else None
    if _reads_outside(op):
        return None
    if box != whole(value) and (len(op.results) > 1 or needs(op, box) is None):
        return None
    operands = needed(op, box)
    if op not in known:
        known[op] = _steps(op)
    steps = known[op] * _size(box) / max(1, prod(shape_of(value)))
    demand.steps += steps
    demand.size += steps + _size(box) / MOVED
    return list(operands.values())


def needed(op: Any, box: Ranges) -> dict[int, tuple[Any, Ranges]]:
    """Tensors among the operands, by number, with the part of each from which a part of the result follows: all of it
    where no box says less."""
    parts = needs(op, box) if len(op.results) == 1 else None
    tensors = {i: operand for i, operand in enumerate(op.operands) if is_tensor(operand)}
    return {i: (v, whole(v) if parts is None else parts[i]) for i, v in tensors.items()}


def _size(box: Ranges) -> int:
    return prod(size for _, size in box)


def _reads_outside(op: Any) -> bool:
    """Whether the body of an operation uses tensors that are not among its operands."""
    return any(is_tensor(value) for region in op.regions for value in _read_in(region))


def _read_in(region: Any) -> Iterator[Any]:
    for block in region.blocks:
        for inner in block.operations:
            yield from inner.operation.operands
            for below in inner.operation.regions:
                yield from _read_in(below)


def _is_contraction(op: Any) -> bool:
    """Whether the matrix units do an operation; of what is not in a form to be read yet, nothing is known."""
    try:
        return read_generic(op.opview).kind == "contraction"
    except CompileError:
        return False


def _steps(op: Any) -> float:
    """Steps that an operation takes at the peak of the units that do it."""
    if op.name != "linalg.generic":
        return 0.0
    points = prod(extents_of(op, maps_of(op), list(op.operands), maps_of(op)[0].n_dims))
    if _is_contraction(op):
        return points / (chip().peak_multiply_adds() * CYCLES_PER_STEP)
    return points * body_work(op) / _computed_per_step()
