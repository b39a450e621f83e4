"""tile-contractions: products of large tensors in DRAM become products of tiles, which pass local memory in turn.

before:  %y = linalg.generic {multiply-add} ins(%a, %b : tensor<4096x4096xf32>, tensor<4096x4096xf32>) outs(%zero)
after:   %a0 = tensor.extract_slice %a[0, 0] [2048, 32]; %b0 = tensor.extract_slice %b[0, 0] [32, 2048]
         %s0 = linalg.generic {multiply-add} ins(%a0, %b0) outs(%zero0)
         %s1 = linalg.generic {multiply-add} ins(%a1, %b1) outs(%s0)
         ...
         %y = tensor.concat dim(0) (tensor.concat dim(1) %s63, ...), ...

A slice of what is in DRAM is loaded by itself. Tile extents and layouts are those that
`mncore_backend/placement/candidates/streams.py` finds cheapest; they are written on the products, so
`assign-layouts` keeps them.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any, Literal

from mnc.core.bindings import ir
from mnc.core.modules import functions_of
from mnc.core.pass_base import Pass, at_least
from mnc.dialects.mncore.attributes import layout_attribute
from mnc.lowering.linalg_to_spmd.factors import factor_of
from mnc.lowering.linalg_to_spmd.homes import Homes
from mnc.lowering.linalg_to_spmd.joint_parts import comes_alone
from mnc.lowering.linalg_to_spmd.layout_attributes import IS_PART, MATRIX, OPERANDS, PRECISION, RESULT, precision_of
from mnc.lowering.linalg_to_spmd.reading import Generic, read_generic, splat_value
from mnc.lowering.linalg_to_spmd.slices import Ranges, joined, slice_of
from mnc.lowering.linalg_to_spmd.tiles import tiled_operands
from mnc.mncore_backend.placement.candidates import (
    Contraction,
    TilePlan,
    plan_contraction,
    plan_tiles,
    plan_whole,
    tile_ranges,
)
from mnc.mncore_backend.program import LOCAL_MEMORY
from mnc.mncore_backend.target import Precision, chip

LEAST = 1 << 22
"""Multiply-adds of a product below which tiles would cost more in latencies than they hide."""


@dataclass(frozen=True)
class TileContractions(Pass):
    """Cut contractions of which both factors are in DRAM into tiles, where they do not fit or where that is cheaper.

    A factor or result fits that takes up to ``percent`` of local memory.
    """

    name = "tile-contractions"
    percent: int = at_least(1, 25)
    precision: Precision = "pseudo-single"
    resident: Literal["nothing", "updates", "state", "batch"] = "nothing"

    def run(self, module: Any) -> None:
        """Rewrite every function of the module."""
        with module.context, ir.Location.unknown():
            for function in functions_of(module):
                homes = Homes({}) if self.resident == "nothing" else Homes.of_function(function.operation)
                for view in list(function.operation.regions[0].blocks[0].operations):
                    if view.operation.name == "linalg.generic" and RESULT not in view.operation.attributes:
                        self._rewrite(view, homes)

    def _rewrite(self, op: Any, homes: Homes) -> None:
        generic = read_generic(op)
        if generic.kind != "contraction" or splat_value(op.operation.results[0]) is not None:
            return
        if tiled_operands(generic) or any(i.access is None or not _is_free(i.value, homes) for i in generic.inputs):
            return
        left, right = (replace(factor_of(i, None), alone=comes_alone(i, None)) for i in generic.inputs)
        precision = precision_of(op.operation, self.precision)
        problem = Contraction(generic.extents, left, right, generic.result, precision=precision)
        leaves = all(use.owner.name == "func.return" for use in op.operation.results[0].uses)
        tile = _chosen(problem, self.percent * _local_longs() // 100, leaves=leaves)
        if tile is None:
            return
        with ir.InsertionPoint(op), op.operation.location:
            result = _tiles(op.operation, generic, problem, tile)
        op.operation.results[0].replace_all_uses_with(result)
        op.operation.erase()


def _chosen(problem: Contraction, most: int, *, leaves: bool) -> TilePlan | None:
    """The tiles of a product, one of them where that is cheapest; None if others shall place it. A product that fits
    takes longer as it is where it waits for its factors first, and for its result to leave, if it `leaves` for DRAM and
    nobody reads it on the chip. If somebody does, it is wanted in one piece, and where depends on who reads it. `most`:
    long words of a PE that a factor or the result may take."""
    tile = plan_tiles(problem, leaves=leaves, joined=not leaves)
    if _is_too_large(problem, most):
        tile = plan_tiles(problem, leaves=leaves) if tile is None else tile
        return tile if tile is not None and tile.tiles > 1 else None
    if prod(problem.extents) < LEAST or not (problem.left.alone and problem.right.alone):
        return None  # a factor that others read as well stays whole, so that it arrives once
    whole = plan_whole(problem, leaves=leaves)
    if tile is not None and tile.tiles > 1 and (whole is None or tile.steps < whole.steps):
        return tile
    return whole if leaves else None


def _local_longs() -> int:
    return sum(chip().memories[memory].longs for memory in LOCAL_MEMORY)


def _is_free(value: Any, homes: Homes) -> bool:
    """Whether a factor is an argument or a constant with different elements, which comes from DRAM."""
    owner = value.owner
    if isinstance(owner, ir.Block):
        return not homes.is_kept(value)
    return owner.name == "arith.constant" and splat_value(value) is None


def _is_too_large(problem: Contraction, most: int) -> bool:
    """Whether a factor or the result of a product takes more than so many long words of a PE as it is."""
    whole = plan_contraction(problem)
    return max(layout.local_size for layout in (whole.left, whole.right, whole.result)) > most


def _tiles(op: Any, generic: Generic, problem: Contraction, tile: TilePlan) -> Any:
    """The products of all tiles, and their results joined."""
    sums: dict[tuple[tuple[int, int], ...], Any] = {}
    slices: dict[tuple[Any, Ranges], Any] = {}

    def part(value: Any, own: Ranges) -> Any:
        """A slice that several tiles use is one value: it is loaded once where there is room for it."""
        if (value, own) not in slices:
            slices[value, own] = slice_of(value, own)
        return slices[value, own]

    for ranges in tile_ranges(problem, tile.extents, tile.order):
        place = tuple(ranges[d] if d is not None else (0, 1) for d in generic.result)
        initial = sums.get(place) or slice_of(generic.init, place)
        factors = [
            part(operand.value, tuple((0, 1) if d is None else ranges[d] for d in operand.access or ()))
            for operand in generic.inputs
        ]
        sums[place] = _product(op, [*factors, initial], tile, problem)
    return joined(op.results[0].type, sums)


def _product(op: Any, operands: Sequence[Any], tile: TilePlan, problem: Contraction) -> Any:
    made = op.clone()
    for number, operand in enumerate(operands):
        made.operands[number] = operand
    made.results[0].set_type(operands[-1].type)
    # Tiles at the edge lie as whole ones do, with padding where they end.
    own = [layout_attribute(layout) for layout in (tile.plan.left, tile.plan.right, tile.plan.result)]
    made.attributes[OPERANDS], made.attributes[RESULT] = ir.ArrayAttr.get(own[:2]), own[2]
    made.attributes[PRECISION] = ir.StringAttr.get(problem.precision)
    if any(tile.extents[d] < problem.extents[d] for d in range(len(problem.extents)) if d not in problem.result):
        made.attributes[IS_PART] = ir.UnitAttr.get()
    made.attributes[MATRIX] = ir.StringAttr.get("left" if tile.plan.swapped else "right")
    return made.results[0]
