"""The program model <-> mncore operations in a module, so that selection, allocation and scheduling are passes."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, ClassVar

from mnc.core.bindings import ir
from mnc.core.context import error_at
from mnc.core.diagnostics import InternalError, file_position, node_name
from mnc.core.modules import functions_of
from mnc.core.view_pass import View, ViewPass
from mnc.mncore_backend.assembly.records import Memory
from mnc.mncore_backend.program import AnyOperand, Buffer, MachineOp, Origin, Program, kernel_of_origin
from mnc.mncore_backend.program.text import parse_operation, print_operation

_I64 = "i64"


INSTRUCTION, STATEMENT, BUFFER = "mncore.instruction", "mncore.statement", "mncore.buffer"
_OF_A_PROGRAM = (INSTRUCTION, STATEMENT, BUFFER)


@dataclass
class Unit(View):
    """What a module of machine operations holds. Passes that change `program.operations` or `statements` say so with
    `is_rewritten`; buffers that get addresses and those that come to `program.buffers` are seen without."""

    module: Any
    program: Program = field(default_factory=Program)
    buffers: dict[str, Buffer] = field(default_factory=dict)
    statements: list[tuple[str, str]] = field(default_factory=list)  # text, node names joined by "+"
    is_rewritten: bool = False

    def count(self) -> int:
        """Operations of the module: those that stand there, and those of the program."""
        others = sum(operation.name not in _OF_A_PROGRAM for operation in operations_of(self.module))
        functions = len(list(self.module.body.operations))
        return 1 + functions + others + len(self.program.buffers) + len(self.program.operations) + len(self.statements)

    def write(self) -> None:
        """Buffers, instructions and statements into the function of the module."""
        with self.module.context, ir.Location.unknown():
            self._write_buffers()
            end = erase_named(self.module, INSTRUCTION, STATEMENT) if self.is_rewritten else None
            if end is not None:
                with ir.InsertionPoint(end):
                    _write_instructions(self.program.operations)
                    _write_statements(self.statements)

    def _write_buffers(self) -> None:
        """Addresses of buffers that stand in the module, and buffers that do not."""
        written = {string_of(op, "sym_name"): op for op in operations_of(self.module) if op.name == BUFFER}
        for name, op in written.items():
            _write_address(op, self.buffers[name])
        known = set(self.buffers.values())
        for buffer in self.program.buffers:
            if buffer not in known:
                buffer.name = f"{buffer.name}.{len(self.buffers)}"
                self.buffers[buffer.name] = buffer
        home = _program_function(self.module)
        if len(written) < len(self.buffers) and home is not None:
            operations = home.operation.regions[0].blocks[0].operations
            with ir.InsertionPoint(next(op for op in operations if op.operation.name != BUFFER)):
                for name, buffer in self.buffers.items():
                    if name not in written:
                        write_buffer(buffer)


@dataclass(frozen=True)
class MachinePass(ViewPass):
    """A pass on the machine operations of a module; subclasses implement `run_on`, and say what is `done` to operations
    where those that do not allow it may be a mistake in a file."""

    done: ClassVar[str] = ""

    def process(self, module: Any, view: View | None) -> View:
        """`run_on` for what stands in the module; raises CompileError as `read_unit`, and for operations that somebody
        wrote."""
        unit = view if isinstance(view, Unit) else read_unit(module)
        try:
            self.run_on(unit)
        except InternalError as error:
            if not self.done or (function := _written_by_hand(module)) is None:
                raise
            hint = "every operand is written before it is read, and latches are read right after"
            raise error_at(function, f"cannot be {self.done}: {error.message}", hint) from None
        return unit

    def run_on(self, unit: Unit) -> None:
        """Transform the machine operations in place."""
        raise NotImplementedError


def create(name: str, location: Any = None, **attributes: Any) -> None:
    """An operation at the insertion point, with strings and integers as attributes of their kind."""

    def convert(value: Any) -> Any:
        if isinstance(value, str):
            return ir.StringAttr.get(value)
        if isinstance(value, int):
            return ir.IntegerAttr.get(ir.Type.parse(_I64), value)
        return value

    made = {key: convert(value) for key, value in attributes.items() if value is not None}
    ir.Operation.create(name, attributes=made, loc=location)


def make_names_unique(program: Program) -> None:
    """Let no two buffers of a program have one name."""
    seen: dict[str, int] = {}
    for buffer in program.buffers:
        count = seen.get(buffer.name, 0)
        seen[buffer.name] = count + 1
        if count or buffer.name.rpartition(".")[2].isdigit():
            buffer.name = f"{buffer.name}.{count}"


def write_buffer(buffer: Buffer) -> None:
    """One ``mncore.buffer`` at the insertion point."""
    create(
        BUFFER,
        sym_name=buffer.name,
        size=buffer.size,
        choices=",".join(memory.name for memory in buffer.choices),
        alignment=buffer.alignment,
        memory=buffer.memory.name if buffer.memory is not None else None,
        base=buffer.base,
        pinned=ir.UnitAttr.get() if buffer.pinned else None,
    )


def _write_address(operation: Any, buffer: Buffer) -> None:
    """Memory and base of a buffer that has them, on the operation that makes it."""
    if buffer.memory is not None and buffer.base is not None and "base" not in operation.attributes:
        operation.attributes["memory"] = ir.StringAttr.get(buffer.memory.name)
        operation.attributes["base"] = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), buffer.base)


_KERNEL = re.compile(r'\("kernel (\d+)"\)\)$')


def _location(nodes: str, kernel: int | None) -> Any:
    """A location that names nodes and, inside, the kernel."""
    if not nodes and kernel is None:
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
        return parse_operation(string_of(op, "text"), self._buffers, self._origin, self._operands)


def _write_instructions(operations: Iterable[MachineOp]) -> None:
    locations: dict[tuple[str, int | None], Any] = {}
    for op in operations:
        origin = op.location, kernel_of_origin(op.location)
        if origin not in locations:
            locations[origin] = _location(*origin)
        create(INSTRUCTION, locations[origin], text=print_operation(op))


def _write_statements(statements: Iterable[tuple[str, str]]) -> None:
    locations: dict[str, Any] = {"": ir.Location.unknown()}
    for text, nodes in statements:
        if nodes not in locations:
            locations[nodes] = ir.Location.name(nodes)
        create(STATEMENT, locations[nodes], text=text)


def string_of(op: Any, name: str) -> str:
    """The value of a string attribute."""
    return ir.StringAttr(op.attributes[name]).value


def integer_of(op: Any, name: str) -> int:
    """The value of an integer attribute."""
    return ir.IntegerAttr(op.attributes[name]).value


def read_buffer(op: Any) -> Buffer:
    """Inverse of `write_buffer`."""
    choices = tuple(Memory[name] for name in string_of(op, "choices").split(","))
    buffer = Buffer(string_of(op, "sym_name"), integer_of(op, "size"), choices, integer_of(op, "alignment"))
    buffer.pinned = "pinned" in op.attributes
    if "memory" in op.attributes:
        buffer.memory, buffer.base = Memory[string_of(op, "memory")], integer_of(op, "base")
    return buffer


def read_unit(module: Any) -> Unit:
    """Buffers, instructions and statements of a module, whatever stage it is at; raises CompileError for others, and
    for two functions that hold some: a module is one program."""
    holders = [function for function in functions_of(module) if _holds_program(function)]
    if len(holders) > 1:
        hint = "a module is one program; put the other one into a module of its own"
        raise error_at(holders[1], "is the second function with machine operations", hint)
    unit = Unit(module)
    reader = _Reader(unit.buffers)
    for operation in operations_of(module):
        try:
            _read(operation, unit, reader)
        except (LookupError, TypeError, ValueError, InternalError) as error:
            reason = f"there is no {error}" if isinstance(error, KeyError) else getattr(error, "message", error)
            hint = "text is as select-instructions writes it, and names a buffer that stands above it"
            raise error_at(operation, f"cannot be read: {reason}", hint) from None
    return unit


def operations_of(module: Any) -> Iterator[Any]:
    """The operations of the functions of a module."""
    for function in functions_of(module):
        yield from (op.operation for op in function.operation.regions[0].blocks[0].operations)


def _holds_program(function: Any) -> bool:
    return any(op.operation.name in _OF_A_PROGRAM for op in function.operation.regions[0].blocks[0].operations)


def _program_function(module: Any) -> Any | None:
    """The function that has the machine operations, the first one where none has any; None without functions."""
    functions = functions_of(module)
    return next(filter(_holds_program, functions), functions[0] if functions else None)


def _written_by_hand(module: Any) -> Any | None:
    """The function whose instructions stand in a file; None where selection made them."""
    first = next((op for op in operations_of(module) if op.name == INSTRUCTION), None)
    if first is None or node_name(first.location) is not None or file_position(first.location) is None:
        return None
    return first.parent


def _read(operation: Any, unit: Unit, reader: _Reader) -> None:
    name = operation.name
    if name == BUFFER:
        buffer = read_buffer(operation)
        unit.program.buffers.append(buffer)
        unit.buffers[buffer.name] = buffer
    elif name == INSTRUCTION:
        unit.program.operations.append(reader.read(operation))
    elif name == STATEMENT:
        unit.statements.append((string_of(operation, "text"), node_name(operation.location) or ""))


def erase_named(module: Any, *names: str) -> Any:
    """Erase all operations of these names; returns the terminator of the function that has the program, to insert
    before; None if there is no function."""
    home = _program_function(module)
    for function in functions_of(module):
        for op in reversed(list(function.operation.regions[0].blocks[0].operations)):
            if op.operation.name in names:
                op.operation.erase()
    return None if home is None else list(home.operation.regions[0].blocks[0].operations)[-1]
