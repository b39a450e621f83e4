"""Attributes whose types no operation declares, checked in IR that somebody may have written by hand."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from mnc.core.bindings import ir
from mnc.core.context import error_at
from mnc.dialects.mncore.attributes import check_placed_type, layout_in
from mnc.dialects.mncore.kernels import PRECISIONS
from mnc.mncore_backend.assembly.records import Memory
from mnc.mncore_backend.target import named

Check = Callable[[Any], bool]


def _string(value: Any) -> bool:
    return isinstance(value, ir.StringAttr)


def _integer(value: Any) -> bool:
    return isinstance(value, ir.IntegerAttr)


def _integers(value: Any) -> bool:
    return isinstance(value, ir.DenseI64ArrayAttr)


def _layout(value: Any) -> bool:
    try:
        layout_in(value)
    except ValueError:
        return False
    return True


def _layouts(value: Any) -> bool:
    """An operand that may lie anywhere has a ``unit`` in its place."""
    return isinstance(value, ir.ArrayAttr) and all(isinstance(one, ir.UnitAttr) or _layout(one) for one in value)


def _one_of(*names: str) -> Check:
    return lambda value: _string(value) and value.value in names


def _memories(value: Any) -> bool:
    return _string(value) and all(name in Memory.__members__ for name in value.value.split(","))


def _machine(value: Any) -> bool:
    if not _string(value):
        return False
    try:
        named(value.value)
    except ValueError:
        return False
    return True


def _slice(value: Any) -> bool:
    if not isinstance(value, ir.DictAttr) or not all(name in value and _integers(value[name]) for name in _SLICE):
        return False
    shape, starts = (list(ir.DenseI64ArrayAttr(value[name])) for name in _SLICE)
    return len(starts) % len(shape) == 0 if shape else not starts


def _buffers(value: Any) -> bool:
    """Buffers in local memory that another program has."""
    return isinstance(value, ir.ArrayAttr) and all(isinstance(one, ir.DictAttr) and _buffer(one) for one in value)


def _buffer(entry: Any) -> bool:
    checks = {"type": _placed, "memory": _memories, "base": _integer}
    return all(name in entry and is_right(entry[name]) for name, is_right in checks.items())


def _placed(value: Any) -> bool:
    """The type of a share of every PE that its layout fills."""
    if not isinstance(value, ir.TypeAttr):
        return False
    try:
        check_placed_type(value.value)
    except ValueError:
        return False
    return True


_BUFFERS = 'a list of buffers, such as [{type = memref<1x2xf32, #...>, memory = "LM0", base = 0 : i64}]'
_SLICE = ("shape", "starts")
ANYWHERE: dict[str, tuple[Check, str]] = {
    "onnx.name": (_string, "a string"),
    "mncore.role": (_string, "a string"),
    "mncore.result": (_layout, 'a layout, such as #mncore.layout<"((8_L2B:1, 4:1), (2_W:1))">'),
    "mncore.operands": (_layouts, 'a list of layouts, such as [#mncore.layout<"((4_PE:1, 2_W:1))">], or unit'),
    "mncore.partial": (_layout, 'a layout, such as #mncore.layout<"((8_L2B:1, 4:1), (2_W:1))">'),
    "mncore.matrix": (_one_of("left", "right"), '"left" or "right"'),
    "mncore.precision": (_one_of(*PRECISIONS), f"one of {', '.join(PRECISIONS)} in quotes"),
    "mncore.chosen": (_integer, "an integer"),
    "mncore.parts": (_integers, "array<i64: NUMBER, LONGS>"),
    "mncore.machine": (_machine, "a machine in quotes, such as \"small\""),
    "mnc.updated": (_string, "a string"),
    "mncore.homes": (_buffers, _BUFFERS),
    "mncore.tables": (_buffers, _BUFFERS),
    "mncore.trips": (_integer, "an integer"),
    "mncore.slice": (_slice, "{shape = array<i64: ...>, starts = array<i64: ...>}, a start per dimension and trip"),
}
"""By name, on any operation, argument or result."""
NAMED = ("mncore.kept", "mncore.homes")
"""An argument that has one of these outlives a run of the program, and is found again by its ``onnx.name``."""
OF_OPERATION: dict[str, dict[str, tuple[Check, str]]] = {
    "mncore.buffer": {
        "memory": (_memories, "a memory in quotes, such as LM0"),
        "choices": (_memories, "memories in quotes with commas between, such as LM0,LM1"),
        "base": (_integer, "an integer"),
    },
    "mncore.image": {
        **dict.fromkeys(("sym_name", "role", "buffer", "dtype"), (_string, "a string")),
        **dict.fromkeys(("shape", "groups", "segments"), (_integers, "array<i64: ...>")),
        "padding": (_integer, "an integer"),
    },
}


def check_written_attributes(module: Any) -> None:
    """Raise CompileError with the place of the first attribute that is not of its type."""
    for op in _walk(module.operation):
        own = OF_OPERATION.get(op.name, {})
        for name, value in _attributes(op):
            is_right, wanted = own.get(name) or ANYWHERE.get(name) or (None, "")
            if is_right is not None and not is_right(value):
                shown = str(value)[:60]
                raise error_at(op, f"has the attribute {name} = {shown}", hint=f"write {wanted}")
        check_names(op, NAMED)


def check_names(op: Any, attributes: Iterable[str]) -> None:
    """Raise CompileError for an argument of a function with one of these attributes, and without a name."""
    for number, entry in enumerate(map(ir.DictAttr, op.attributes.get("arg_attrs", []))):
        needing = next((name for name in attributes if name in entry), None)
        if needing is not None and "onnx.name" not in entry:
            raise error_at(op, f"argument {number} has {needing} and no name", hint='add onnx.name = "NAME" to it')


def _walk(op: Any) -> Iterator[Any]:
    yield op
    for region in op.regions:
        for block in region.blocks:
            for inner in block.operations:
                yield from _walk(inner.operation)


def _attributes(op: Any) -> Iterator[tuple[str, Any]]:
    for name in op.attributes:
        value = op.attributes[name]
        if name in ("arg_attrs", "res_attrs"):
            for given in value:
                yield from ((item.name, item.attr) for item in ir.DictAttr(given))
        else:
            yield name, value
