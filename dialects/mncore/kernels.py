"""Kernels over whole per-PE shares that are more than a loop nest: matrix products, reductions across PEs, padding.

Element-wise work and reductions inside a PE stay affine loops until instruction selection.
"""

from typing import Any, Optional

from mnc.core.bindings import ext, ir
from mnc.dialects.mncore.attributes import check_placed_buffer, placement_in
from mnc.dialects.mncore.base import Mncore, verifier
from mnc.mncore_backend.layout import Axis
from mnc.mncore_backend.target import PRECISIONS

HARDWARE_AXES = ("L2B", "L1B", "MAB", "PE", "W")
REDUCTION_KINDS = ("sum", "max", "min")


def _strings(op: Any, name: str) -> list[str]:
    return [ir.StringAttr(item).value for item in ir.ArrayAttr(op.operation.attributes[name])]


def _one_of(op: Any, name: str, allowed: tuple[str, ...]) -> None:
    value = ir.StringAttr(op.operation.attributes[name]).value
    if value not in allowed:
        raise ValueError(f"{name} is '{value}', not one of {', '.join(allowed)}")


def _check_reduce(op: Any) -> None:
    source, target = (check_placed_buffer(value).layout for value in op.operation.operands)
    axes = _strings(op, "axes")
    if not axes or any(axis not in HARDWARE_AXES for axis in axes):
        raise ValueError(f"axes must name some of {', '.join(HARDWARE_AXES)}, found {axes}")
    _one_of(op, "kind", REDUCTION_KINDS)
    if source.shape != target.shape:
        raise ValueError(f"the parts have shape {list(source.shape)}, the result {list(target.shape)}")
    if len(list(ir.DenseI64ArrayAttr(op.operation.attributes["bits"]))) != len(axes):
        raise ValueError("bits needs one entry per axis")


def filled_dims(op: Any) -> list[int] | None:
    """The dimensions whose padding a ``mncore.fill_padding`` writes; None for all."""
    attributes = op.operation.attributes
    return list(ir.DenseI64ArrayAttr(attributes["dims"])) if "dims" in attributes else None


def _check_fill(op: Any) -> None:
    layout = check_placed_buffer(op.operation.operands[0]).layout
    ir.IntegerAttr(op.operation.attributes["value"])
    for dim in filled_dims(op) or ():
        if not 0 <= dim < len(layout.shape):
            raise ValueError(f"dims {dim} of a tensor of rank {len(layout.shape)}")


def _check_matmul(op: Any) -> None:
    layouts = [check_placed_buffer(value).layout for value in op.operation.operands][:3]
    if "packed" in op.operation.attributes:
        _check_packed(op)
        layouts[1] = placement_in(op.operation.attributes["packed"]).layout
    dims = [_strings(op, name) for name in ("x_dims", "w_dims", "y_dims")]
    if "x_steps" in op.operation.attributes:  # windows: the dimensions of x are not those of the product
        layouts, dims = layouts[1:], dims[1:]
    for layout, names in zip(layouts, dims, strict=True):
        if len(layout.shape) != len(names):
            raise ValueError(f"dims {names} do not fit a tensor of rank {len(layout.shape)}")
    _one_of(op, "precision", PRECISIONS)
    sizes: dict[str, int] = {}
    cut = ir.DictAttr(op.operation.attributes["part"]) if "part" in op.operation.attributes else {}
    for layout, names in zip(layouts, dims, strict=True):
        for name, extent in zip(names, layout.shape, strict=True):
            if name in cut:
                continue
            if sizes.setdefault(name, extent) != extent:
                raise ValueError(f"dimension {name} is {sizes[name]} in one operand and {extent} in another")


def _check_packed(op: Any) -> None:
    element = op.operation.operands[1].type.element_type
    if ir.StringAttr(op.operation.attributes["precision"]).value != "half":
        raise ValueError("a packed matrix is one of halves, and the precision is another")
    if not isinstance(element, ir.IntegerType):
        raise ValueError(f"a packed matrix has words of two halves, 32-bit integers, not {element}")


