"""select-instructions: the per-PE program -> machine operations over buffers without addresses.

before:  mncore.dl, affine.for nests, mncore.matmul, mncore.reduce, mncore.relayout, mncore.ul on memrefs
after:   mncore.buffer, mncore.image and a flat list of mncore.instruction

Operations stand in the order of the function, those of a kernel or movement together, with its number in their
location.
"""

import itertools
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np

from mnc.core import events
from mnc.core.bindings import ir
from mnc.core.context import error_at
from mnc.core.diagnostics import CompileError, node_name
from mnc.core.modules import functions_of
from mnc.core.view_pass import View, ViewPass
from mnc.dialects.graph.attributes import to_numpy
from mnc.dialects.mncore import filled_dims, reduced_axes, summed_axes
from mnc.dialects.mncore.attributes import memory_attribute, placed_attribute, placement_of
from mnc.dialects.mncore.movement import ENCODING
from mnc.dialects.mncore.trips import read_slice
from mnc.mncore_backend.assembly.records import Memory
from mnc.mncore_backend.codegen.host_ir import replace_body
from mnc.mncore_backend.codegen.program_ir import Unit, make_names_unique
from mnc.mncore_backend.codegen.selection.leaving import Leaving
from mnc.mncore_backend.codegen.selection.matmul import going_on, matmul_specs
from mnc.mncore_backend.codegen.selection.nests import NestReader
from mnc.mncore_backend.codegen.selection.owners import reader_names
from mnc.mncore_backend.codegen.trips import Slice
from mnc.mncore_backend.kernels.matmul import Sums, emit_matmul, sums_fit
from mnc.mncore_backend.kernels.padding import CoordinateParts, emit_fill_padding, emit_fill_unused
from mnc.mncore_backend.kernels.vector import ConstantPool, emit_vector
from mnc.mncore_backend.layout import Axis, Layout, equivalent, row_longs
from mnc.mncore_backend.movement import (
    DramImage,
    Plan,
    plan_gather,
    plan_loads,
    plan_reduce,
    plan_reduce_scatter,
    plan_relayout,
    plan_stores,
)
from mnc.mncore_backend.movement.lookup import emit_lookup
from mnc.mncore_backend.movement.spill import Spilled, plan_fetch, plan_spill
from mnc.mncore_backend.program import LOCAL_MEMORY, Buffer, Builder, Origin, Program
from mnc.mncore_backend.target import CYCLES_PER_STEP, chip

SILENT = (
    "func.return", "arith.constant", "memref.alloc", "memref.memory_space_cast", "mncore.resident", "mncore.scratch",
)  # fmt: skip
PADDED = 64
"""Long words of a tensor from which a last step that is not full does not matter."""
Role = Literal["input", "constant", "output"]


@dataclass
class HostTensor:
    """A tensor that the host writes or reads: its name, role, DRAM arrangement and, for constants, its value."""

    name: str
    role: Role
    dtype: str
    image: DramImage
    value: np.ndarray | None = None
    part: Slice | None = None
    encoding: str = ""


@dataclass
class Selection:
    """A program, the tensors that cross its border, and the buffers that outlive a run with what is said of them."""

    program: Program = field(default_factory=Program)
    tensors: list[HostTensor] = field(default_factory=list)
    kept: list[tuple[Buffer, dict[str, Any]]] = field(default_factory=list)


def _dtype(type_: Any, *, is_unsigned: bool = False) -> str:
    element = type_.element_type
    if not isinstance(element, ir.IntegerType):
        return "float32"
    if element.width == 1:
        return "bool"
    return "uint32" if is_unsigned and element.width >= 32 else "int32"


def machine_words(value: np.ndarray) -> np.ndarray:
    """A constant as 32-bit words: floats to single, integers and booleans to int32."""
    return value.astype(np.float32 if value.dtype.kind in "fV" else np.int32, copy=False)


def _rearranged(image: DramImage, op: Any) -> DramImage:
    """The image of a load whose target holds the elements of the source in another arrangement."""
    index_map = np.append(to_numpy(op.attributes["index_map"]).astype(np.int64), -1)
    padding = ir.IntegerAttr(op.attributes["padding"]).value & 0xFFFFFFFF
    return replace(image, shape=tuple(op.operands[0].type.shape), index=index_map[image.index], padding=padding)


