"""linalg.generic -> loops over the local share, matrix kernels and reductions across PEs."""

from collections.abc import Sequence
from dataclasses import replace
from math import prod
from typing import Any

from mnc.core.bindings import arith, ir
from mnc.core.context import error_at
from mnc.dialects.mncore import Reduce
from mnc.dialects.mncore.attributes import layout_in
from mnc.lowering.linalg_to_spmd.factors import iteration_access, operand_shape
from mnc.lowering.linalg_to_spmd.joint_parts import comes_alone, joint_parts
from mnc.lowering.linalg_to_spmd.layout_attributes import PARTIAL, precision_of
from mnc.lowering.linalg_to_spmd.lookups import Lookups, choices_of
from mnc.lowering.linalg_to_spmd.loops import Buffered, Nest, clone_body, combination_of, combine, is_bare
from mnc.lowering.linalg_to_spmd.placed import Local, Splat, Values, default_layout, gather, make_local, moved, retyped
from mnc.lowering.linalg_to_spmd.products import access_of, digits_of, emit_joint_parts, emit_products, strings
from mnc.lowering.linalg_to_spmd.reading import HARDWARE_COMBINERS, Generic, Input, combines_across_pes, shape_of
from mnc.lowering.linalg_to_spmd.rearranging import window_map
from mnc.lowering.linalg_to_spmd.streaming import contracted_first, streamed_factor
from mnc.lowering.linalg_to_spmd.tiles import WindowedOperand, copied_windows, tiled_operands
from mnc.lowering.linalg_to_spmd.window_copies import copied_from
from mnc.lowering.linalg_to_spmd.words import word_attribute, word_bits, word_type
from mnc.mncore_backend.layout import Axis, Layout
from mnc.mncore_backend.placement.candidates import (
    Access,
    Digits,
    copied_layout,
    project,
    same_places,
    source_layout,
    tile,
)
from mnc.mncore_backend.placement.candidates.lookups import Choice

NEUTRAL = {
    ("sum", True): 0.0, ("max", True): float("-inf"), ("min", True): float("inf"), ("prod", True): 1.0,
    ("sum", False): 0, ("max", False): -(2**31), ("min", False): 2**31 - 1, ("prod", False): 1, ("and", False): -1,
    ("or", False): 0, ("umax", False): 0, ("umin", False): -1,
}  # fmt: skip


def _reads(sources: Sequence[Local | Splat], accesses: Sequence[Access]) -> list[Buffered]:
    """Operands of a loop nest that lie in memory."""
    pairs = zip(sources, accesses, strict=True)
    return [Buffered(s.buffer, s.layout, access, s.strides) for s, access in pairs if isinstance(s, Local)]


