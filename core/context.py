"""Contexts with our dialects loaded, and locations that remember the user's names."""

import importlib
import re
import threading
from collections.abc import Iterable

from mnc.core.bindings import ext, ir
from mnc.core.diagnostics import CompileError

# `Dialect.load` keeps state on the class and crashes when two threads race.
_LOAD_LOCK = threading.Lock()


def _dialect_modules(names: Iterable[str] | None) -> list[str]:
    if names is not None:
        return [f"mnc.dialects.{name}" for name in names]
    # By name, because this folder lies below the dialects and imports none of them.
    table: dict[str, str] = importlib.import_module("mnc.dialects").DIALECTS
    return list(table.values())


def load_dialects(context: ir.Context, names: Iterable[str] | None = None) -> None:
    """Load our dialects into `context`, once; a dialect that is loaded already is skipped.

    Args:
        names: dialect namespaces such as ``["graph"]``; None loads every row of ``mnc.dialects``.

    A dialect module offers ``DIALECT``, its dialect class, and may offer ``attach_interfaces()``,
    which is called with the context current right after loading.
    """
    with _LOAD_LOCK, context, ir.Location.unknown():
        for module_name in _dialect_modules(names):
            module = importlib.import_module(module_name)
            try:
                module.DIALECT.load()
            except ext.DialectAlreadyLoadedError:
                continue
            attach_interfaces = getattr(module, "attach_interfaces", None)
            if attach_interfaces is not None:
                attach_interfaces()


def make_context(dialects: Iterable[str] | None = None) -> ir.Context:
    """Make a context with our dialects loaded, see `load_dialects`.

    Multithreading is off: worker threads of the native passes would wait for the interpreter lock
    in our verifiers, and the process would hang.
    """
    context = ir.Context()
    context.enable_multithreading(False)
    load_dialects(context, dialects)
    return context


def available_dialects() -> list[str]:
    """Names of all dialects that a context can read, ours included.

    The bindings cannot list them, but the error about an unknown dialect does.
    """
    context = make_context()
    context.emit_error_diagnostics = True
    notes: list[str] = []

    def note(diagnostic: ir.Diagnostic) -> bool:
        notes.extend(each.message for each in diagnostic.notes)
        return True

    handler = context.attach_diagnostic_handler(note)
    try:
        ir.Module.parse("no_such_dialect.operation", context)
    except ir.MLIRError:
        pass
    finally:
        handler.detach()
    match = re.search(r"Available dialects: (.*?)(?:\(\* corresponding|;|$)", " ".join(notes))
    return sorted(name.split()[0] for name in match[1].split(",")) if match else []


def onnx_location(node: str, file_name: str, context: ir.Context | None = None) -> ir.Location:
    """Location naming an ONNX node and its file; ONNX files have no lines, so both numbers are 0."""
    file_name = file_name.encode(errors="backslashreplace").decode()  # MLIR takes text, names of files may be none
    return ir.Location.name(node, ir.Location.file(file_name, 0, 0, context=context), context=context)


def error_at(op: ir.Operation | ir.OpView, message: str, hint: str | None = None) -> CompileError:
    """A `CompileError` naming the ONNX node and the file that `op` came from; the caller raises it."""
    return CompileError(message, op_type=op.operation.name, hint=hint, location=op.location)