class _Selector:
    """Walks over the function once, in program order."""

    def __init__(self, function: Any) -> None:
        self.function = function
        self.selection = Selection()
        self.builder = Builder(self.selection.program)
        self.constants = ConstantPool(self.builder)
        self.coordinates: CoordinateParts = {}
        self.buffers: dict[Any, Buffer] = {}
        self.sources: dict[Any, HostTensor | tuple[str, np.ndarray]] = {}
        self.names: dict[Any, str] = {}
        self.dtypes: dict[Any, str] = {}
        self.parts: dict[Any, Slice | None] = {}
        self._read_arguments()
        self.loads: dict[Any, Any] | None = None
        self.stores: dict[Any, DramImage] = {}
        self.spilled: dict[Any, Spilled] = {}
        self.leaving = Leaving(self.builder)
        self.goes_on: set[Any] = set()
        self.sums: dict[Buffer, list[Sums]] = {}

    def _read_arguments(self) -> None:
        """Names of arguments, what the host sees of each, and which part of it each trip takes."""
        given = self.function.attributes.get("arg_attrs")
        for i, argument in enumerate(self.function.regions[0].blocks[0].arguments):
            own = ir.DictAttr(given[i]) if given is not None else {}
            self.names[argument] = ir.StringAttr(own["onnx.name"]).value if "onnx.name" in own else f"arg{i}"
            self.dtypes[argument] = _dtype(ir.MemRefType(argument.type), is_unsigned="mnc.unsigned" in own)
            self.parts[argument] = read_slice(own)

    def run(self) -> Selection:
        """The operations in the order of the function, those of a kernel or movement together."""
        operations = [op.operation for op in self.function.regions[0].blocks[0].operations]
        for operation in operations:
            if operation.name == "memref.alloc":
                self.allocate(operation)
            elif operation.name == "mncore.resident":
                self.resident(operation)
            elif operation.name == "memref.memory_space_cast":
                self.alias(operation)
        self.goes_on = going_on(operations)
        readers = reader_names(operations)
        for number, operation in enumerate(operations):
            if operation.name in SILENT:
                continue
            handler = _HANDLERS.get(operation.name)
            if handler is None:
                raise error_at(operation, "has no instructions for it", "run distribute and what follows it first")
            if not self.leaving.may_wait_for(operation, self.buffers):
                self.leaving.finish()
            if operation.name == "mncore.dl" and self.loads is None:
                self._start_loads()
            name = readers.get(operation) or node_name(operation.location) or ""
            events.emit("node", name)
            self.builder.location = Origin(name, number)
            handler(self, operation)
            if operation.name == "mncore.matmul":
                self.leaving.next()
        self.leaving.finish()
        self._add_empty_outputs()
        return self.selection

    def _add_empty_outputs(self) -> None:
        """Results without elements: the host makes them, no memory is behind them."""
        attributes = self.function.attributes.get("arg_attrs")
        for i, value in enumerate(self.names):
            type_ = ir.MemRefType(value.type)
            if 0 in type_.shape:
                own: Any = ir.DictAttr(attributes[i]) if attributes is not None else {}
                if "mncore.role" not in own:
                    hint = 'write mncore.role = "input" or "output" to it, as distribute does'
                    raise error_at(self.function, f"argument {i} has no role", hint)
                role: Any = ir.StringAttr(own["mncore.role"]).value
                buffer = self.selection.program.buffer("empty", 0, (Memory.DRAM,), pinned=True)
                groups = chip().groups
                none = np.zeros((groups, 0, 2), np.int64)
                image = DramImage(buffer, tuple(type_.shape), none, tuple(range(groups)))
                self.selection.tensors.append(HostTensor(self.names[value], role, self.dtypes[value], image))

    def allocate(self, op: Any) -> None:
        size = placement_of(op.results[0].type).layout.local_size
        spare = -size % CYCLES_PER_STEP if size < PADDED and op.name == "memref.alloc" else 0
        name = f"b{len(self.buffers)}"
        self.buffers[op.results[0]] = self.selection.program.buffer(name, size, LOCAL_MEMORY, spare=spare)

    def resident(self, op: Any) -> None:
        self.allocate(op)
        buffer = self.buffers[op.results[0]]
        buffer.pinned = True
        attributes = {name: op.attributes[name] for name in op.attributes}
        if (part := read_slice(attributes)) is not None:  # each trip has a row of it
            row = placement_of(op.results[0].type).layout
            buffer.size = row_longs(row) * part.whole[part.row_dim(row.shape)]
        self.builder.keep |= "base" not in attributes  # else another program decides, which fills what is kept
        if "base" in attributes:
            buffer.memory = Memory[ir.StringAttr(attributes["memory"]).value]
            buffer.base = ir.IntegerAttr(attributes["base"]).value
        self.selection.kept.append((buffer, {**attributes, "type": ir.TypeAttr.get(op.results[0].type)}))

    def keep_table(self, buffer: Buffer, layout: Layout, words: np.ndarray) -> None:
        """An index table of a movement, in a program that keeps what does not change."""
        buffer.pinned = True
        space = placed_attribute("LM", layout)
        word = ir.IntegerType.get_signless(32)
        attributes = {
            "onnx.name": ir.StringAttr.get(f"index table {len(self.selection.kept)}"),
            "value": ir.DenseElementsAttr.get(np.ascontiguousarray(words, np.int32)),
            "type": ir.TypeAttr.get(ir.MemRefType.get([layout.local_size, 2], word, memory_space=space)),
        }
        self.selection.kept.append((buffer, attributes))

    def alias(self, op: Any) -> None:
        self.buffers[op.results[0]] = self.buffers[op.operands[0]]

    def constant(self, op: Any) -> None:
        name = ir.StringAttr(op.attributes["onnx.name"]).value if "onnx.name" in op.attributes else ""
        self.sources[op.results[0]] = (name or f"constant{len(self.sources)}", to_numpy(op.attributes["value"]))

    @staticmethod
    def layout(value: Any) -> Layout:
        return placement_of(value.type).layout

    def _start_loads(self) -> None:
        """Plan all loads together, so that small ones share transfers; each is finished where it stands."""
        operations = self.function.regions[0].blocks[0].operations
        targets = [op.operation.operands[1] for op in operations if op.operation.name == "mncore.dl"]
        requests = [(self.layout(target), self.buffers[target]) for target in targets]
        self.loads = dict(zip(targets, plan_loads(self.builder, requests), strict=True))

    def load(self, op: Any) -> None:
        source, target = op.operands
        assert self.loads is not None  # planned before the first of them
        image = self.loads.pop(target)()
        emit_fill_unused(self.builder, self.buffers[target], self.layout(target))
        if "index_map" in op.attributes:
            image = _rearranged(image, op)
        if source in self.names:
            tensor = HostTensor(self.names[source], "input", self.dtypes[source], image, part=self.parts[source])
        else:
            name, value = self.sources[source]  # pyright: ignore[reportGeneralTypeIssues]
            given = source.owner.attributes
            encoding = ir.StringAttr(given[ENCODING]).value if ENCODING in given else ""
            words = machine_words(value)
            tensor = HostTensor(name, "constant", _dtype(target.type), image, words, encoding=encoding)
        self.selection.tensors.append(tensor)

    def spill(self, op: Any) -> None:
        source, memory = op.operands
        self.spilled[memory] = plan_spill(self.builder, self.layout(source), self.buffers[source])

    def fetch(self, op: Any) -> None:
        memory, target = op.operands
        plan_fetch(self.builder, self.spilled[memory], self.buffers[target])

    def store(self, op: Any) -> None:
        target = op.operands[1]
        if op not in self.stores:
            self._plan_stores(op)
        image = self.stores.pop(op)
        if "index_map" in op.attributes:
            elements = np.append(to_numpy(op.attributes["index_map"]).astype(np.int64), -1)
            image = replace(image, shape=tuple(target.type.shape), index=elements[image.index])
        dtype, part = self.dtypes[target], self.parts[target]
        self.selection.tensors.append(HostTensor(self.names[target], "output", dtype, image, part=part))

    def _plan_stores(self, first: Any) -> None:
        """Plan the stores that follow each other together, so that small ones share transfers."""
        operations = [op.operation for op in self.function.regions[0].blocks[0].operations]
        run = itertools.takewhile(lambda op: op.name == "mncore.ul", operations[operations.index(first) :])
        pairs = [(op, (op.operands[0], summed_axes(op))) for op in run]
        requests = [(self.layout(source), self.buffers[source], sums) for _, (source, sums) in pairs]
        images = plan_stores(self.builder, requests) if len(requests) > 1 else [self.leaving.add(*requests[0])]
        self.stores.update(zip([op for op, _ in pairs], images, strict=True))

    def _ends(self, op: Any) -> tuple[Layout, Buffer, Layout, Buffer]:
        source, target = op.operands[0], op.operands[1]
        return self.layout(source), self.buffers[source], self.layout(target), self.buffers[target]

    def _add_tables(self, plan: Plan) -> None:
        """Index tables that a movement needs: constants of the program."""
        for buffer, layout, words in plan.kept:
            self.keep_table(buffer, layout, words)
        for image, value in plan.tables:
            name = f"index table {len(self.selection.tensors)}"
            self.selection.tensors.append(HostTensor(name, "constant", "int32", image, np.asarray(value, np.int32)))

    def relayout(self, op: Any) -> None:
        self._add_tables(plan_relayout(self.builder, *self._ends(op)))
        emit_fill_unused(self.builder, self.buffers[op.operands[1]], self.layout(op.operands[1]))

    def gather(self, op: Any) -> None:
        index_map = to_numpy(op.attributes["index_map"]).astype(np.int64)
        padding = ir.IntegerAttr(op.attributes["padding"]).value
        if "onto" in op.attributes:
            self._add_tables(plan_gather(self.builder, *self._ends(op), index_map, padding=None))
            return
        own = {"padding": padding & 0xFFFFFFFF, "fills": "fills_padding" in op.attributes}
        self._add_tables(plan_gather(self.builder, *self._ends(op), index_map, **own))
        emit_fill_unused(self.builder, self.buffers[op.operands[1]], self.layout(op.operands[1]), padding)

    def reduce(self, op: Any) -> None:
        source, target = op.operands
        bits = reduced_axes(op)
        kind = ir.StringAttr(op.attributes["kind"]).value
        layouts, buffers = [self.layout(v) for v in (source, target)], [self.buffers[v] for v in (source, target)]
        if equivalent(*layouts):
            plan_reduce(self.builder, kind, layouts[0], buffers[0], bits, buffers[1])
            return
        plan = plan_reduce_scatter(self.builder, kind, layouts[0], buffers[0], bits, layouts[1], buffers[1])
        self._add_tables(plan)

    def fill_padding(self, op: Any) -> None:
        held, layout = self.buffers[op.operands[0]], self.layout(op.operands[0])
        bits = ir.IntegerAttr(op.attributes["value"]).value
        emit_fill_padding(self.builder, held, layout, bits, filled_dims(op), self.coordinates)

    def lookup(self, op: Any) -> None:
        names = ("table_steps", "address_steps", "target_steps")
        sizes, *steps = (list(ir.DenseI64ArrayAttr(op.attributes[name])) for name in ("sizes", *names))
        by_words = not self.layout(op.operands[1]).replicated_bits(Axis.W)
        table, address, target = (self.buffers[value] for value in op.operands)
        emit_lookup(self.builder, table, address, target, sizes, steps, by_words=by_words)

    def matmul(self, op: Any) -> None:
        operands = list(op.operands)[:3]
        layouts, buffers = [self.layout(v) for v in operands], [self.buffers[v] for v in operands]
        precision = ir.StringAttr(op.attributes["precision"]).value
        initial = self.buffers[op.operands[3]] if len(op.operands) > 3 else None
        specs = matmul_specs(op, layouts, buffers, precision, initial)
        before = self.sums.pop(buffers[2], None) or [None] * len(specs)
        is_last = op not in self.goes_on or not sums_fit(specs)
        left = [
            emit_matmul(self.builder, spec, sums=own, is_last=is_last) for spec, own in zip(specs, before, strict=True)
        ]
        if not is_last:
            self.sums[buffers[2]] = left

    def nest(self, op: Any) -> None:
        kernel = NestReader(op, self.buffers).read()
        if kernel.outputs:  # a nest that stores nothing does nothing
            emit_vector(self.builder, kernel, self.constants)


