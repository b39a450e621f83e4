"""distribute: whole tensors -> the share of one PE, as annotated by assign-layouts.

before:  func @main(%x: tensor<256x64xf32>) -> tensor<256x10xf32> with linalg on tensors
after:   func @main(%x: memref<256x64xf32, DRAM>, %y: memref<256x10xf32, DRAM>) with mncore.dl, affine loops over the
         local buffers, mncore.matmul, mncore.reduce, mncore.relayout, mncore.ul

Every PE runs the same program on its own share. A tensor stays in local memory from its first use to its last.
"""

from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from mnc.core.bindings import func, ir
from mnc.core.context import error_at
from mnc.core.modules import functions_of
from mnc.core.pass_base import Pass
from mnc.core.static_shapes import check_static
from mnc.dialects.mncore import Constant, Ul
from mnc.dialects.mncore.attributes import layout_in, memory_attribute
from mnc.dialects.mncore.trips import keep_trips
from mnc.lowering.linalg_to_spmd.factors import operand_shape
from mnc.lowering.linalg_to_spmd.generics import GenericWriter
from mnc.lowering.linalg_to_spmd.homes import Homes, homes_in, waiting_arguments
from mnc.lowering.linalg_to_spmd.layout_attributes import OPERANDS, RESULT
from mnc.lowering.linalg_to_spmd.placed import (
    Dram,
    Local,
    Splat,
    Values,
    View,
    default_layout,
    flat_map,
    gather,
    make_local,
)
from mnc.lowering.linalg_to_spmd.reading import (
    is_transposition,
    read_generic,
    shape_of,
    splat_value,
    transposition_order,
)
from mnc.lowering.linalg_to_spmd.rearranging import (
    REARRANGEMENTS,
    RESHAPES,
    is_part_of_dram,
    is_reversal,
    is_stored_in_parts,
    padding_of,
    pieces_of,
    stored_parts,
)
from mnc.lowering.linalg_to_spmd.tiles import is_read_through
from mnc.lowering.linalg_to_spmd.words import check_words, short_mask, word_bits, word_type
from mnc.mncore_backend.layout import Layout, LayoutError, permute, reshape


def dram_type(tensor: Any) -> Any:
    """DRAM buffer holding a tensor of this type."""
    return ir.MemRefType.get(tensor.shape, word_type(tensor.element_type), memory_space=memory_attribute("DRAM"))


def annotated_layouts(op: Any, shapes: Sequence[Sequence[int]] = ()) -> tuple[list[Layout | None], Layout]:
    """The layouts of operands of these shapes, and that of the result, which assign-layouts wrote. Raises CompileError.
    """
    if RESULT not in op.attributes:
        raise error_at(op, "has no layouts", hint="run assign-layouts before distribute")
    try:
        wanted = zip(ir.ArrayAttr(op.attributes[OPERANDS]), shapes, strict=True) if shapes else ()
        operands = [None if isinstance(own, ir.UnitAttr) else layout_in(own, shape) for own, shape in wanted]
        return operands, layout_in(op.attributes[RESULT], shape_of(op.results[0]))
    except (KeyError, ValueError) as error:
        message = f"has layouts that cannot be read: {error}"
        raise error_at(op, message, hint="leave the layouts out and run assign-layouts") from None


def no_layout(layout: Layout) -> Layout:
    """What carries a layout over to a slice: nothing does."""
    raise LayoutError(f"{layout} cannot be carried over to a slice")


