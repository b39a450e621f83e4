"""Reading `linalg.generic` as plain data: loops, linear index forms, kind of work."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from mnc.core.bindings import ir

Kind = Literal["copy", "injective", "reduction", "contraction", "opaque"]


@dataclass(frozen=True)
class Linear:
    """An index ``sum of coefficient * loop + constant``."""

    coefficients: tuple[tuple[int, int], ...]
    constant: int = 0

    def largest(self, extents: Sequence[int]) -> int:
        """Largest value over the loops."""
        return self.constant + sum(c * (extents[loop] - 1) for loop, c in self.coefficients if c > 0)

    @property
    def loop(self) -> int | None:
        """The loop if the index is exactly that."""
        return self.coefficients[0][0] if self.constant == 0 and [c for _, c in self.coefficients] == [1] else None


def linear_form(expression: Any) -> Linear | None:
    """`Linear` of an affine expression over dimensions, or None when it is not linear."""
    if isinstance(expression, ir.AffineConstantExpr):
        return Linear((), expression.value)
    if isinstance(expression, ir.AffineDimExpr):
        return Linear(((expression.position, 1),))
    if not isinstance(expression, ir.AffineAddExpr | ir.AffineMulExpr):
        return None
    lhs, rhs = linear_form(expression.lhs), linear_form(expression.rhs)
    if lhs is None or rhs is None:
        return None
    if isinstance(expression, ir.AffineMulExpr):
        lhs, rhs = (rhs, lhs) if not lhs.coefficients else (lhs, rhs)
        return None if rhs.coefficients else _scaled(lhs, rhs.constant)
    total = dict(lhs.coefficients)
    for loop, coefficient in rhs.coefficients:
        total[loop] = total.get(loop, 0) + coefficient
    return Linear(tuple(sorted(total.items())), lhs.constant + rhs.constant)


def _scaled(form: Linear, factor: int) -> Linear:
    return Linear(tuple((loop, c * factor) for loop, c in form.coefficients), form.constant * factor)


@dataclass(frozen=True)
class Iteration:
    """Loops and operands of a `linalg.generic` of static shapes."""

    op: Any
    extents: tuple[int, ...]
    parallel: tuple[bool, ...]
    maps: tuple[tuple[Linear, ...] | None, ...]
    kind: Kind

    @property
    def inputs(self) -> int:
        """Number of operands that are only read."""
        return len(self.op.operands) - len(self.op.results)

    def loops(self, operand: int) -> set[int]:
        """The loops that the indices of the operand depend on."""
        return {loop for form in self.maps[operand] or () for loop, _ in form.coefficients}

    def is_projected(self, operand: int) -> bool:
        """True if every index of the operand is one loop, each at most once."""
        forms = self.maps[operand]
        loops = [form.loop for form in forms] if forms is not None else [None]
        return None not in loops and len(set(loops)) == len(loops)

    def reads_all_loops(self, operand: int) -> bool:
        """True if no element of the operand is read for two points of the loops."""
        loops = {form.loop for form in self.maps[operand] or ()}
        return self.is_projected(operand) and all(e == 1 or i in loops for i, e in enumerate(self.extents))


def shape_of(value: ir.Value) -> list[int]:
    """Static shape of a tensor or buffer; empty for a scalar."""
    return list(ir.ShapedType(value.type).shape) if isinstance(value.type, ir.ShapedType) else []


def find(module: ir.Module, matches: Callable[[ir.Operation], bool]) -> list[ir.Operation]:
    """All operations for which `matches`, in order."""
    found: list[ir.Operation] = []

    def visit(op: ir.Operation) -> ir.WalkResult:
        if matches(op):
            found.append(op)
        return ir.WalkResult.ADVANCE

    module.operation.walk(visit)
    return found


def generics(module: ir.Module) -> list[ir.Operation]:
    """All `linalg.generic` operations in order."""
    return find(module, lambda op: op.name == "linalg.generic")


def read(op: ir.Operation) -> Iteration | None:
    """Read a `linalg.generic`; None when an extent is unknown or an index is not linear."""
    kinds = tuple("parallel" in str(kind) for kind in op.attributes["iterator_types"])
    maps: list[tuple[Linear, ...]] = []
    for attribute in op.attributes["indexing_maps"]:
        forms = tuple(linear_form(expression) for expression in ir.AffineMapAttr(attribute).value.results)
        if any(form is None for form in forms):
            return None
        maps.append(tuple(form for form in forms if form is not None))
    extents = _extents(len(kinds), maps, [shape_of(operand) for operand in op.operands])
    if extents is None:
        return None
    return Iteration(op, extents, kinds, tuple(maps), _kind(op, kinds))


def _extents(loops: int, maps: Sequence[Sequence[Linear]], shapes: Sequence[Sequence[int]]) -> tuple[int, ...] | None:
    extents = [-1] * loops
    for forms, shape in zip(maps, shapes, strict=True):
        for form, extent in zip(forms, shape, strict=True):
            if form.loop is not None:
                extents[form.loop] = extent
    return None if any(extent < 0 for extent in extents) else tuple(extents)


def body_operations(op: ir.Operation) -> list[ir.Operation]:
    """Operations of the body, the terminator last."""
    return [view.operation for view in op.regions[0].blocks[0].operations]


_COMBINING = (
    "arith.addf", "arith.addi", "arith.mulf", "arith.muli", "arith.maximumf", "arith.minimumf", "arith.maxsi",
    "arith.minsi", "arith.maxui", "arith.minui", "arith.andi", "arith.ori",
)  # fmt: skip


def _kind(op: ir.Operation, parallel: Sequence[bool]) -> Kind:
    if len(op.results) != 1:
        return "opaque"
    body = body_operations(op)
    if all(parallel):
        yielded = body[-1].operands[0].owner
        return "copy" if isinstance(yielded, ir.Block) else "injective"
    names = [inner.name for inner in body[:-1]]
    if names in (["arith.mulf", "arith.addf"], ["arith.muli", "arith.addi"]):
        return "contraction"
    return "reduction" if names and names[-1] in _COMBINING else "opaque"


def combining_operation(iteration: Iteration) -> str | None:
    """Name of the operation of a reduction whose body combines a plain input element and nothing else."""
    names = [inner.name for inner in body_operations(iteration.op)[:-1]]
    return names[0] if iteration.kind == "reduction" and len(names) == 1 else None


def named(module: ir.Module, kinds: Sequence[str]) -> Iterator[Iteration]:
    """Generics of these kinds."""
    for op in generics(module):
        iteration = read(op)
        if iteration is not None and iteration.kind in kinds:
            yield iteration
