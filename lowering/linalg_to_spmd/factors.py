"""Operands of operations, and factors of contractions, as plans see them."""

from mnc.lowering.linalg_to_spmd.reading import Generic, Input, read_generic, shape_of
from mnc.lowering.linalg_to_spmd.streaming import may_come_in_parts
from mnc.lowering.linalg_to_spmd.tiles import WindowedOperand
from mnc.mncore_backend.layout import Layout
from mnc.mncore_backend.placement.candidates import Access, Operand


def iteration_access(operand: Input) -> Access:
    """How the iteration space indexes an operand, or the window view of it that a gather will make."""
    return operand.dims if operand.access is None else operand.access


def operand_shape(operand: Input, extents: tuple[int, ...]) -> tuple[int, ...]:
    """Shape of the operand, or of its window view."""
    return tuple(extents[d] for d in operand.dims) if operand.access is None else shape_of(operand.value)


def factor_of(
    operand: Input, tiled: WindowedOperand | None, layout: Layout | None = None, *, kept: bool = False
) -> Operand:
    """A factor of a contraction as plans see it; `layout` is where it is, or what it is read from."""
    if tiled is None:
        in_parts = layout is None and operand.access is not None and may_come_in_parts(operand.value)
        return Operand(iteration_access(operand), layout, kept=kept, in_parts=in_parts)
    return Operand(operand.dims, layout, tiled.windows, shape_of(tiled.source))


def contracted_elsewhere(generic: Generic) -> frozenset[int]:
    """Iteration dimensions of a contraction along which another one contracts the same factor."""
    found = set()
    for operand in generic.inputs:
        for use in operand.value.uses:
            other = use.owner.operation
            if other == generic.op.operation or other.name != "linalg.generic":
                continue
            reader = read_generic(other.opview)
            if reader.kind == "contraction" and operand.access is not None:
                accesses = [i.access for i in reader.inputs if i.value == operand.value and i.access is not None]
                pairs = [pair for access in accesses for pair in zip(operand.access, access, strict=True)]
                found |= {own for own, its in pairs if own is not None and its not in reader.result}
    return frozenset(found)