class Matmul(Mncore.Operation, name="matmul"):  # pyright: ignore[reportGeneralTypeIssues, reportCallIssue]
    """y[..] = init[..] + sum over k of x[..] * w[..], each MAB over its share.

    ``x_dims``, ``w_dims``, ``y_dims`` name the dimensions of the operands: ``m*`` rows, ``n*`` columns, ``k*``
    contracted, ``b*`` batch. w becomes the matrix: eight neighbouring n are spread over (PE, W) in y, eight
    neighbouring k in x and w. Where k is spread over MAB, L1B or L2B, y holds partial sums (see ``mncore.reduce``).

    With ``x_steps`` x is read through windows: per dimension of the product the sizes and strides (long words) of its
    address digits take the place of ``x_dims``. Strides of several dimensions may overlap.

    With ``part`` the operand that ``part_of`` names ("x" or "w") is a part of a larger one: per dimension the numbers
    of some of its address digits, each with the first value and their count. The others are used in that range only.
    An ``init`` must be y itself: the product is added to what is there.

    With ``packed`` w has halves in block float, as matrix banks take them, two to a word (see `pack-weights`); the
    attribute says how singles would be placed, which ``w_dims`` and ``part`` are about.
    """

    x: ext.Operand[ir.MemRefType]
    w: ext.Operand[ir.MemRefType]
    y: ext.Operand[ir.MemRefType]
    x_dims: ir.ArrayAttr
    w_dims: ir.ArrayAttr
    y_dims: ir.ArrayAttr
    precision: ir.StringAttr
    init: Optional[ext.Operand[ir.MemRefType]] = None  # noqa: UP045 - the bindings read Optional only

    verify_invariants = verifier(_check_matmul)


class Reduce(Mncore.Operation, name="reduce"):  # pyright: ignore[reportGeneralTypeIssues, reportCallIssue]
    """Combine the values that PEs along the given hardware axes hold at equal addresses.

    All of them get the result, or the share of it that the layout of the target gives them.
    """

    source: ext.Operand[ir.MemRefType]
    target: ext.Operand[ir.MemRefType]
    kind: ir.StringAttr
    axes: ir.ArrayAttr

    verify_invariants = verifier(_check_reduce)


def reduced_axes(op: Any) -> dict[Axis, int]:
    """Coordinate bits of the places over which a `Reduce` combines."""
    axes = [Axis(ir.StringAttr(item).value) for item in ir.ArrayAttr(op.attributes["axes"])]
    return dict(zip(axes, ir.DenseI64ArrayAttr(op.attributes["bits"]), strict=True))


def _check_lookup(op: Any) -> None:
    for value in op.operation.operands:
        check_placed_buffer(value)
    names = ("sizes", "table_steps", "address_steps", "target_steps")
    if len({len(ir.DenseI64ArrayAttr(op.operation.attributes[name])) for name in names}) != 1:
        raise ValueError(f"{', '.join(names)} need one entry per loop each")


class Lookup(Mncore.Operation, name="lookup"):  # pyright: ignore[reportGeneralTypeIssues, reportCallIssue]
    """target[..] = table[.. + address], where every PE computes its own addresses (in words).

    ``sizes`` are those of the loops over the share of a PE; ``table_steps``, ``address_steps`` and ``target_steps`` the
    long words between neighbouring iterations of each.
    """

    table: ext.Operand[ir.MemRefType]
    address: ext.Operand[ir.MemRefType]
    target: ext.Operand[ir.MemRefType]

    verify_invariants = verifier(_check_lookup)


class FillPadding(Mncore.Operation, name="fill_padding"):  # pyright: ignore[reportGeneralTypeIssues, reportCallIssue]
    """Write `value` (bits of a word) to every word of the share that holds no element of the tensor, or, with ``dims``,
    to those that are beyond the extents of these dimensions."""

    buffer: ext.Operand[ir.MemRefType]
    value: ir.IntegerAttr

    verify_invariants = verifier(_check_fill)