class GenericWriter:
    """Emits the local form of one generic after another."""

    def __init__(self, values: Values) -> None:
        self.values = values

    def operand(self, value: Any, layout: Layout) -> Local:
        """The tensor in a layout; a splat is written out."""
        state = self.values.states[value]
        if not isinstance(state, Splat):
            return self.values.bring(value, layout)
        element = word_type(ir.RankedTensorType(value.type).element_type)
        local = make_local(layout, element)
        digits, access = layout.dims, tuple(range(len(layout.dims)))
        constant = word_attribute(state.value.value, element)
        nest = Nest(digits, [True] * len(digits))
        nest.emit([], Buffered(local.buffer, layout, access), lambda _, __: arith.ConstantOp(element, constant).result)
        return local

    def window(self, operand: Input, generic: Generic, layout: Layout) -> Local:
        """The window view of an operand: every iteration point gets its own copy of the element it reads. From DRAM the
        copies come as the host arranges them, unless it takes less to bring the tensor to where they are, and to make
        them there."""
        index_map, shape = window_map(operand, generic.extents), shape_of(operand.value)
        if self.values.is_in_dram(operand.value):
            windows = copied_windows(operand, generic.parallel)
            near = None if windows is None else copied_layout(windows, operand.dims, layout, shape)
            place = copied_from([own for own in (default_layout(shape), near) if own is not None], layout, index_map)
            if place is None:
                return self.values.load_elements(operand.value, layout, index_map)
            source = self.values.bring(operand.value, place)
        else:
            source = self.values.anywhere(operand.value)
        target = make_local(layout, source.buffer.type.element_type)
        gather(source, target, index_map)
        return target

    def write(self, generic: Generic, wanted: Sequence[Layout | None], layout: Layout) -> Local:
        """Emit a generic; `wanted` are the layouts of its inputs, `layout` the one of its result."""
        if generic.kind == "contraction":
            sums = self._partial(generic, layout)
            digits = digits_of(generic, wanted, sums)
            parts = joint_parts(self.values, generic, wanted, digits, sums)
            if parts is not None:
                target = make_local(sums, ir.F32Type.get())
                emit_joint_parts(parts, target)
                return self._sum(generic, parts.layouts, parts.accesses, target, layout)
            wanted = [self._as_used(generic, i, want) for i, want in enumerate(wanted)]
            number, _ = streamed_factor(generic.op)
            sources = [self._source(generic, i, want, digits) if i != number else None for i, want in enumerate(wanted)]
            factors: list[Local | None] = []
            for operand, source, want in zip(generic.inputs, sources, wanted, strict=True):
                if isinstance(source, Splat):
                    shape = operand_shape(operand, generic.extents)
                    source = self.operand(operand.value, want or default_layout(shape))
                factors.append(source)
            return self.contraction(generic, factors, wanted, layout)
        return self.loops(generic, wanted, layout)

    def _as_used(self, generic: Generic, number: int, want: Layout | None) -> Layout | None:
        """Where a factor of a contraction comes to, in the order in which it is used, if nobody else reads it."""
        operand = generic.inputs[number]
        if want is None or operand.access is None or not comes_alone(operand, None):
            return want
        precision = precision_of(generic.op.operation)
        return contracted_first(want, operand.access, generic.parallel, precision)

    def _source(self, generic: Generic, number: int, want: Layout | None, digits: Sequence[Digits]) -> Local | Splat:
        """An operand where the loops need it: as it is, as tiles with halos, or as a copy for every iteration."""
        operand = generic.inputs[number]
        state = self.values.states.get(operand.value)
        if isinstance(state, Splat):
            return state
        if want is None:
            return self._tiles(tiled_operands(generic)[number], generic, digits)  # only such operands have no layout
        if operand.access is None:
            return self.window(operand, generic, want)
        return self.values.bring(operand.value, want)

    def _tiles(self, operand: WindowedOperand, generic: Generic, digits: Sequence[Digits]) -> Local:
        shape = shape_of(operand.source)
        tiled = tile(operand.windows, generic.extents, digits, shape)
        if isinstance(self.values.states[operand.source], Splat):
            self.values.states[operand.source] = self.operand(operand.source, default_layout(shape))
        places = source_layout(operand.windows, digits, shape)
        return self.values.tiles(operand.source, tiled, places, operand.padding or 0)

    def loops(self, generic: Generic, wanted: Sequence[Layout | None], layout: Layout) -> Local:
        """Element-wise work and reductions."""
        digits = digits_of(generic, wanted, layout)
        choices = choices_of(generic, digits, wanted[0] if wanted else None)
        if choices is not None:
            return self._across(generic, digits, self._lookup(generic, digits, choices, wanted, layout))
        sources = [self._source(generic, i, want, digits) for i, want in enumerate(wanted)]
        accesses = [access_of(operand, source) for operand, source in zip(generic.inputs, sources, strict=True)]
        if all(generic.parallel):
            return self._nest(generic, digits, sources, accesses, layout, None)
        return self._reduction(generic, digits, sources, accesses, layout)

    def _lookup(
        self,
        generic: Generic,
        digits: Sequence[Digits],
        choices: list[Choice],
        wanted: Sequence[Layout | None],
        layout: Layout,
    ) -> Local:
        given = zip(generic.inputs, wanted, range(1 + len(choices)), strict=False)
        table, *indices = (self.operand(i.value, want) for i, want, _ in given if want is not None)
        return Lookups(generic, digits, choices, table, indices).write(layout)

    def _reduction(
        self,
        generic: Generic,
        digits: Sequence[Digits],
        sources: Sequence[Local | Splat],
        accesses: Sequence[Any],
        layout: Layout,
    ) -> Local:
        element = word_type(ir.RankedTensorType(generic.op.operation.results[0].type).element_type)
        neutral, _ = self._neutral(generic, element)
        reduced = [d for d, is_parallel in enumerate(generic.parallel) if not is_parallel]
        padded = [d for d in reduced if prod(x.size for x in digits[d]) != generic.extents[d]]
        if padded and not self._is_plain(generic, sources, accesses, padded):
            partial = self._reduce_values(generic, digits, sources, accesses, layout, neutral)
        else:
            for source, access in zip(sources, accesses, strict=True):
                if isinstance(source, Local):
                    self.values.fill_padding(
                        source, word_bits(neutral), (i for i, d in enumerate(access) if d in reduced)
                    )
            partial = self._nest(generic, digits, sources, accesses, layout, neutral)
        return self._across(generic, digits, partial)

    def _across(self, generic: Generic, digits: Sequence[Digits], partial: Local) -> Local:
        """The combination of what PEs hold that differ in the reduced dimensions, and of the initial tensor."""
        reduced = [d for d, is_parallel in enumerate(generic.parallel) if not is_parallel]
        axes = {x.axis: 0 for d in reduced for x in digits[d] if x.axis is not Axis.ADDRESS and x.size > 1}
        for d in reduced:
            for x in digits[d]:
                if x.axis in axes:
                    axes[x.axis] |= (x.size - 1) * x.stride
        if axes and not combines_across_pes(generic):
            raise error_at(generic.op, f"cannot combine '{generic.combiner}' across processing elements")
        total = self.reduce(partial, generic.combiner or "sum", axes) if axes else partial
        _, starts_neutral = self._neutral(generic, total.buffer.type.element_type)
        return total if starts_neutral else self._with_start(generic, total)

    @staticmethod
    def _is_plain(generic: Generic, sources: Sequence[Any], accesses: Sequence[Any], padded: Sequence[int]) -> bool:
        """Whether the body combines an operand as it is, and that has the padding of these dimensions: then it can be
        made neutral there and has no effect."""
        block = generic.op.operation.regions[0].blocks[0]
        summand = combination_of(block)[1]
        if not isinstance(summand.owner, ir.Block):
            return False
        number = generic.arguments[list(block.arguments).index(summand)]
        is_held = isinstance(number, int) and isinstance(sources[number], Local)
        return is_held and all(d in accesses[number] for d in padded)

    def _reduce_values(
        self,
        generic: Generic,
        digits: Sequence[Digits],
        sources: Sequence[Local | Splat],
        accesses: Sequence[Any],
        layout: Layout,
        neutral: Any,
    ) -> Local:
        """Write out what is reduced, then reduce it: only there can padding be made neutral, as e**x of it is not."""
        block = generic.op.operation.regions[0].blocks[0]
        element = word_type(combination_of(block)[1].type)
        access = tuple(range(len(generic.extents)))
        values = make_local(project(generic.extents, digits, access), element)
        reads = _reads(sources, accesses)

        def body(loaded: Sequence[Any], _: Any) -> Any:
            return clone_body(block, [*self._arguments(generic, sources, loaded), None], uncombined=True)

        nest = Nest(digits, [True] * len(access))
        nest.emit(reads, Buffered(values.buffer, values.layout, access), body)
        self.values.fill_padding(values, word_bits(neutral), (d for d in access if not generic.parallel[d]))
        target = make_local(layout, element)
        read = Buffered(values.buffer, values.layout, access)
        write = Buffered(target.buffer, target.layout, generic.result)
        Nest(digits, generic.parallel).emit([read], write, lambda v, total: combine(block, v[0], total), neutral)
        return target

    def _arguments(self, generic: Generic, sources: Sequence[Local | Splat], loaded: Sequence[Any]) -> list[Any]:
        """Values of the block arguments before the accumulator."""
        remaining = iter(loaded)
        values = [self._splat(s) if isinstance(s, Splat) else next(remaining) for s in sources]
        return [values[a] if isinstance(a, int) else None for a in generic.arguments]

    def _neutral(self, generic: Generic, element: Any) -> tuple[Any, bool]:
        """What the accumulation starts from, and whether that stands for the initial tensor too.

        Where combining a value twice changes nothing, a splat is as good as the neutral value.
        """
        combiner = generic.combiner or ""
        neutral = self._identity(generic, element)
        state = self.values.states.get(generic.init)
        if not isinstance(state, Splat):
            return neutral, False
        start = word_attribute(state.value.value, state.value.type)
        if combiner not in ("sum", "prod"):
            return start, True
        return neutral, start.value == neutral.value

    @staticmethod
    def _identity(generic: Generic, element: Any) -> Any:
        return word_attribute(NEUTRAL[generic.combiner or "", not isinstance(element, ir.IntegerType)], element)

    def _with_start(self, generic: Generic, total: Local) -> Local:
        """Combine the tensor that a reduction accumulates onto."""
        start = self.operand(generic.init, total.layout)
        target = make_local(total.layout, total.buffer.type.element_type)
        access = tuple(range(len(total.layout.dims)))
        block = generic.op.operation.regions[0].blocks[0]
        reads = [Buffered(x.buffer, x.layout, access) for x in (total, start)]
        write = Buffered(target.buffer, target.layout, access)
        Nest(total.layout.dims, [True] * len(access)).emit(reads, write, lambda v, _: combine(block, v[0], v[1]))
        return target

    def _nest(
        self,
        generic: Generic,
        digits: Sequence[Digits],
        sources: Sequence[Local | Splat],
        accesses: Sequence[Any],
        layout: Layout,
        neutral: Any,
    ) -> Local:
        element = word_type(ir.RankedTensorType(generic.op.operation.results[0].type).element_type)
        block = generic.op.operation.regions[0].blocks[0]
        reads = _reads(sources, accesses)
        nest = Nest(digits, generic.parallel)
        # Where a PE holds one element of each sum, there is nothing to combine in it.
        alone = neutral is not None and not nest.reduction and neutral == self._identity(generic, element)
        write = Buffered(None, layout, generic.result)
        if alone and is_bare(block) and len(reads) == 1 and reads[0].map(nest.parallel) == write.map(nest.parallel):
            source = next(source for source in sources if isinstance(source, Local))
            if source.layout.local_size == layout.local_size:
                return retyped(source, layout)
        target = make_local(layout, element)

        def body(loaded: Sequence[Any], accumulator: Any) -> Any:
            arguments = [*self._arguments(generic, sources, loaded), accumulator]
            return clone_body(block, arguments, uncombined=alone)

        nest.emit(reads, replace(write, buffer=target.buffer), body, None if alone else neutral)
        return target

    @staticmethod
    def _splat(state: Splat) -> Any:
        value = word_attribute(state.value.value, state.value.type)
        return arith.ConstantOp(value.type, value).result

    def reduce(self, partial: Local, kind: str, axes: dict[Axis, int], layout: Layout | None = None) -> Local:
        """Combine partial values along hardware axes; `axes` gives the coordinate bits that hold different parts. The
        result comes to `layout`, or stays where the parts are."""
        assert kind in HARDWARE_COMBINERS
        target = make_local(layout or partial.layout, partial.buffer.type.element_type)
        op = Reduce(partial.buffer, target.buffer, ir.StringAttr.get(kind), strings([axis.value for axis in axes]))
        op.operation.attributes["bits"] = ir.DenseI64ArrayAttr.get(list(axes.values()))
        return target

    def masked(self, source: Local, mask: int) -> Local:
        """A tensor of integers with the bits of `mask` of each word."""
        word = ir.IntegerType.get_signless(32)
        target = make_local(source.layout, word)
        access = tuple(range(len(source.layout.dims)))

        def body(values: Sequence[Any], _: Any) -> Any:
            return arith.AndIOp(values[0], arith.ConstantOp(word, ir.IntegerAttr.get(word, mask)).result).result

        read = Buffered(source.buffer, source.layout, access)
        nest = Nest(source.layout.dims, [True] * len(access))
        nest.emit([read], Buffered(target.buffer, target.layout, access), body)
        return target

    def contraction(
        self, generic: Generic, factors: Sequence[Local | None], wanted: Sequence[Layout | None], layout: Layout
    ) -> Local:
        """A matrix kernel per MAB, and the sum of the parts where the contracted dimension is split. A factor that is
        None comes in parts."""
        target = make_local(self._partial(generic, layout), ir.F32Type.get())
        pairs = zip(factors, wanted, strict=True)
        layouts = [held for f, want in pairs if (held := want if f is None else f.layout) is not None]
        accesses = [
            iteration_access(operand) if factor is None else access_of(operand, factor)
            for operand, factor in zip(generic.inputs, factors, strict=True)
        ]
        emit_products(self.values, generic, factors, layouts, accesses, target)
        return self._sum(generic, layouts, accesses, target, layout)

    def _sum(
        self,
        generic: Generic,
        layouts: Sequence[Layout],
        accesses: Sequence[Access],
        target: Local,
        layout: Layout,
    ) -> Local:
        """The sum of what the MABs hold of a product, where `layout` says, on top of what it accumulates onto."""
        axes: dict[Axis, int] = {}
        for access, held in zip(accesses, layouts, strict=True):
            for d, own in zip(access, held.dims, strict=True):
                for x_ in own if d is not None and not generic.parallel[d] else ():
                    if x_.axis in (Axis.L2B, Axis.L1B, Axis.MAB) and x_.size > 1:
                        axes[x_.axis] = axes.get(x_.axis, 0) | (x_.size - 1) * x_.stride
        if axes:
            # Over L2Bs the sum is left whole: it may turn out that only a store needs it.
            target = self.reduce(target, "sum", axes, target.layout if Axis.L2B in axes else layout)
        if not same_places(target.layout, layout):
            target = moved(target, layout)
        return self._with_init(generic, target)

    @staticmethod
    def _partial(generic: Generic, layout: Layout) -> Layout:
        """Layout of the partial sums of a contraction with this result."""
        attributes = generic.op.operation.attributes
        return layout_in(attributes[PARTIAL], layout.shape) if PARTIAL in attributes else layout

    def _with_init(self, generic: Generic, product: Local) -> Local:
        """Add the tensor that the contraction accumulates onto, unless it is zero."""
        state = self.values.states.get(generic.init)
        if isinstance(state, Splat) and state.value.value == 0:
            return product
        start = self.operand(generic.init, product.layout)
        target = make_local(product.layout, ir.F32Type.get())
        access = tuple(range(len(product.layout.dims)))
        nest = Nest(product.layout.dims, [True] * len(access))
        reads = [Buffered(x.buffer, x.layout, access) for x in (product, start)]
        write = Buffered(target.buffer, target.layout, access)
        nest.emit(reads, write, lambda values, _: arith.AddFOp(*values).result)
        return target
