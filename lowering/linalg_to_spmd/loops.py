"""Affine loops over the share of one PE: one loop per address digit, the two words of a long word innermost."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mnc.core.bindings import affine, arith, ir
from mnc.core.context import error_at
from mnc.lowering.linalg_to_spmd.reading import DIFFERENCES
from mnc.lowering.linalg_to_spmd.scalars import on_words
from mnc.lowering.linalg_to_spmd.words import word_attribute
from mnc.mncore_backend.layout import Axis, Layout
from mnc.mncore_backend.placement.candidates import Access, Digits


@dataclass(frozen=True)
class Loop:
    """Loop over one address digit of an iteration dimension; `place` numbers the digits of that dimension."""

    dim: int
    place: int
    size: int


def loops_of(digits: Sequence[Digits], dims: Sequence[int]) -> list[Loop]:
    """Loops over the addresses of the given iteration dimensions, outermost first."""
    result = []
    for dim in dims:
        visible = [d for d in digits[dim] if d.size > 1]
        result += [Loop(dim, i, d.size) for i, d in enumerate(visible) if d.axis is Axis.ADDRESS]
    return result


@dataclass(frozen=True)
class Buffered:
    """A buffer with its layout, and how the iteration space indexes it. `strides` replaces the address strides of the
    layout for operands that are read through windows: per iteration dimension one for each digit."""

    buffer: Any
    layout: Layout
    access: Access
    strides: Mapping[int, Sequence[int]] | None = None

    def stride(self, loop: Loop) -> int:
        """Long words between neighbouring iterations of a loop; 0 if the operand does not depend on it."""
        if self.strides is not None:
            return self.strides[loop.dim][loop.place] if loop.dim in self.strides else 0
        if loop.dim not in self.access:
            return 0
        return [d for d in self.layout.dims[self.access.index(loop.dim)] if d.size > 1][loop.place].stride

    def map(self, loops: Sequence[Loop]) -> Any:
        """Long-word address and word as affine expressions of the loop variables, the word last."""
        address = ir.AffineExpr.get_constant(0)
        for number, loop in enumerate(loops):
            address = address + ir.AffineExpr.get_dim(number) * self.stride(loop)
        return ir.AffineMap.get(len(loops) + 1, 0, [address, ir.AffineExpr.get_dim(len(loops))])


class Nest:
    """A loop nest under construction: parallel loops, then the word, then reduction loops that carry one value.

    Variables are kept in the order parallel, reduction, word, which is the order of the dimensions in all maps.
    """

    def __init__(self, digits: Sequence[Digits], parallel: Sequence[bool]) -> None:
        outer = [d for d, is_parallel in enumerate(parallel) if is_parallel]
        inner = [d for d, is_parallel in enumerate(parallel) if not is_parallel]
        self.parallel = loops_of(digits, outer)
        self.reduction = loops_of(digits, inner)

    def _open(self, sizes: Sequence[int], carried: Any | None = None) -> list[Any]:
        """Nested loops; leaves the insertion point inside the innermost. Returns the loops."""
        made = []
        for size in sizes:
            arguments = [carried] if carried is not None else []
            loop = affine.AffineForOp(0, size, 1, iter_args=arguments)
            block = loop.regions[0].blocks[0]
            made.append(loop)
            if carried is not None:
                carried = block.arguments[1]
            ir.InsertionPoint(block).__enter__()
        return made

    @staticmethod
    def _close(loops: Sequence[Any], value: Any | None = None) -> Any | None:
        """Terminate the loops from the innermost out; returns the carried result of the outermost."""
        for loop in reversed(loops):
            affine.AffineYieldOp([value] if value is not None else [])
            ir.InsertionPoint.current.__exit__(None, None, None)
            value = loop.results[0] if value is not None else None
        return value

    def emit(self, reads: Sequence[Buffered], write: Buffered, body: Any, neutral: Any | None = None) -> None:
        """`body(values, accumulator)` gives the value of one point from the loaded operands.

        With reduction dimensions `neutral` is the scalar attribute that the accumulation starts from.
        """
        outer = self._open([loop.size for loop in self.parallel] + [2])
        variables = [loop.induction_variable for loop in outer]
        carried = None if neutral is None else arith.ConstantOp(write.buffer.type.element_type, neutral).result
        inner = self._open([loop.size for loop in self.reduction], carried)
        indices = [*variables[:-1], *(loop.induction_variable for loop in inner), variables[-1]]
        loops = [*self.parallel, *self.reduction]
        values = [self._load(read, loops, indices) for read in reads]
        if inner:
            carried = inner[-1].regions[0].blocks[0].arguments[1]
        value = body(values, carried)
        if inner:
            value = self._close(inner, value)
        target = write.map(self.parallel)
        affine.AffineStoreOp(value, write.buffer, variables, target)
        self._close(outer)

    @staticmethod
    def _load(read: Buffered, loops: Sequence[Loop], indices: Sequence[Any]) -> Any:
        return affine.AffineLoadOp(read.buffer.type.element_type, read.buffer, indices, read.map(loops)).result


def combination_of(block: Any) -> tuple[Any, Any]:
    """The operation that combines a value with the accumulator of a reduction body, and that value. Raises CompileError
    for a difference, by which partial results cannot be combined."""
    combiner = list(block.operations)[-1].operands[0].owner
    if combiner.name in DIFFERENCES:
        raise error_at(combiner, "takes values from an accumulator instead of adding them", "run expand-indices first")
    accumulator = list(block.arguments)[-1]
    a, b = combiner.operands
    return combiner, b if a == accumulator else a


def is_bare(block: Any) -> bool:
    """Whether a reduction body does nothing but combine its first argument with the accumulator."""
    combiner, summand = combination_of(block)
    return summand == block.arguments[0] and next(iter(block.operations)).operation == combiner.operation


def combine(block: Any, value: Any, accumulator: Any) -> Any:
    """Emit only the combination of a reduction body."""
    combiner, _ = combination_of(block)
    return on_words(combiner, [value, accumulator])


def clone_body(block: Any, arguments: Sequence[Any], uncombined: bool = False) -> Any:
    """Copy the scalar body of a linalg operation to the insertion point; returns the value it yields.

    `uncombined` stops before the combination with the accumulator and returns what would be combined.
    """
    mapping = dict(zip(block.arguments, arguments, strict=True))

    def mapped(value: Any) -> Any:
        if value in mapping:
            return mapping[value]
        owner = value.owner
        if isinstance(owner, ir.Block) or owner.name != "arith.constant":
            raise ValueError(f"the body uses {value}, which is defined outside and is no constant")
        mapping[value] = _constant(owner.attributes["value"])
        return mapping[value]

    combiner, summand = combination_of(block) if uncombined else (None, None)
    for op in block.operations:
        operation = op.operation
        if combiner is not None and operation == combiner.operation:
            return mapped(summand)
        if operation.name == "linalg.yield":
            return mapped(operation.operands[0])
        if operation.name == "arith.constant":
            mapping[operation.results[0]] = _constant(operation.attributes["value"])
            continue
        mapping[operation.results[0]] = on_words(operation, [mapped(operand) for operand in operation.operands])
    raise ValueError("the body yields nothing")


def _constant(attribute: Any) -> Any:
    value = word_attribute(attribute.value, attribute.type)
    return arith.ConstantOp(value.type, value).result
