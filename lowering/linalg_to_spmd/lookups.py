"""Reads at computed indices: every PE reads the elements that it holds at their addresses, others give 0.

A dimension that an index chooses from is spread over PEs as a part of consecutive elements each, so the address within
a PE is the index less the first element that it holds; an index outside this part reads somewhere and counts as 0.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from mnc.core.bindings import arith, ir
from mnc.dialects.mncore import Constant, Dl, Lookup
from mnc.dialects.mncore.attributes import memory_attribute
from mnc.lowering.float_formats import word
from mnc.lowering.linalg_to_spmd.computed_reads import CHOSEN
from mnc.lowering.linalg_to_spmd.loops import Buffered, Nest, loops_of
from mnc.lowering.linalg_to_spmd.placed import Local, make_local
from mnc.lowering.linalg_to_spmd.reading import Generic
from mnc.lowering.linalg_to_spmd.scalars import EQ, ULT, compare_words
from mnc.lowering.linalg_to_spmd.words import word_type
from mnc.mncore_backend.layout import Layout
from mnc.mncore_backend.placement.candidates import Digits, project
from mnc.mncore_backend.placement.candidates.lookups import Choice, choices


def choices_of(generic: Generic, digits: Sequence[Digits], table: Layout | None) -> list[Choice] | None:
    """The dimensions that indices choose from, if a lookup can and should do it."""
    attributes = generic.op.operation.attributes
    if CHOSEN not in attributes or table is None:
        return None
    last = len(generic.extents)
    return choices(digits, range(last - ir.IntegerAttr(attributes[CHOSEN]).value, last), table)


def _firsts(choice: Choice) -> Local | None:
    """The first element that every place holds; None if that is 0 everywhere."""
    if choice.places == 1:
        return None
    i32 = ir.IntegerType.get_signless(32)
    layout = Layout((choice.places,), (choice.hardware,))
    local = make_local(layout, i32)
    values = np.arange(choice.places, dtype=np.int32) * np.int32(choice.part)
    source = ir.MemRefType.get([choice.places], i32, memory_space=memory_attribute("DRAM"))
    Dl(Constant(source, ir.DenseElementsAttr.get(values)).result, local.buffer)
    return local


class Lookups:
    """Emits the lookup of one generic; `indices` are in the order of `choices`."""

    def __init__(
        self, generic: Generic, digits: Sequence[Digits], choices: list[Choice], table: Local, indices: list[Local]
    ) -> None:
        self.generic = generic
        self.digits = digits
        self.choices = choices
        self.table = table
        self.dims = sorted({d for i in range(len(choices)) for d in self._access(1 + i) if d is not None})
        firsts = [_firsts(choice) for choice in choices]
        self.reads = [Buffered(local.buffer, local.layout, self._access(1 + i)) for i, local in enumerate(indices)] + [
            Buffered(local.buffer, local.layout, (None,)) for local in firsts if local is not None
        ]
        self.first_of = np.cumsum([0, *(local is not None for local in firsts)]) + len(indices)
        self.has_first = [local is not None for local in firsts]

    def _access(self, number: int) -> tuple[int | None, ...]:
        access = self.generic.inputs[number].access
        assert access is not None  # operands of lookups are made with a plain choice of dimensions
        return access

    def _over_indices(self, body: Any) -> Buffered:
        """Words computed from the indices, over the dimensions that they depend on."""
        extents = [self.generic.extents[d] for d in self.dims]
        layout = project(extents, [self.digits[d] for d in self.dims], tuple(range(len(extents))))
        local = make_local(layout, ir.IntegerType.get_signless(32))
        made = Buffered(local.buffer, layout, tuple(self.dims))
        parallel = [d in self.dims for d in range(len(self.digits))]
        shown = [own if is_used else () for own, is_used in zip(self.digits, parallel, strict=True)]
        Nest(shown, [True] * len(shown)).emit(self.reads, made, body)
        return made

    def _local(self, values: Sequence[Any], number: int) -> tuple[Any, Any]:
        """Index within the own part, and whether it is there."""
        choice = self.choices[number]
        index = values[number]
        if self.has_first[number]:
            index = arith.SubIOp(index, values[self.first_of[number]]).result
        inside = compare_words(ULT, index, word(choice.part))
        extent = self.generic.extents[choice.dim]
        if choice.places * choice.part != extent:
            inside = arith.AndIOp(inside, compare_words(ULT, values[number], word(extent))).result
        return index, inside

    def _address(self, values: Sequence[Any], _: Any) -> Any:
        """Word of the local memory, relative to the table; that of index 0 where an index is not in the own part."""
        table = Buffered(self.table.buffer, self.table.layout, self._access(0))
        total = None
        for number, choice in enumerate(self.choices):
            index, inside = self._local(values, number)
            loops = loops_of(self.digits, [choice.dim])
            step = word(2 * table.stride(loops[0]) if loops else 0)
            zero = word(0)
            term = arith.MulIOp(arith.SelectOp(inside, index, zero).result, step).result
            total = term if total is None else arith.AddIOp(total, term).result
        return total

    def _mask(self, values: Sequence[Any], _: Any) -> Any:
        """All ones where all indices are in the own part, else 0."""
        inside = [self._local(values, number)[1] for number in range(len(self.choices))]
        total = inside[0]
        for other in inside[1:]:
            total = arith.AndIOp(total, other).result
        return arith.SelectOp(total, word(-1), word(0)).result

    def write(self, layout: Layout) -> Local:
        """Read, and let what is not in the own part be 0; `layout` is that of the result."""
        element = word_type(ir.RankedTensorType(self.generic.op.operation.results[0].type).element_type)
        addresses, picked, target = (
            self._over_indices(self._address),
            make_local(layout, element),
            make_local(layout, element),
        )
        loops = loops_of(self.digits, [d for d, is_parallel in enumerate(self.generic.parallel) if is_parallel])
        table = Buffered(self.table.buffer, self.table.layout, self._access(0))
        write = Buffered(picked.buffer, layout, self.generic.result)
        made = Lookup(self.table.buffer, addresses.buffer, picked.buffer)
        made.operation.attributes["sizes"] = ir.DenseI64ArrayAttr.get([loop.size for loop in loops])
        for name, operand in (("table", table), ("address", addresses), ("target", write)):
            steps = ir.DenseI64ArrayAttr.get([operand.stride(loop) for loop in loops])
            made.operation.attributes[f"{name}_steps"] = steps
        digits = [own if p else () for own, p in zip(self.digits, self.generic.parallel, strict=True)]
        reads = [write, self._over_indices(self._mask)]
        result = Buffered(target.buffer, layout, self.generic.result)
        Nest(digits, [True] * len(digits)).emit(reads, result, lambda values, _: _masked(values[0], values[1]))
        return target


def _masked(value: Any, mask: Any) -> Any:
    """The value where the mask has ones, else 0."""
    if isinstance(value.type, ir.IntegerType) and value.type.width > 1:
        return arith.AndIOp(value, mask).result
    if isinstance(value.type, ir.IntegerType):
        return arith.AndIOp(value, arith.XOrIOp(compare_words(EQ, mask, word(0)), _true()).result).result
    masked = arith.AndIOp(arith.BitcastOp(mask.type, value).result, mask).result
    return arith.BitcastOp(value.type, masked).result


def _true() -> Any:
    i1 = ir.IntegerType.get_signless(1)
    return arith.ConstantOp(i1, ir.IntegerAttr.get(i1, 1)).result