_HANDLERS: dict[str, Callable[[_Selector, Any], None]] = {
    "mncore.constant": _Selector.constant,
    "mncore.dl": _Selector.load,
    "mncore.ul": _Selector.store,
    "mncore.spill": _Selector.spill,
    "mncore.fetch": _Selector.fetch,
    "mncore.relayout": _Selector.relayout,
    "mncore.gather": _Selector.gather,
    "mncore.reduce": _Selector.reduce,
    "mncore.fill_padding": _Selector.fill_padding,
    "mncore.lookup": _Selector.lookup,
    "mncore.matmul": _Selector.matmul,
    "affine.for": _Selector.nest,
}


@dataclass(frozen=True)
class SelectInstructions(ViewPass):
    """Choose machine operations for transfers, kernels and loop nests; addresses stay open."""

    name = "select-instructions"

    def process(self, module: Any, view: View | None) -> View:
        """Replace the body of the one function of the module."""
        if view is not None:
            view.write()
        with module.context, ir.Location.unknown():
            functions = [view.operation for view in functions_of(module)]
            if len(functions) != 1:
                hint = "a module is one program; put others into modules of their own"
                raise CompileError(f"select-instructions works on one function, found {len(functions)}", hint=hint)
            if not _is_placed(functions[0]):
                message = "does not work on placed buffers, the program of one PE"
                raise error_at(functions[0], message, "run assign-layouts and distribute first")
            selection = _Selector(functions[0]).run()
            program = selection.program
            make_names_unique(program)
            replace_body(functions[0], selection)
            return Unit(module, program, {buffer.name: buffer for buffer in program.buffers}, is_rewritten=True)


def _is_placed(function: Any) -> bool:
    """Whether all that a function is called with lies in DRAM, and it returns nothing."""
    type_ = ir.FunctionType(ir.TypeAttr(function.attributes["function_type"]).value)
    if type_.results or not all(isinstance(t, ir.MemRefType) and t.memory_space is not None for t in type_.inputs):
        return False
    return all(t.memory_space == memory_attribute("DRAM") for t in type_.inputs)