class _Writer:
    """Writes the new function while walking over the old one."""

    def __init__(self) -> None:
        self.values = Values()
        self.generics = GenericWriter(self.values)
        self.handlers: dict[str, Callable[[Any], object]] = {
            "arith.constant": self.constant,
            "tensor.empty": lambda op: None,
            "linalg.fill": self.splat,
            "linalg.generic": self.generic,
            **dict.fromkeys(REARRANGEMENTS, self.rearrangement),
            **dict.fromkeys(RESHAPES, self.reshape),
        }

    def visit(self, op: Any) -> None:
        handler = self.handlers.get(op.name)
        if handler is None:
            raise error_at(op, "has no lowering to the machine", hint="run graph-to-linalg and assign-layouts first")
        with op.location:
            handler(op)

    def constant(self, op: Any) -> None:
        result = op.results[0]
        if not isinstance(result.type, ir.RankedTensorType) or self.splat(op):
            return
        value = op.attributes["value"]
        made = Constant(dram_type(result.type), value)
        if "onnx.name" in op.attributes:
            made.operation.attributes["onnx.name"] = op.attributes["onnx.name"]
        self.values.states[result] = Dram(made.result)

    def splat(self, op: Any) -> bool:
        scalar = splat_value(op.results[0])
        if scalar is not None:
            self.values.states[op.results[0]] = Splat(scalar)
        return scalar is not None

    def generic(self, op: Any) -> None:
        if self.splat(op):
            return
        generic = read_generic(op.opview)
        result = op.results[0]
        if is_transposition(generic) and RESULT not in op.attributes:
            if self._is_splat(generic.inputs[0].value):
                self.values.states[result] = self.values.states[generic.inputs[0].value]
                return
            order = transposition_order(generic)
            inverse = [order.index(i) for i in range(len(order))]
            self._view(
                generic.inputs[0].value,
                result,
                lambda layout: permute(layout, order),
                lambda layout: permute(layout, inverse),
                order,
            )
            return
        if is_reversal(op) and is_part_of_dram(op):
            self.rearrangement(op)
            return
        wanted, layout = annotated_layouts(op, [operand_shape(own, generic.extents) for own in generic.inputs])
        self.values.states[result] = self.generics.write(generic, wanted, layout)

    def _is_splat(self, value: Any) -> bool:
        return isinstance(self.values.states.get(value), Splat)

    def _view(
        self,
        source: Any,
        result: Any,
        forward: Callable[..., Any],
        backward: Callable[..., Any],
        order: Sequence[int] | None = None,
    ) -> None:
        index_map: Any = pieces_of(result.owner)[0].index_map if result.owner.name in RESHAPES else None
        self.values.states[result] = View(source, forward, backward, index_map, order)

    def reshape(self, op: Any) -> None:
        source, result = op.operands[0], op.results[0]
        if source not in self.values.states and is_stored_in_parts(op):  # so is its source
            return
        state = self.values.states[source]
        if isinstance(state, Splat):
            self.values.states[result] = state
            return
        shapes = shape_of(source), shape_of(result)
        self._view(source, result, lambda layout: reshape(layout, shapes[1]), lambda layout: reshape(layout, shapes[0]))
        if RESULT in op.attributes:
            self.values.states[result] = self.values.bring(result, annotated_layouts(op)[1])

    def rearrangement(self, op: Any) -> None:
        if (op.name == "tensor.pad" and is_read_through(op)) or is_stored_in_parts(op):
            return
        if RESULT not in op.attributes and is_part_of_dram(op):
            self.part(op)
            return
        pieces = pieces_of(op)
        wanted, layout = annotated_layouts(op, [shape_of(piece.source) for piece in pieces])
        padding = word_bits(padding_of(op)) if op.name == "tensor.pad" else 0
        whole: Local | None = None
        for piece, want in zip(pieces, wanted, strict=True):
            if want is None:
                raise error_at(op, "has a source without a layout", hint="leave them out and run assign-layouts")
            source = self.generics.operand(piece.source, want)
            target = whole or make_local(layout, source.buffer.type.element_type)
            gather(source, target, piece.index_map, padding, onto=whole is not None)
            whole = target
        assert whole is not None  # every rearrangement has a piece
        self.values.states[op.results[0]] = whole

    def part(self, op: Any) -> None:
        """A slice of what is in DRAM, or of what is the same everywhere."""
        state = self.values.states[op.operands[0]]
        if isinstance(state, Splat):
            self.values.states[op.results[0]] = state
            return
        index_map = pieces_of(op)[0].index_map
        self.values.states[op.results[0]] = View(op.operands[0], no_layout, no_layout, index_map, is_part=True)

    def store_part(self, store: "_Store") -> None:
        """Unload a result of the function, or a part of one."""
        with ir.Location.unknown() if isinstance(store.value.owner, ir.Block) else store.value.owner.location:
            self.store(store.value, store.target, unsigned=store.unsigned, elements=store.elements, home=store.home)

    def store(
        self,
        value: Any,
        target: Any,
        *,
        unsigned: bool = False,
        elements: NDArray[np.int64] | None = None,
        home: Layout | None = None,
    ) -> None:
        """Unload a result of the function, if it has elements. Words of short unsigned integers are extended by zeros:
        arithmetic on them leaves copies of the sign bit. `elements`: those of the target that a part of it is; `home`:
        the layout in which it stays on the chip."""
        if 0 in shape_of(value):
            return
        if self._is_splat(value):
            local = self.generics.operand(value, default_layout(shape_of(value)))
        else:
            local = self.values.anywhere(value) if home is None else self.values.bring(value, home)
        mask = short_mask(ir.RankedTensorType(value.type).element_type) if unsigned else None
        if mask is not None:
            local = self.generics.masked(local, mask)
        stored = Ul(local.buffer, target)
        if elements is not None:
            stored.operation.attributes["index_map"] = flat_map(elements)


