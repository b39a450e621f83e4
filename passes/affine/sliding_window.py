"""The pass `sliding-window`: overlapping windows are read from a ring buffer."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from mnc.core.bindings import affine, ir, memref
from mnc.core.explanation import explain
from mnc.core.memory_spaces import read_space
from mnc.core.pass_base import Pass, at_least
from mnc.passes.affine.reading import Loop, index_of, loops_inside, operations_inside, outer_loops
from mnc.passes.affine.window import Index, Slide, find_slide


@dataclass(frozen=True)
class SlidingWindow(Pass):
    """Load each element of a sliding window once per row.

    before: ``for %o { for %k { load %x[%o * s + %k] } }``;
    after: a ring of as many elements as the window is wide, filled before the loop but for the
    last ``s``, which each iteration loads; element p is at ``p mod width``.

    Applies to the innermost loop around a window, with constant bounds from 0 and step 1. The
    source must not be written inside it.

    Options:
        memory_space: text of the attribute of the ring's memory space; empty for the default.
        capacity: largest ring in elements.
    """

    name: ClassVar[str] = "sliding-window"
    memory_space: str = ""
    capacity: int = at_least(0, 4096)

    def run(self, module: ir.Module) -> None:
        """Rewrite every load that qualifies; refusals are explained. Raises CompileError for an unreadable space."""
        with module.context, ir.Location.unknown():
            space = read_space(self.memory_space, self.name)
            for op in operations_inside(module.operation, "affine.load"):
                found = self._find(op)
                if found is not None:
                    _rewrite(op, *found, space)

    def _find(self, load: ir.Operation) -> tuple[Loop, Slide, list[Index]] | None:
        """The innermost loop outside whose inner loops make a window of this load."""
        surrounding = outer_loops(load)
        indices = index_of(load)
        if indices is None or any(loop is None for loop in surrounding):
            return None
        loops = [loop for loop in surrounding if loop is not None]
        inner: dict[object, int] = {}
        for loop in loops:
            slide = find_slide(indices, loop.variable, inner)
            if isinstance(slide, Slide):
                reason = self._refusal(load, loop, slide)
                if reason is None:
                    return loop, slide, indices
                explain(type(self).__name__, load, reason)
                return None
            inner[loop.variable] = loop.trips
        return None

    def _refusal(self, load: ir.Operation, loop: Loop, slide: Slide) -> str | None:
        size = 1
        for extent in slide.shape:
            size *= extent
        if size > self.capacity:
            return f"the ring needs {size} elements and may have {self.capacity}"
        source = load.operands[0]
        if any(
            use.owner.operation.name == "affine.store" and loop.contains(use.owner.operation) for use in source.uses
        ):
            return "the source is written inside the loop"
        if loop.trips < 2:
            return "the loop runs once"
        return None


def _rewrite(load: ir.Operation, loop: Loop, slide: Slide, indices: list[Index], space: Any) -> None:
    source = load.operands[0]
    type_ = ir.MemRefType(source.type)
    inner = {name.variable for name in loops_inside(loop.op)}
    with load.location:
        with ir.InsertionPoint(loop.op):
            ring_type = ir.MemRefType.get(list(slide.shape), type_.element_type, memory_space=space)
            ring = memref.AllocOp(ring_type, [], []).result
            _fill(source, ring, slide, indices, inner, loop, first=True)
        with ir.InsertionPoint(loop.op.regions[0].blocks[0].operations[0]):
            _fill(source, ring, slide, indices, inner, loop, first=False)
        with ir.InsertionPoint(load):
            _replace_load(load, ring, slide, indices, inner, loop)
    with ir.InsertionPoint.after(loop.op), load.location:
        memref.DeallocOp(ring)
    load.erase()


def _fill(
    source: ir.Value, ring: ir.Value, slide: Slide, indices: list[Index], inner: set[Any], loop: Loop, first: bool
) -> None:
    """Copy into the ring: before the loop all but the last `stride` positions, in it those."""
    counts = list(slide.shape)
    start = 0 if first else slide.width - slide.stride
    counts[slide.dimension] = slide.width - slide.stride if first else slide.stride
    if 0 in counts:
        return
    variables = _nest(counts)
    reads: list[Index] = []
    writes: list[Index] = []
    for dimension, (index, variable) in enumerate(zip(indices, variables, strict=True)):
        base = {n: c for n, c in index.coefficients.items() if n not in inner and not (first and n == loop.variable)}
        shift = start if dimension == slide.dimension else 0
        reads.append(Index({**base, variable: 1}, index.constant + shift))
        moved = {loop.variable: slide.stride} if dimension == slide.dimension and not first else {}
        writes.append(Index({**moved, variable: 1}, shift))
    block = variables[-1].owner
    with ir.InsertionPoint(block.operations[0]):
        value = _load(source, reads)
        _store(value, ring, writes, slide)


def _nest(counts: Sequence[int]) -> list[Any]:
    """Nested `affine.for` loops from 0 to each count; returns their variables."""
    variables = []
    point = ir.InsertionPoint.current
    for count in counts:
        with point:
            op = affine.AffineForOp(0, count)
        block = op.regions[0].blocks[0]
        with ir.InsertionPoint(block):
            affine.AffineYieldOp([])
        variables.append(op.induction_variable)
        point = ir.InsertionPoint(block.operations[0])
    return variables


def _map(indices: Sequence[Index], ring_dimension: int | None = None, width: int = 1) -> tuple[Any, list[Any]]:
    """Affine map and operands of `indices`, one of them modulo `width`."""
    names = list(dict.fromkeys(name for index in indices for name in index.coefficients))
    results = []
    for dimension, index in enumerate(indices):
        expression = ir.AffineExpr.get_constant(index.constant)
        for name, coefficient in index.coefficients.items():
            expression = expression + ir.AffineExpr.get_dim(names.index(name)) * coefficient
        results.append(ir.AffineExpr.get_mod(expression, width) if dimension == ring_dimension else expression)
    return ir.AffineMap.get(len(names), 0, results), names


def _load(source: ir.Value, indices: Sequence[Index], ring: Slide | None = None) -> ir.Value:
    map_, names = _map(indices, *((ring.dimension, ring.width) if ring else ()))
    return affine.AffineLoadOp(ir.MemRefType(source.type).element_type, source, names, map_).result


def _store(value: ir.Value, ring: ir.Value, indices: Sequence[Index], slide: Slide) -> None:
    map_, names = _map(indices, slide.dimension, slide.width)
    affine.AffineStoreOp(value, ring, names, map_)


def _replace_load(
    load: ir.Operation, ring: ir.Value, slide: Slide, indices: list[Index], inner: set[Any], loop: Loop
) -> None:
    places = []
    for dimension, index in enumerate(indices):
        kept = {name: c for name, c in index.coefficients.items() if name in inner}
        moved = {loop.variable: slide.stride} if dimension == slide.dimension else {}
        places.append(Index({**moved, **kept}))
    load.results[0].replace_all_uses_with(_load(ring, places, slide))
