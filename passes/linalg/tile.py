"""The pass `tile`: loops over tiles, by the transform dialect."""

from dataclasses import dataclass
from typing import ClassVar

from mnc.core.bindings import ir, passmanager, submodule
from mnc.core.context import error_at
from mnc.core.explanation import explain
from mnc.core.pass_base import Pass, at_least
from mnc.passes.linalg.choose_tiles import TILE_SIZES
from mnc.passes.linalg.iteration import Iteration, generics, read
from mnc.passes.linalg.schedule import remove_tags, schedule, tag, tagged

_PEEL = "canonicalize,cse,func.func(scf-for-loop-peeling{skip-partial=false},scf-for-loop-canonicalization),"


@dataclass(frozen=True)
class Tile(Pass):
    """Tile `linalg.generic` operations into `scf.for` loops over slices.

    before: ``linalg.generic`` on ``tensor<64x64xf32>``; after: a loop of them on ``tensor<16x64xf32>``

    Options:
        sizes: one size per loop, 0 leaves a loop whole; empty takes ``mnc.tile_sizes`` of each operation.
        kinds: which operations `sizes` applies to: copy, injective, reduction, contraction, opaque.
        fuse: compute producers inside the loops of an element-wise operation, such as the
            contraction in front of an epilogue. Only loops that all are parallel can do that.
        peel: give the last, smaller tile a loop body of its own, so that every shape stays static.
    """

    name: ClassVar[str] = "tile"
    sizes: tuple[int, ...] = at_least(0, ())
    kinds: tuple[str, ...] = ("contraction",)
    fuse: bool = False
    peel: bool = True

    def run(self, module: ir.Module) -> None:
        """Raises CompileError when an operation has more annotated sizes than loops."""
        with module.context, ir.Location.unknown():
            targets: list[list[int]] = []
            for op in generics(module):
                sizes = self._sizes(op)
                if sizes is not None:
                    tag(op, len(targets))
                    targets.append(sizes)
            if not targets:
                return
            with schedule(module) as root:
                for number in reversed(range(len(targets))):
                    self._tile(root, number, targets[number])
            remove_tags(module)
            passmanager.PassManager.parse(f"builtin.module({_PEEL if self.peel else ''}canonicalize,cse)").run(
                module.operation
            )

    def _sizes(self, op: ir.Operation) -> list[int] | None:
        """Sizes for this operation, None to leave it alone."""
        iteration = read(op)
        if iteration is None:
            explain(type(self).__name__, op, "an index or an extent is not static and linear")
            return None
        if self.sizes and iteration.kind not in self.kinds:
            return None
        sizes = list(self.sizes) if self.sizes else _annotated(op)
        if len(sizes) > len(iteration.extents):
            message = f"it has {len(iteration.extents)} loops and there are {len(sizes)} tile sizes"
            if not self.sizes:
                raise error_at(op, f"attribute {TILE_SIZES} does not fit: {message}")
            explain(type(self).__name__, op, message)
            return None
        sizes = [size if size < extent else 0 for size, extent in zip(sizes, iteration.extents, strict=False)]
        if not any(sizes):
            return None
        reason = _refusal(iteration, sizes)
        if reason:
            explain(type(self).__name__, op, reason)
            return None
        return sizes

    def _tile(self, root: object, number: int, sizes: list[int]) -> None:
        structured = submodule("dialects.transform.structured")
        target = tagged(root, number)
        if self.fuse:
            structured.FuseOp(target, tile_sizes=sizes, apply_cleanup=True)
        else:
            structured.TileUsingForOp(target, sizes=sizes)


def _annotated(op: ir.Operation) -> list[int]:
    if TILE_SIZES not in op.attributes:
        return []
    sizes = list(ir.DenseI64ArrayAttr(op.attributes[TILE_SIZES]))
    del op.attributes[TILE_SIZES]
    return sizes


def _refusal(iteration: Iteration, sizes: list[int]) -> str | None:
    tiled = {loop for loop, size in enumerate(sizes) if size}
    for forms in iteration.maps:
        for form in forms or ():
            if any(coefficient < 0 and loop in tiled for loop, coefficient in form.coefficients):
                return "a tiled loop reads backwards, and slices only go forward"
    return None
