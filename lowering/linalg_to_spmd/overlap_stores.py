"""overlap-stores: large convolutions from DRAM to DRAM are cut in a few parts: one is stored while the next arrives.

before:  %y = bias(convolution(%x, %w))                                  (%y is 8x64x56x56, and nobody here reads it)
after:   %y0 = bias(convolution(%x[0:4], %w)); %y1 = bias(convolution(%x[4:8], %w))
         %y = tensor.concat dim(0) %y0, %y1

The last operation of a chain is cut along a dimension of the result: images of a batch, or rows with the neighbours
that windows reach. Each part has a copy of the weights, which come once more. What that costs, and what it hides,
decides.
"""

from dataclasses import dataclass, replace
from math import inf, prod
from typing import Any, Literal

from mnc.core.bindings import ir
from mnc.core.modules import functions_of
from mnc.core.pass_base import Pass
from mnc.lowering.linalg_to_spmd.demand import iteration_ranges, needs, whole
from mnc.lowering.linalg_to_spmd.factors import factor_of
from mnc.lowering.linalg_to_spmd.part_writing import part_of, write_part
from mnc.lowering.linalg_to_spmd.reading import Generic, is_tensor, read_generic, shape_of, splat_value
from mnc.lowering.linalg_to_spmd.rearranging import LARGE, RESHAPES
from mnc.lowering.linalg_to_spmd.slices import Ranges, equal_cuts, joined
from mnc.lowering.linalg_to_spmd.tiles import tiled_operands
from mnc.mncore_backend.placement.candidates import Contraction, Stages, Window, project, stages
from mnc.mncore_backend.placement.candidates.costs import arrival
from mnc.mncore_backend.placement.candidates.tiles import possible_tiles
from mnc.mncore_backend.placement.candidates.windows import tiled_layout
from mnc.mncore_backend.target import CYCLES_PER_STEP, chip

MOST_PARTS = 4
WORTH = 0.95
"""Share of the time without parts to which it has to fall: these are estimates."""
FILLING = 4
"""Part of the shorter stage of the first part that nothing hides."""
LEAVE_EARLY = 8
"""Parts in which results leave that do not wait for the last of what comes: as many as the kernel is cut into."""
def _words_per_step() -> int:
    """Words that DRAM takes in a step."""
    return 2 * chip().dram_port_longs_per_cycle * chip().groups * CYCLES_PER_STEP


@dataclass(frozen=True)
class OverlapStores(Pass):
    """Cut convolutions whose operands come from DRAM and whose result goes there, where that hides enough of the
    stores; where something stays on the chip between runs, none."""

    name = "overlap-stores"
    resident: Literal["nothing", "updates", "state", "batch"] = "nothing"

    def run(self, module: Any) -> None:
        """Rewrite every function of the module."""
        with module.context, ir.Location.unknown():
            for function in functions_of(module):
                if self.resident == "nothing":
                    for value in list(list(function.operation.regions[0].blocks[0].operations)[-1].operation.operands):
                        _cut(value)


def _cut(result: Any) -> None:
    """Compute a result of the function in parts, if that pays."""
    chain = _chain(result)
    if chain is None or prod(shape_of(result)) < LARGE:
        return
    stored = prod(shape_of(result)) / _words_per_step()
    before = _steps(chain, [whole(result)], stored)
    cuts = equal_cuts(shape_of(result), MOST_PARTS)
    choices = [(_steps(chain, boxes, stored), i, boxes) for i, boxes in enumerate(cuts)]
    if not choices or min(choices)[0] > WORTH * before:
        return
    op = result.owner
    with ir.InsertionPoint(op), op.location:
        total = joined(result.type, {box: _make(chain, result, box) for box in min(choices)[2]})
    result.replace_all_uses_with(total)
    for value in chain:
        value.owner.erase()