def _argument_attributes(old: Any, inputs: Sequence[Any], outputs: Sequence[Any]) -> Any:
    def with_role(attributes: Any, role: str) -> Any:
        named = {item.name: item.attr for item in attributes} if attributes is not None else {}
        return ir.DictAttr.get({**named, "mncore.role": ir.StringAttr.get(role)})

    def listed(name: str, count: int) -> list[Any]:
        attribute = old.attributes.get(name)
        return [ir.DictAttr(item) for item in ir.ArrayAttr(attribute)] if attribute else [None] * count

    before = [with_role(a, "input") for a in listed("arg_attrs", len(inputs))]
    after = [with_role(a, "output") for a in listed("res_attrs", len(outputs))]
    return ir.ArrayAttr.get([*before, *after])


@dataclass(frozen=True, eq=False)
class _Store:
    """What goes to a result of the function: all of it, or its `elements`."""

    value: Any
    target: Any
    unsigned: bool
    elements: NDArray[np.int64] | None = None
    home: Layout | None = None

    def parts(self) -> list["_Store"]:
        """The stores of its parts; none if it is stored whole."""
        found = stored_parts(self.value)
        if found[0].source == self.value:
            return []
        return [replace(self, value=part.source, elements=part.index_map) for part in found]


def distribute_function(old: Any, kept: Container[Any] = ()) -> None:
    """Replace a function on tensors by its per-PE program; `kept` arguments are where the run before left them."""
    block = old.regions[0].blocks[0]
    returned = list(block.operations)[-1]
    outputs = list(returned.operation.operands)
    for value in (*block.arguments, *outputs):
        if not isinstance(value.type, ir.RankedTensorType):
            raise error_at(old, f"has an argument or result {value.type}, which is no tensor", "pass tensors only")
    types = [dram_type(v.type) for v in (*block.arguments, *outputs)]
    name = ir.StringAttr(old.attributes["sym_name"]).value
    with old.location, ir.InsertionPoint(old):
        new = func.FuncOp(name, ir.FunctionType.get(types, []), visibility=None)
        new.attributes["arg_attrs"] = _argument_attributes(old, list(block.arguments), outputs)
        keep_trips(old, new)
        entry = new.add_entry_block()
    writer = _Writer()
    for argument, buffer in zip(block.arguments, entry.arguments, strict=False):
        writer.values.states[argument] = Dram(buffer, argument in kept)
    attributes = list(ir.ArrayAttr(new.attributes["arg_attrs"]))[len(block.arguments) :]
    targets = list(entry.arguments)[len(block.arguments) :]
    flags = ["mnc.unsigned" in ir.DictAttr(own) for own in attributes]
    homes = [next(iter(homes_in(ir.DictAttr(own))), None) for own in attributes]
    given = zip(outputs, targets, flags, homes, strict=True)
    stores = [_Store(value, target, flag, home=home) for value, target, flag, home in given]
    parts = [part for store in stores for part in store.parts()]
    with ir.InsertionPoint(entry):
        for op in block.operations:
            if op.operation.name != "func.return":
                writer.visit(op.operation)
            made = list(op.operation.results)
            for part in [part for part in parts if part.value in made]:  # nobody else may want it: it need not wait
                writer.store_part(part)
        for part in [part for part in parts if isinstance(part.value.owner, ir.Block)]:
            writer.store_part(part)
        for store in (store for store in stores if not store.parts()):
            writer.store_part(store)
        with returned.location:
            func.ReturnOp([])
    old.erase()


@dataclass(frozen=True)
class Distribute(Pass):
    """Rewrite functions on tensors as the program that every PE runs on its share."""

    name = "distribute"
    resident: Literal["nothing", "updates", "state", "batch"] = "nothing"

    def run(self, module: Any) -> None:
        """Rewrite every function of the module; raises CompileError for open shapes, and for constants that
        no word holds."""
        with module.context, ir.Location.unknown():
            for function in functions_of(module):
                check_static(function.operation)
                check_words(function.operation)
                kept = Homes.of_function(function.operation).arguments if self.resident != "nothing" else []
                distribute_function(function.operation, [*kept, *waiting_arguments(function.operation)])
