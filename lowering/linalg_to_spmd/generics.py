"""linalg.generic -> loops over the local share, matrix kernels and reductions across PEs."""

from collections.abc import Sequence
from math import prod
from typing import Any

from mnc.core.bindings import arith, ir
from mnc.core.context import error_at
from mnc.dialects.mncore import Matmul, Reduce
from mnc.lowering.linalg_to_spmd.assign_layouts import (
    HARDWARE_COMBINERS,
    PARTIAL,
    PRECISION,
    combines_across_pes,
    iteration_access,
    operand_shape,
)
from mnc.lowering.linalg_to_spmd.loops import Buffered, Nest, clone_body, combination_of, combine
from mnc.lowering.linalg_to_spmd.placed import Local, Splat, Values, gather, make_local, moved
from mnc.lowering.linalg_to_spmd.reading import Generic, Input
from mnc.lowering.linalg_to_spmd.rearranging import window_map
from mnc.lowering.linalg_to_spmd.words import word_attribute, word_bits, word_type
from mnc.mncore_backend.distribution import Digits, iteration_digits, project, same_places
from mnc.mncore_backend.layout import Axis, Layout, parse

NEUTRAL = {
    ("sum", True): 0.0, ("max", True): float("-inf"), ("min", True): float("inf"), ("prod", True): 1.0,
    ("sum", False): 0, ("max", False): -(2**31), ("min", False): 2**31 - 1, ("prod", False): 1, ("and", False): -1,
    ("or", False): 0, ("umax", False): 0, ("umin", False): -1,
}  # fmt: skip


