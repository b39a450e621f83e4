"""The program model <-> mncore operations in a module, so that selection, allocation and scheduling are passes."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Protocol

import numpy as np

from mnc.core.bindings import func, ir
from mnc.core.context import error_at
from mnc.core.diagnostics import InternalError, node_name
from mnc.dialects.mncore.trips import SLICE, TRIPS, keep_trips, read_slice, slice_attribute
from mnc.mncore_backend.assembly.records import Memory
from mnc.mncore_backend.codegen.trips import Each, Slice, Trips
from mnc.mncore_backend.movement import DramImage
from mnc.mncore_backend.program import AnyOperand, Buffer, MachineOp, Origin, Program, kernel_of_origin
from mnc.mncore_backend.program.text import parse_operation, print_operation

_I64 = "i64"


class _HostTensor(Protocol):
    name: str
    role: Any
    dtype: str
    image: DramImage
    value: np.ndarray | None
    part: Slice | None


@dataclass
class Unit:
    """What a module of machine operations holds. `locations` are the distinct node locations by name."""

    program: Program = field(default_factory=Program)
    buffers: dict[str, Buffer] = field(default_factory=dict)
    statements: list[tuple[str, str]] = field(default_factory=list)  # text, node names joined by "+"


def _create(name: str, location: Any = None, **attributes: Any) -> None:
    def convert(value: Any) -> Any:
        if isinstance(value, str):
            return ir.StringAttr.get(value)
        if isinstance(value, int):
            return ir.IntegerAttr.get(ir.Type.parse(_I64), value)
        return value

    made = {key: convert(value) for key, value in attributes.items() if value is not None}
    ir.Operation.create(name, attributes=made, loc=location)


def _unique_names(program: Program) -> None:
    seen: dict[str, int] = {}
    for buffer in program.buffers:
        count = seen.get(buffer.name, 0)
        seen[buffer.name] = count + 1
        if count or buffer.name.rpartition(".")[2].isdigit():
            buffer.name = f"{buffer.name}.{count}"


def write_buffer(buffer: Buffer) -> None:
    """One ``mncore.buffer`` at the insertion point."""
    _create(
        "mncore.buffer",
        sym_name=buffer.name,
        size=buffer.size,
        choices=",".join(memory.name for memory in buffer.choices),
        alignment=buffer.alignment,
        memory=buffer.memory.name if buffer.memory is not None else None,
        base=buffer.base,
        pinned=ir.UnitAttr.get() if buffer.pinned else None,
    )


def _write_image(tensor: _HostTensor) -> None:
    image = tensor.image
    value = None if tensor.value is None else np.ascontiguousarray(tensor.value)
    _create(
        "mncore.image",
        sym_name=tensor.name,
        role=tensor.role,
        buffer=image.buffer.name,
        dtype=tensor.dtype,
        shape=ir.DenseI64ArrayAttr.get(list(image.shape)),
        groups=ir.DenseI64ArrayAttr.get(list(image.groups)),
        padding=image.padding,
        segments=ir.DenseI64ArrayAttr.get([number for segment in image.segments for number in segment]),
        index=ir.DenseElementsAttr.get(np.ascontiguousarray(image.index, dtype=np.int32)),
        value=None if value is None else ir.DenseElementsAttr.get(value),  # equal to the model's: shares its storage
        **{} if tensor.part is None else {SLICE: slice_attribute(tensor.part)},
    )


_KERNEL = re.compile(r'\("kernel (\d+)"\)\)$')


def _location(nodes: str, kernel: int | None) -> Any:
    """A location that names nodes and, inside, the kernel."""
    if not nodes:
        return ir.Location.unknown()
    inner = None if kernel is None else ir.Location.name(f"kernel {kernel}")
    return ir.Location.name(nodes, inner)


@lru_cache(1 << 14)
def _origin(text: str) -> str:
    """Inverse of `_location`, for the text of a location."""
    found = _KERNEL.search(text)
    return Origin(node_name(text) or "", int(found[1]) if found else None)


class _Reader:
    """Reads instructions. Operands that are written alike are one object, and the text of a location, which takes long
    to make, is not asked for again where the next operation has the same."""

    def __init__(self, buffers: dict[str, Buffer]) -> None:
        self._buffers = buffers
        self._operands: dict[str, AnyOperand] = {}
        self._location: Any = None
        self._origin = ""

    def read(self, op: Any) -> MachineOp:
        """The operation that an ``mncore.instruction`` holds."""
        location = op.location
        if self._location is None or location != self._location:
            self._location, self._origin = location, _origin(str(location))
        return parse_operation(_string(op, "text"), self._buffers, self._origin, self._operands)


def replace_function(function: Any, selection: Any) -> None:
    """Put buffers, images and instructions of a selection in the place of a function's body. The selection is used up:
    each image is let go of as soon as the module has it, since there may be gigabytes of them."""
    _unique_names(selection.program)
    name = function.attributes["sym_name"]
    with function.location, ir.InsertionPoint(function):
        new = func.FuncOp(ir.StringAttr(name).value, ir.FunctionType.get([], []))
        block = new.add_entry_block()
        keep_trips(function, new)
    with ir.InsertionPoint(block):
        for buffer in selection.program.buffers:
            write_buffer(buffer)
        selection.tensors.reverse()
        while selection.tensors:
            _write_image(selection.tensors.pop())
        for buffer, attributes in selection.kept:
            _create("mncore.kept", buffer=buffer.name, **attributes)
        _write_instructions(selection.program.operations)
        func.ReturnOp([])
    function.erase()


def _write_instructions(operations: Iterable[MachineOp]) -> None:
    locations: dict[tuple[str, int | None], Any] = {}
    for op in operations:
        origin = op.location, kernel_of_origin(op.location)
        if origin not in locations:
            locations[origin] = _location(*origin)
        _create("mncore.instruction", locations[origin], text=print_operation(op))


def rewrite_program(module: Any, unit: Unit) -> None:
    """Write the operations of `unit` in the place of those of the module that it was read from, and buffers that have
    come to it."""
    (function,) = module.body.operations
    with ir.InsertionPoint.at_block_begin(function.operation.regions[0].blocks[0]):
        for buffer in (b for b in unit.program.buffers if unit.buffers.get(b.name) is not b):
            buffer.name = f"{buffer.name}.{len(unit.buffers)}"
            unit.buffers[buffer.name] = buffer
            write_buffer(buffer)
    with ir.InsertionPoint(erase_named(module, "mncore.instruction")):
        _write_instructions(unit.program.operations)


def _string(op: Any, name: str) -> str:
    return ir.StringAttr(op.attributes[name]).value


def _integer(op: Any, name: str) -> int:
    return ir.IntegerAttr(op.attributes[name]).value


def read_buffer(op: Any) -> Buffer:
    """Inverse of `write_buffer`."""
    choices = tuple(Memory[name] for name in _string(op, "choices").split(","))
    buffer = Buffer(_string(op, "sym_name"), _integer(op, "size"), choices, _integer(op, "alignment"))
    buffer.pinned = "pinned" in op.attributes
    if "memory" in op.attributes:
        buffer.memory, buffer.base = Memory[_string(op, "memory")], _integer(op, "base")
    return buffer


def read_unit(module: Any) -> Unit:
    """Buffers, instructions and statements of a module, whatever stage it is at; raises CompileError for others."""
    unit = Unit()
    reader = _Reader(unit.buffers)
    for function in module.body.operations:
        for op in function.operation.regions[0].blocks[0].operations:
            try:
                _read(op.operation, unit, reader)
            except (LookupError, TypeError, ValueError, InternalError) as error:
                reason = f"there is no {error}" if isinstance(error, KeyError) else getattr(error, "message", error)
                hint = "text is as select-instructions writes it, and names a buffer that stands above it"
                raise error_at(op.operation, f"cannot be read: {reason}", hint) from None
    return unit


def _read(operation: Any, unit: Unit, reader: _Reader) -> None:
    name = operation.name
    if name == "mncore.buffer":
        buffer = read_buffer(operation)
        unit.program.buffers.append(buffer)
        unit.buffers[buffer.name] = buffer
    elif name == "mncore.instruction":
        unit.program.operations.append(reader.read(operation))
    elif name == "mncore.statement":
        unit.statements.append((_string(operation, "text"), node_name(operation.location) or ""))


def erase_named(module: Any, *names: str) -> Any:
    """Erase all operations of these names; returns the terminator of the function, to insert before."""
    terminator = None
    for function in module.body.operations:
        operations = list(function.operation.regions[0].blocks[0].operations)
        terminator = operations[-1]
        for op in reversed(operations):
            if op.operation.name in names:
                op.operation.erase()
    return terminator


@dataclass(eq=False)
class Image:
    """A ``mncore.image`` read back."""

    name: str
    role: str
    dtype: str
    image: DramImage
    value: np.ndarray | None
    part: Slice | None = None


@dataclass
class Kept:
    """A ``mncore.kept`` read back: the buffer, the memref type it had, and the attributes it was given."""

    buffer: Buffer
    type: Any
    attributes: dict[str, Any]


def read_kept(module: Any) -> list[Kept]:
    """Buffers whose content outlives a run of the program, in the order of the program."""
    blocks = [block for f in module.body.operations for region in f.operation.regions for block in region.blocks]
    operations = [op.operation for block in blocks for op in block.operations]
    kept = [operation for operation in operations if operation.name == "mncore.kept"]
    if not kept:
        return []
    made = (read_buffer(operation) for operation in operations if operation.name == "mncore.buffer")
    buffers = {buffer.name: buffer for buffer in made}
    return [
        Kept(
            buffers[_string(operation, "buffer")],
            ir.TypeAttr(operation.attributes["type"]).value,
            {n: operation.attributes[n] for n in operation.attributes if n not in ("buffer", "type")},
        )
        for operation in kept
    ]


def _pairs(attribute: Any) -> tuple[tuple[int, int], ...]:
    numbers = list(ir.DenseI64ArrayAttr(attribute))
    return tuple(zip(numbers[::2], numbers[1::2], strict=True))


def read_images(module: Any, buffers: dict[str, Buffer]) -> list[Image]:
    """Tensors that the host writes and reads, with the allocated DRAM buffers."""
    result = []
    indices: dict[Any, np.ndarray] = {}  # tensors of one arrangement share it
    for function in module.body.operations:
        for op in function.operation.regions[0].blocks[0].operations:
            operation = op.operation
            if operation.name != "mncore.image":
                continue
            attributes = operation.attributes
            if attributes["index"] not in indices:
                indices[attributes["index"]] = np.asarray(attributes["index"])
            image = DramImage(
                buffers[_string(operation, "buffer")],
                tuple(ir.DenseI64ArrayAttr(attributes["shape"])),
                indices[attributes["index"]],
                tuple(ir.DenseI64ArrayAttr(attributes["groups"])),
                _integer(operation, "padding"),
                _pairs(attributes["segments"]),
            )
            value = np.asarray(attributes["value"]) if "value" in attributes else None
            name, role, dtype = (_string(operation, key) for key in ("sym_name", "role", "dtype"))
            result.append(Image(name, role, dtype, image, value, read_slice(attributes)))
    return result


def read_trips(
    module: Any, buffers: dict[str, Buffer], images: Sequence[Image], each: Sequence[Image] = ()
) -> Trips | None:
    """The trips of a program that is repeated; None if it is not. `each`: images of which every trip has its own."""
    count = read_attribute(module, TRIPS)
    if count is None:
        return None
    parts = [(image.image, Each() if image in each else image.part) for image in images]
    return Trips(ir.IntegerAttr(count).value, list(buffers.values()), parts)


def read_attribute(module: Any, name: str) -> Any | None:
    """An attribute of the function of a module; None if it has none."""
    found = [f.operation.attributes[name] for f in module.body.operations if name in f.operation.attributes]
    return found[0] if found else None
