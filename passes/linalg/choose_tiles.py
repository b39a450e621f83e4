"""The pass `choose-tiles`: write tile sizes on operations; `tile` applies them."""

from dataclasses import dataclass
from typing import ClassVar

from mnc.core.bindings import ir
from mnc.core.context import error_at
from mnc.core.explanation import explain
from mnc.core.pass_base import Pass, at_least
from mnc.passes.linalg.iteration import Iteration, generics, read
from mnc.passes.linalg.tile_choice import DoesNotFit, Nest, TiledOperand, choose_tile

TILE_SIZES = "mnc.tile_sizes"
"""Attribute ``array<i64: ...>``: one tile size per loop, 0 for a loop that is not tiled."""


@dataclass(frozen=True)
class ChooseTiles(Pass):
    """Annotate every `linalg.generic` that does not fit into a memory with ``mnc.tile_sizes``.

    Options:
        capacity: bytes of the memory.
        buffers: copies of each tile that must fit; 2 for double buffering.
        multiple: tile sizes are multiples of it, or the whole extent.
    """

    name: ClassVar[str] = "choose-tiles"
    capacity: int = at_least(0, 65536)
    buffers: int = at_least(1, 1)
    multiple: int = at_least(1, 1)

    def run(self, module: ir.Module) -> None:
        """Raises CompileError when even the smallest tile does not fit."""
        with module.context, ir.Location.unknown():
            for op in generics(module):
                iteration = read(op)
                if iteration is None:
                    explain(type(self).__name__, op, "an index or an extent is not static and linear")
                elif 0 in iteration.extents:
                    explain(type(self).__name__, op, "it works on nothing")
                else:
                    self._annotate(iteration)

    def _annotate(self, iteration: Iteration) -> None:
        nest = nest_of(iteration)
        try:
            tile = choose_tile(nest, self.capacity, self.buffers, [self.multiple] * len(nest.extents))
        except DoesNotFit as error:
            message = f"does not fit into {self.capacity} bytes: its smallest tile needs {error.needed}"
            raise error_at(iteration.op, message, "give more capacity, fewer buffers or a smaller multiple") from None
        sizes = [0 if size == extent else size for size, extent in zip(tile, nest.extents, strict=True)]
        if any(sizes):
            iteration.op.attributes[TILE_SIZES] = ir.DenseI64ArrayAttr.get(sizes)


def nest_of(iteration: Iteration) -> Nest:
    """The loop nest of an operation for the tile choice; scalars and unused operands do not count."""
    block = iteration.op.regions[0].blocks[0]
    operands = []
    for i, (value, forms) in enumerate(zip(iteration.op.operands, iteration.maps, strict=True)):
        is_used = i >= iteration.inputs or any(True for _ in block.arguments[i].uses)
        if forms is not None and is_used and isinstance(value.type, ir.ShapedType):
            indices = tuple(form.coefficients for form in forms)
            operands.append(TiledOperand(indices, element_bytes(ir.ShapedType(value.type).element_type)))
    return Nest(iteration.extents, tuple(operands))


def element_bytes(element: ir.Type) -> int:
    """Bytes of one element; an i1 takes one."""
    if isinstance(element, ir.IntegerType):
        return max(1, element.width // 8)
    return {"f64": 8, "f32": 4, "f16": 2, "bf16": 2}.get(str(element), 8)