def _strings(texts: Sequence[str]) -> Any:
    return ir.ArrayAttr.get([ir.StringAttr.get(text) for text in texts])


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
        """The window view of an operand: every iteration point gets its own copy of the element it reads."""
        source = self.values.anywhere(operand.value)
        target = make_local(layout, source.buffer.type.element_type)
        gather(source, target, window_map(operand, generic.extents))
        return target

    def write(self, generic: Generic, texts: Sequence[str], layout: Layout) -> Local:
        """Emit a generic; `texts` are the layouts wanted for its inputs, `layout` the one of its result."""
        wanted = [
            parse(text, operand_shape(i, generic.extents)) for i, text in zip(generic.inputs, texts, strict=True)
        ]
        if generic.kind == "contraction":
            locals_ = [
                self.operand(i.value, w) if i.access is not None else self.window(i, generic, w)
                for i, w in zip(generic.inputs, wanted, strict=True)
            ]
            return self.contraction(generic, locals_, layout)
        return self.loops(generic, wanted, layout)

    def loops(self, generic: Generic, wanted: Sequence[Layout], layout: Layout) -> Local:
        """Element-wise work and reductions."""
        accesses = [iteration_access(i) for i in generic.inputs]
        pairs = [*zip(wanted, accesses, strict=True), (layout, generic.result)]
        digits = iteration_digits(len(generic.extents), pairs)
        sources: list[Local | Splat] = []
        for operand, want in zip(generic.inputs, wanted, strict=True):
            state = self.values.states[operand.value]
            if isinstance(state, Splat):
                sources.append(state)
            elif operand.access is None:
                sources.append(self.window(operand, generic, want))
            else:
                sources.append(self.values.bring(operand.value, want))
        if all(generic.parallel):
            return self._nest(generic, digits, sources, accesses, layout, None)
        return self._reduction(generic, digits, sources, accesses, layout)

    def _reduction(
        self,
        generic: Generic,
        digits: Sequence[Digits],
        sources: Sequence[Local | Splat],
        accesses: Sequence[Any],
        layout: Layout,
    ) -> Local:
        element = word_type(ir.RankedTensorType(generic.op.operation.results[0].type).element_type)
        neutral, starts_neutral = self._neutral(generic, element)
        reduced = [d for d, is_parallel in enumerate(generic.parallel) if not is_parallel]
        padded = [d for d in reduced if prod(x.size for x in digits[d]) != generic.extents[d]]
        if padded and not self._is_plain(generic, sources, accesses, padded):
            partial = self._reduce_values(generic, digits, sources, accesses, layout, neutral)
        else:
            for source, access in zip(sources, accesses, strict=True):
                if isinstance(source, Local) and any(d in access for d in reduced):
                    self.values.fill_padding(source, word_bits(neutral))
            partial = self._nest(generic, digits, sources, accesses, layout, neutral)
        axes = {x.axis: 0 for d in reduced for x in digits[d] if x.axis is not Axis.ADDRESS and x.size > 1}
        for d in reduced:
            for x in digits[d]:
                if x.axis in axes:
                    axes[x.axis] |= (x.size - 1) * x.stride
        if axes and not combines_across_pes(generic):
            raise error_at(generic.op, f"cannot combine '{generic.combiner}' across processing elements")
        total = self.reduce(partial, generic.combiner or "sum", axes) if axes else partial
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
        pairs = zip(sources, accesses, strict=True)
        reads = [Buffered(source.buffer, source.layout, a) for source, a in pairs if isinstance(source, Local)]

        def body(loaded: Sequence[Any], _: Any) -> Any:
            return clone_body(block, [*self._arguments(generic, sources, loaded), None], uncombined=True)

        nest = Nest(digits, [True] * len(access))
        nest.emit(reads, Buffered(values.buffer, values.layout, access), body)
        self.values.fill_padding(values, word_bits(neutral))
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
        neutral = word_attribute(NEUTRAL[combiner, not isinstance(element, ir.IntegerType)], element)
        state = self.values.states.get(generic.init)
        if not isinstance(state, Splat):
            return neutral, False
        start = word_attribute(state.value.value, state.value.type)
        if combiner not in ("sum", "prod"):
            return start, True
        return neutral, start.value == neutral.value

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
        target = make_local(layout, element)
        block = generic.op.operation.regions[0].blocks[0]
        pairs = zip(sources, accesses, strict=True)
        reads = [Buffered(source.buffer, source.layout, a) for source, a in pairs if isinstance(source, Local)]

        def body(loaded: Sequence[Any], accumulator: Any) -> Any:
            return clone_body(block, [*self._arguments(generic, sources, loaded), accumulator])

        nest = Nest(digits, generic.parallel)
        nest.emit(reads, Buffered(target.buffer, target.layout, generic.result), body, neutral)
        return target

    @staticmethod
    def _splat(state: Splat) -> Any:
        value = word_attribute(state.value.value, state.value.type)
        return arith.ConstantOp(value.type, value).result

    def reduce(self, partial: Local, kind: str, axes: dict[Axis, int]) -> Local:
        """Combine partial values along hardware axes; `axes` gives the coordinate bits that hold different parts."""
        assert kind in HARDWARE_COMBINERS
        target = make_local(partial.layout, partial.buffer.type.element_type)
        op = Reduce(partial.buffer, target.buffer, ir.StringAttr.get(kind), _strings([axis.value for axis in axes]))
        op.operation.attributes["bits"] = ir.DenseI64ArrayAttr.get(list(axes.values()))
        return target

    def overlay(self, parts: Sequence[Local]) -> Local:
        """Bitwise or of tensors of which at most one is not zero at any place: joins the pieces of a concatenation."""
        while len(parts) > 1:
            pairs = [parts[i : i + 2] for i in range(0, len(parts), 2)]
            parts = [self._or(*pair) if len(pair) == 2 else pair[0] for pair in pairs]
        return parts[0]

    def _or(self, a: Local, b: Local) -> Local:
        element = a.buffer.type.element_type
        target = make_local(a.layout, element)
        access = tuple(range(len(a.layout.dims)))
        word = ir.IntegerType.get_signless(32)

        def body(values: Sequence[Any], _: Any) -> Any:
            if isinstance(element, ir.IntegerType):
                return arith.OrIOp(*values).result
            joined = arith.OrIOp(*(arith.BitcastOp(word, value).result for value in values)).result
            return arith.BitcastOp(element, joined).result

        nest = Nest(a.layout.dims, [True] * len(access))
        reads = [Buffered(x.buffer, x.layout, access) for x in (a, b)]
        nest.emit(reads, Buffered(target.buffer, target.layout, access), body)
        return target

    def contraction(self, generic: Generic, factors: Sequence[Local], layout: Layout) -> Local:
        """A matrix kernel per MAB, and the sum of the parts where the contracted dimension is split."""
        attributes = generic.op.operation.attributes
        swapped = ir.StringAttr(attributes["mncore.matrix"]).value == "left"
        names = self._dim_names(generic, swapped)
        for factor in factors:
            self.values.fill_padding(factor, 0)
        partial = layout
        if PARTIAL in attributes:
            partial = parse(ir.StringAttr(attributes[PARTIAL]).value, layout.shape)
        target = make_local(partial, ir.F32Type.get())
        accesses = [iteration_access(i) for i in generic.inputs]
        order = (1, 0) if swapped else (0, 1)
        x, w = (factors[i] for i in order)
        dims = [[names.get(d, "one") for d in accesses[i]] for i in order]
        dims.append([names.get(d, "one") for d in generic.result])
        precision = attributes[PRECISION]
        Matmul(x.buffer, w.buffer, target.buffer, *(_strings(d) for d in dims), ir.StringAttr(precision))
        axes: dict[Axis, int] = {}
        for access, factor in zip(accesses, factors, strict=True):
            for d, own in zip(access, factor.layout.dims, strict=True):
                for x_ in own if d is not None and not generic.parallel[d] else ():
                    if x_.axis in (Axis.L2B, Axis.L1B, Axis.MAB) and x_.size > 1:
                        axes[x_.axis] = axes.get(x_.axis, 0) | (x_.size - 1) * x_.stride
        if axes:
            target = self.reduce(target, "sum", axes)
        if not same_places(target.layout, layout):
            target = moved(target, layout)
        return self._with_init(generic, target)

    @staticmethod
    def _dim_names(generic: Generic, swapped: bool) -> dict[Any, str]:
        left, right = (iteration_access(i) for i in generic.inputs)
        names: dict[Any, str] = {}
        for d, is_parallel in enumerate(generic.parallel):
            role = "k" if not is_parallel else "b" if d in left and d in right else "m" if d in left else "n"
            names[d] = f"{ {'m': 'n', 'n': 'm'}.get(role, role) if swapped else role}{d}"
        return names

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
