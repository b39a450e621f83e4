"""Cutting the body of a function into one C++ function per node."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from mnc.core.bindings import ir
from mnc.lowering.cpp.body import BodyPrinter, Buffer, buffer_of
from mnc.lowering.cpp.text import Expression, Names, comment_text, wrapped
from mnc.lowering.cpp.types import c_type

_SILENT = frozenset(["memref.get_global", "arith.constant", "func.return"])
_VIEWS = frozenset(["memref.cast", "memref.collapse_shape", "memref.expand_shape", "memref.subview"])
_WRITES = frozenset(["affine.store", "memref.store"])


@dataclass
class Step:
    """A part of ``run``: statements of its body, and the definition of the function that they call."""

    calls: list[str]
    function: str = ""
    helpers: set[str] = field(default_factory=set)


@dataclass
class _Group:
    nodes: tuple[str, ...]
    operations: list[ir.Operation] = field(default_factory=list)


def location_nodes(location: ir.Location) -> tuple[str, ...]:
    """The ONNX nodes that a location names, in order."""
    if isinstance(location, ir.FusedLoc):
        return tuple(dict.fromkeys(name for part in location.locations for name in location_nodes(part)))
    return (location.name_str,) if isinstance(location, ir.NameLoc) else ()


def _nested(op: ir.Operation) -> Iterator[ir.Operation]:
    yield op
    for region in op.regions:
        for block in region.blocks:
            for view in block.operations:
                yield from _nested(view.operation)


def _groups(block: ir.Block) -> Iterator[_Group | ir.Operation]:
    """Operations of one node, and the allocations and ends of lifetimes between them.

    A group goes on while a later operation needs one of its scalars. Lifetimes that begin inside a group begin before
    it; those that end inside end after it.
    """
    operations = [view.operation for view in block.operations if view.operation.name not in _SILENT]
    position = {op: i for i, op in enumerate(operations)}
    last_use = [_last_user(op, position) for op in operations]
    i = 0
    while i < len(operations):
        op = operations[i]
        if op.name in ("memref.alloc", "memref.dealloc"):
            yield op
            i += 1
            continue
        group, end, after = _Group(location_nodes(op.location)), i, []
        while i < len(operations):
            op = operations[i]
            is_life = op.name in ("memref.alloc", "memref.dealloc")
            if i > end and (is_life or location_nodes(op.location) != group.nodes):
                break
            end = max(end, last_use[i])
            if op.name == "memref.alloc":
                yield op
            elif op.name == "memref.dealloc":
                after.append(op)
            else:
                group.operations.append(op)
            i += 1
        yield group
        yield from after


def _last_user(op: ir.Operation, position: dict[ir.Operation, int]) -> int:
    """Position of the last operation of the block that uses a scalar or a view that `op` defines."""
    last = position[op]
    if op.name == "memref.alloc":
        return last
    for result in op.results:
        for use in result.uses:
            user = use.owner.operation
            while user not in position:
                user = user.parent.operation
                if user.name == "func.func":
                    break
            last = max(last, position.get(user, last))
    return last


def steps_of(block: ir.Block, pointers: dict[ir.Value, str], names: Names) -> list[Step]:
    """The parts of ``run``.

    Args:
        pointers: how arguments and constants are called in ``run``; allocations are added.
        names: identifiers of ``run``.
    """
    steps: list[Step] = []
    constants = [v.operation for v in block.operations if v.operation.name == "arith.constant"]
    functions = Names(names)
    for part in _groups(block):
        if isinstance(part, _Group):
            steps.append(_function(part, constants, pointers, functions))
        elif part.name == "memref.dealloc":
            steps.append(Step([f"  {pointers[part.operands[0]].removesuffix('.get()')}.reset();"]))
        else:
            steps.append(_allocation(part, pointers, names))
    return steps


def _allocation(op: ir.Operation, pointers: dict[ir.Value, str], names: Names) -> Step:
    type_ = ir.MemRefType(op.results[0].type)
    nodes = location_nodes(op.location)
    name = names.take(nodes[-1] if nodes else "buffer", "buffer")
    pointers[op.results[0]] = f"{name}.get()"
    element, size = c_type(type_.element_type), 1
    for extent in type_.shape:
        size *= extent
    shape = "".join(f"[{extent}]" for extent in type_.shape)
    comment = f"  // {shape}" if len(type_.shape) > 1 else ""
    return Step([f"  std::unique_ptr<{element}[]> {name}(new {element}[{max(size, 1)}]);{comment}"])


def _function(group: _Group, constants: list[ir.Operation], pointers: dict[ir.Value, str], functions: Names) -> Step:
    """The function of a group: its parameters are the buffers from outside, which do not overlap."""
    operations = [inner for op in group.operations for inner in _nested(op)]
    written = {_root(op.operands[1]) for op in operations if op.name in _WRITES}
    used: dict[ir.Value, None] = {}
    for op in operations:
        used.update((value, None) for value in map(_root, op.operands) if value in pointers)
    scope = Names()
    # The last part of a pointer's text is its name: `weights::bias0()`, `layer0.get()`, `image`.
    wanted = {value: _plain_name(pointers[value]) for value in used}
    called = functions.take(f"compute_{'_'.join(group.nodes)}" if group.nodes else "compute")
    parameters, buffers = [], {}
    for value in used:
        name = scope.take(wanted[value], "buffer")
        element = c_type(ir.MemRefType(value.type).element_type)
        parameters.append(f"{'' if value in written else 'const '}{element}* __restrict {name}")
        buffers[value] = buffer_of(name, value.type)
    body, helpers = _body(group, constants, buffers, scope)
    shapes = [_shape_comment(buffer) for buffer in buffers.values()]
    comment = f"// {comment_text(' + '.join(group.nodes)) or 'loops'}: {', '.join(text for text in shapes if text)}"
    head = wrapped(f"void {called}(", parameters, ") {")
    call = wrapped(f"  {called}(", [pointers[value] for value in used], ");")
    return Step([call], "\n".join([comment.rstrip(": "), head, *body, "}"]), helpers)


def _body(
    group: _Group, constants: list[ir.Operation], buffers: dict[ir.Value, Buffer], scope: Names
) -> tuple[list[str], set[str]]:
    values: dict[ir.Value, Expression] = {}
    printer = BodyPrinter(scope, buffers, values)
    printer.print_operations([*constants, *group.operations])
    return printer.lines, printer.helpers


def _root(value: ir.Value) -> ir.Value:
    """The buffer that a view looks into."""
    while not isinstance(value.owner, ir.Block) and value.owner.operation.name in _VIEWS:
        value = value.owner.operation.operands[0]
    return value


def _plain_name(pointer: str) -> str:
    text = pointer.removesuffix(".get()").removeprefix("weights::").removesuffix("()")
    return text.split("(")[-1].rstrip(")")


def _shape_comment(buffer: Buffer) -> str:
    return f"{buffer.pointer}{''.join(f'[{extent}]' for extent in buffer.shape)}" if buffer.shape else ""
