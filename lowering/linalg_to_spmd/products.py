"""The matrix kernels of a contraction: one, or one for each part of a constant factor that comes in parts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mnc.core.bindings import ir
from mnc.dialects.mncore import Matmul
from mnc.lowering.linalg_to_spmd.factors import iteration_access
from mnc.lowering.linalg_to_spmd.joint_parts import JointParts
from mnc.lowering.linalg_to_spmd.layout_attributes import MATRIX, PRECISION, precision_of
from mnc.lowering.linalg_to_spmd.placed import Dram, Local, Splat, Values
from mnc.lowering.linalg_to_spmd.reading import Generic, Input
from mnc.lowering.linalg_to_spmd.streaming import (
    in_parts,
    lane_dimension,
    part_constant,
    ranges_attribute,
    streamed_factor,
)
from mnc.mncore_backend.layout import Axis, Layout
from mnc.mncore_backend.placement.candidates import Access, Digits, iteration_digits, with_addresses


def strings(texts: Sequence[str]) -> Any:
    """An attribute that lists texts."""
    return ir.ArrayAttr.get([ir.StringAttr.get(text) for text in texts])


def access_of(operand: Input, source: Local | Splat) -> Access:
    """The iteration dimension that each dimension of an operand's layout follows."""
    tiled = source.access if isinstance(source, Local) else None
    return iteration_access(operand) if tiled is None else tiled


def digits_of(generic: Generic, wanted: Sequence[Layout | None], layout: Layout) -> list[Digits]:
    """Digits of the iteration dimensions, read off the result and the operands that are not read in tiles."""
    pairs = [(layout, generic.result)]
    pairs += [(w, iteration_access(i)) for w, i in zip(wanted, generic.inputs, strict=True) if w is not None]
    if generic.kind == "contraction":  # the matrix holds lanes of the result as addresses
        digits = [iteration_digits(len(generic.extents), [pair]) for pair in pairs]
        found = [next((own for own in choices if own), ()) for choices in zip(*digits, strict=True)]
    else:
        found = iteration_digits(len(generic.extents), pairs)
    return [own or with_addresses(extent, ()) for own, extent in zip(found, generic.extents, strict=True)]


def _steps(strides: Mapping[int, Sequence[int]], digits: Sequence[Digits], names: Mapping[int, str]) -> Any:
    """The attribute `x_steps` of a matrix product: size and stride of every address digit, by name of dimension."""
    result = {}
    for d, own in strides.items():
        visible = [x for x in digits[d] if x.size > 1]
        pairs = [(x.size, step) for x, step in zip(visible, own, strict=False) if x.axis is Axis.ADDRESS]
        result[names[d]] = ir.DenseI64ArrayAttr.get([number for pair in pairs for number in pair])
    return ir.DictAttr.get(result)


def _dim_names(generic: Generic, swapped: bool) -> dict[Any, str]:
    left, right = (iteration_access(i) for i in generic.inputs)
    names: dict[Any, str] = {}
    for d, is_parallel in enumerate(generic.parallel):
        role = "k" if not is_parallel else "b" if d in left and d in right else "m" if d in left else "n"
        names[d] = f"{ {'m': 'n', 'n': 'm'}.get(role, role) if swapped else role }{d}"
    return names


@dataclass(frozen=True)
class _Kernels:
    """What the kernels of one contraction have in common. `order`: numbers of the factors that are x and w."""

    generic: Generic
    target: Local
    order: tuple[int, int]
    names: dict[Any, str]
    dims: list[list[str]]
    w_layout: Layout

    def emit(self, factors: Sequence[Local | None], *, adds: bool = False) -> Any:
        """One kernel; with `adds` its products are added to what the target holds."""
        x, w = (factors[i] for i in self.order)
        assert x is not None and w is not None
        init = self.target.buffer if adds else None
        precision = ir.StringAttr(self.generic.op.operation.attributes[PRECISION])
        op = Matmul(x.buffer, w.buffer, self.target.buffer, *map(strings, self.dims), precision, init=init)
        if x.strides is not None:
            digits = digits_of(self.generic, [None, self.w_layout], self.target.layout)
            op.operation.attributes["x_steps"] = _steps(x.strides, digits, self.names)
        return op.operation


def _kernels(generic: Generic, layouts: Sequence[Layout], accesses: Sequence[Access], target: Local) -> _Kernels:
    swapped = ir.StringAttr(generic.op.operation.attributes[MATRIX]).value == "left"
    names = _dim_names(generic, swapped)
    order = (1, 0) if swapped else (0, 1)
    dims = [[names.get(d, "one") for d in access] for access in (*(accesses[i] for i in order), generic.result)]
    return _Kernels(generic, target, order, names, dims, layouts[order[1]])


def emit_joint_parts(parts: JointParts, target: Local) -> None:
    """Multiply factors of which both come in parts into `target`."""
    for number, factors in enumerate(parts.load()):
        kernels = _kernels(parts.generic, [factor.layout for factor in factors], parts.accesses, target)
        kernels.emit(factors, adds=number > 0)


def emit_products(
    values: Values,
    generic: Generic,
    factors: Sequence[Local | None],
    layouts: Sequence[Layout],
    accesses: Sequence[Access],
    target: Local,
) -> None:
    """Multiply `factors` into `target`. A factor that is None is a constant in DRAM and comes in parts; `layouts` has
    the place of the whole, too."""
    kernels = _kernels(generic, layouts, accesses, target)
    for factor, access in zip(factors, accesses, strict=True):
        if factor is not None:
            contracted = (i for i, d in enumerate(access) if d is not None and not generic.parallel[d])
            values.fill_padding(factor, 0, contracted)
    number, longs = streamed_factor(generic.op)
    if number is None:
        kernels.emit(factors)
        return
    constant = generic.inputs[number].value
    whole = values.states.pop(constant)
    assert isinstance(whole, Dram)
    lanes = lane_dimension(layouts[number], accesses[number], target.layout, generic.result)
    precision = precision_of(generic.op.operation)
    cuts = in_parts(layouts[number], accesses[number], generic.parallel, longs, lanes, precision)
    for count, (layout, part, adds) in enumerate(cuts):
        memory = part_constant(constant.owner, layouts[number], part, whole.buffer.type, count)
        local = values.load(memory, layout)
        op = kernels.emit([local if i == number else factor for i, factor in enumerate(factors)], adds=adds)
        place = kernels.order.index(number)
        op.attributes["part"] = ranges_attribute(part, kernels.dims[place])
        op.attributes["part_of"] = ir.StringAttr.get("xw"[place])
    whole.buffer.owner.erase()
