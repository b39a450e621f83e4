"""Contractions whose factors both come from DRAM are done part by part along the contracted dimension: the next parts
arrive while the present ones are multiplied.

A part is a range of the address digit of one contracted dimension, the same for both factors, as in `streaming`. What a
part contributes is added where the sums are.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mnc.core.bindings import ir
from mnc.lowering.linalg_to_spmd.factors import iteration_access
from mnc.lowering.linalg_to_spmd.layout_attributes import IS_PART, precision_of
from mnc.lowering.linalg_to_spmd.placed import Dram, Local, Values
from mnc.lowering.linalg_to_spmd.reading import Generic, Input, shape_of, splat_value
from mnc.lowering.linalg_to_spmd.rearranging import RESHAPES, is_part_of_dram
from mnc.lowering.linalg_to_spmd.streaming import Range, contracted_first, elements_of, part_constant, part_layout
from mnc.lowering.linalg_to_spmd.tiles import WindowedOperand, tiled_operands
from mnc.mncore_backend.layout import Axis, Digit, Layout
from mnc.mncore_backend.placement.candidates import Access, Digits, tile
from mnc.mncore_backend.placement.candidates.joint import Factor, JointCut, joint_cut
from mnc.mncore_backend.placement.candidates.windows import tiled_access, tiled_layout


@dataclass(frozen=True)
class _Factor:
    """A factor in DRAM: how it is read, the layout of all of it, and which iteration dimensions that follows."""

    operand: Input
    windowed: WindowedOperand | None
    layout: Layout
    access: Access

    @property
    def source(self) -> Any:
        """The tensor behind windows."""
        return self.operand.value if self.windowed is None else self.windowed.source


@dataclass(frozen=True)
class JointParts:
    """A contraction in parts: its factors, and how they are cut."""

    values: Values
    generic: Generic
    digits: Sequence[Digits]
    factors: tuple[_Factor, _Factor]
    cut: JointCut

    @property
    def layouts(self) -> list[Layout]:
        """Where the whole factors would be."""
        return [factor.layout for factor in self.factors]

    @property
    def accesses(self) -> list[Access]:
        """Iteration dimensions of the dimensions of these."""
        return [factor.access for factor in self.factors]

    def load(self) -> Iterator[list[Local]]:
        """Bring the parts of both factors, one after the other."""
        for number, start in enumerate(range(0, self.cut.size, self.cut.each)):
            size = min(self.cut.each, self.cut.size - start)
            yield [self._load(factor, start, size, number) for factor in self.factors]

    def _load(self, factor: _Factor, start: int, size: int, number: int) -> Local:
        if factor.windowed is not None:
            return self._tiles(factor, factor.windowed, start, size)
        part = (Range(factor.access.index(self.cut.dim), 0, start, size),)
        parallel, precision = self.generic.parallel, precision_of(self.generic.op.operation)
        layout = contracted_first(part_layout(factor.layout, part), factor.access, parallel, precision)
        source = factor.source
        state = self.values.states[source]
        if isinstance(state, Dram) and not isinstance(source.owner, ir.Block):
            return self.values.load(part_constant(source.owner, factor.layout, part, state.buffer.type, number), layout)
        elements = _sub_tensor(shape_of(source), part[0].dim, elements_of(factor.layout, part[0].dim, part))
        return self.values.load_elements(source, layout, elements)

    def _tiles(self, factor: _Factor, windowed: WindowedOperand, start: int, size: int) -> Local:
        """Tiles of the channels of a part."""
        shape, windows = list(shape_of(factor.source)), windowed.windows
        dim = next(i for i, w in enumerate(windows) if w.out == self.cut.dim)
        part = (Range(factor.access.index(self.cut.dim), 0, start, size),)
        chosen = elements_of(factor.layout, part[0].dim, part)
        elements = _sub_tensor(shape, dim, chosen)
        shape[dim] = len(chosen)
        extents, digits = list(self.generic.extents), list(self.digits)
        extents[self.cut.dim] = len(chosen)
        digits[self.cut.dim] = tuple(
            Digit(size) if d.axis is Axis.ADDRESS and d.size > 1 else d for d in digits[self.cut.dim]
        )
        tiled = tile(windows, extents, digits, shape)
        index = np.append(elements.reshape(-1), -1)[tiled.index_map]
        made = self.values.load_elements(factor.source, tiled.layout, index, windowed.padding or 0)
        return replace(made, strides=tiled.strides, access=tiled.access)


def _sub_tensor(shape: Sequence[int], dim: int, chosen: NDArray[np.int64]) -> NDArray[np.int64]:
    """Flat elements of a tensor of which `chosen` indices of a dimension are taken, -1 for those beyond its end."""
    whole = np.arange(int(np.prod(shape)), dtype=np.int64).reshape(shape)
    part = whole.take(np.minimum(chosen, shape[dim] - 1), axis=dim)
    part[(slice(None),) * dim + (chosen >= shape[dim],)] = -1
    return part


def comes_alone(operand: Input, windowed: WindowedOperand | None) -> bool:
    """Whether a factor is an argument or a constant, perhaps reshaped, or a part of one, and nobody else reads it."""
    value = operand.value if windowed is None else windowed.source
    if any(len(list(v.uses)) != 1 for v in (value, operand.value)):
        return False
    while not isinstance(value.owner, ir.Block) and value.owner.name in RESHAPES:
        value = value.owner.operands[0]
        if len(list(value.uses)) != 1:
            return False
    if isinstance(value.owner, ir.Block) or is_part_of_dram(value.owner):
        return True
    return value.owner.name == "arith.constant" and splat_value(value) is None


def joint_parts(
    values: Values, generic: Generic, wanted: Sequence[Layout | None], digits: Sequence[Digits], result: Layout
) -> JointParts | None:
    """How a contraction is done in parts whose sums have the layout `result`; None if its factors are elsewhere, or
    that gains nothing."""
    if IS_PART in generic.op.operation.attributes:
        return None
    tiled = tiled_operands(generic)
    factors = [_factor(values, generic, i, wanted[i], digits, tiled.get(i)) for i in range(len(wanted))]
    left, right = factors if len(factors) == 2 else (None, None)
    if left is None or right is None:
        return None
    dims = [d for d, is_parallel in enumerate(generic.parallel) if not is_parallel]
    precision = precision_of(generic.op.operation)
    cut = joint_cut(Factor(left.layout, left.access), Factor(right.layout, right.access), result, dims, precision)
    return None if cut is None else JointParts(values, generic, digits, (left, right), cut)


def _factor(
    values: Values,
    generic: Generic,
    number: int,
    wanted: Layout | None,
    digits: Sequence[Digits],
    windowed: WindowedOperand | None,
) -> _Factor | None:
    """A factor of which nobody else wants anything, if it is in DRAM."""
    operand = generic.inputs[number]
    value = operand.value if windowed is None else windowed.source
    if not comes_alone(operand, windowed) or not values.is_in_dram(value):
        return None
    if windowed is not None:
        layout = tiled_layout(windowed.windows, generic.extents, digits)
        access = tiled_access(windowed.windows, generic.extents, digits)
        return _Factor(operand, windowed, layout, access)
    if operand.access is None or wanted is None:
        return None
    return _Factor(operand, None, wanted, iteration_access(operand))