def _chain(result: Any) -> list[Any] | None:
    """What is computed on the way from an argument, through windows, to a result that nobody else reads, the last
    first; None if it is something else."""
    chain: list[Any] = []
    value, windows = result, False
    while not isinstance(value.owner, ir.Block):
        op = value.owner
        if len(list(value.uses)) != 1 or op.name not in ("linalg.generic", "tensor.pad", *RESHAPES):
            return None
        chain.append(value)
        inputs = [v for v in op.operands if is_tensor(v) and not _is_constant(v)]
        inputs = inputs[:1] if op.name != "linalg.generic" else inputs
        if len(inputs) != 1:
            return None
        windows = windows or (op.name == "linalg.generic" and bool(tiled_operands(read_generic(op.opview))))
        value = inputs[0]
    return chain if windows and len(list(value.uses)) == 1 else None


def _is_constant(value: Any) -> bool:
    """Whether a value is a constant, or has no elements of its own."""
    owner = value.owner
    return not isinstance(owner, ir.Block) and owner.name in ("arith.constant", "tensor.empty", "linalg.fill")


def _steps(chain: list[Any], boxes: list[Ranges], stored: float) -> float:
    """Steps until equal parts of the last of a chain have been stored; infinite if that cannot be said in boxes."""
    box = boxes[0]
    for value in chain:
        found = needs(value.owner, box)
        if found is None:
            return inf
        generic = read_generic(value.owner.opview) if value.owner.name == "linalg.generic" else None
        if generic is not None and tiled_operands(generic):
            stages_of_part = _stages(generic, box)
            break
        box = next(part for v, part in zip(value.owner.operands, found, strict=False) if v in chain)
    else:
        return inf
    if stages_of_part is None:
        return inf
    made = len(boxes) * max(stages_of_part.fetched, stages_of_part.used)
    leaving = len(boxes) * (1 if stages_of_part.is_sum else LEAVE_EARLY)  # times at which results begin to leave
    moved = len(boxes) * stages_of_part.fetched + stored  # by the one port of DRAM
    overlapped = max(moved, made + stored / leaving, made / leaving + stored)
    filling = min(stages_of_part.fetched, stages_of_part.used) / FILLING
    return overlapped + filling + chip().mv_latency_steps * (len(boxes) - 1)


def _stages(generic: Generic, box: Ranges) -> Stages | None:
    """Steps in which what a part of a generic reads through windows comes from DRAM, and in which it is used."""
    iteration = iteration_ranges(generic.op.operation, box)
    if iteration is None:
        return None
    extents, tiled = tuple(size for _, size in iteration), tiled_operands(generic)
    if generic.kind == "contraction":
        left, right = (replace(factor_of(o, tiled.get(i)), alone=True) for i, o in enumerate(generic.inputs))
        return stages(Contraction(extents, left, right, generic.result))
    read = [tuple(map(Window, o.dims)) if i not in tiled else tiled[i].windows for i, o in enumerate(generic.inputs)]
    digits = possible_tiles(extents, generic.parallel, [(windows, None) for windows in read])[0]
    fetched = sum(arrival(tiled_layout(windows, extents, digits)).mv for windows in read)
    used = project(extents, digits, tuple(range(len(extents)))).local_size / CYCLES_PER_STEP
    return Stages(fetched, used, is_sum=True)


def _make(chain: list[Any], value: Any, box: Ranges) -> Any:
    """A part of a value: what belongs to the chain is computed, weights have a copy of their own."""
    if value not in chain:
        if not is_tensor(value):
            return value
        is_weight = _is_constant(value) and value.owner.name == "arith.constant" and splat_value(value) is None
        return value.owner.clone().results[0] if is_weight and box == whole(value) else part_of(value, box)
    op = value.owner
    parts = needs(op, box)
    assert parts is not None  # `_steps` has asked
    operands = [_make(chain, v, part) for v, part in zip(op.operands, parts, strict=False)]
    return write_part(op, operands, box)
