"""What ``mnc-opt`` does with one piece of MLIR text: parse, run a pipeline, print, collect diagnostics."""

import contextlib
import io
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path

from mnc.core.bindings import ir
from mnc.core.context import make_context
from mnc.core.diagnostics import CompileError, InternalError, file_position, location_text
from mnc.core.expected_diagnostics import Found, compare, expected_diagnostics
from mnc.core.instrumentation import Instrumentation
from mnc.core.pipeline import Pipeline
from mnc.core.reproducer import IGNORED

BYTECODE_MAGIC = b"ML\xefR"
# The native parser names text without a file like this.
_ANONYMOUS = "-"


def _anywhere(_: str | bytes) -> AbstractContextManager[object]:
    return contextlib.nullcontext()


@dataclass
class OptOptions:
    """How to run and print; the fields are the options of ``mnc-opt``. `around`: what a text is read inside of."""

    pipeline: Pipeline
    file_name: str = "<stdin>"
    verify_diagnostics: bool = False
    only_expected: bool = False
    verify_each: bool = True
    allow_unregistered: bool = False
    instrumentation: tuple[Instrumentation, ...] = ()
    reproducer_directory: Path | None = None
    reproducer_file: Path | None = None
    reproducer: bool = True
    check: Callable[[ir.Module], None] | None = None  # of what was read, before the passes
    around: Callable[[str | bytes], AbstractContextManager[object]] = _anywhere
    large_elements_limit: int | None = None
    large_resource_limit: int | None = None
    generic: bool = False
    debug_info: bool = False
    pretty_debug_info: bool = False
    local_scope: bool = False
    name_locations: bool = False
    bytecode: bool = False


@dataclass
class _Diagnostics:
    """Collects what the native library reports."""

    found: list[tuple[str, object, str]] = field(default_factory=list)

    def __call__(self, diagnostic: ir.Diagnostic) -> bool:
        if diagnostic.message == IGNORED:
            return True
        severity = diagnostic.severity.name.lower()
        self.found.append((severity, str(diagnostic.location), diagnostic.message))
        self.found.extend(("note", str(note.location), note.message) for note in diagnostic.notes)
        return True


def _line_and_column(location: object) -> tuple[int, int]:
    _, line, column = file_position(location) or ("", 0, 0)
    return line, column


def _rename(location: object, file_name: str) -> str:
    """Text of a location where the anonymous source is replaced by the name of the input."""
    position = file_position(location)
    if position is None:
        return location_text(location) or file_name
    name, line, column = position
    return f"{file_name if name == _ANONYMOUS else name}:{line}:{column}"


def _print(module: ir.Module, options: OptOptions) -> str | bytes:
    if options.bytecode:
        buffer = io.BytesIO()
        module.operation.write_bytecode(buffer)
        return buffer.getvalue()
    limit, resource_limit = options.large_elements_limit, options.large_resource_limit
    text = module.operation.get_asm(
        large_elements_limit=limit,
        large_resource_limit=limit if resource_limit is None else resource_limit,
        enable_debug_info=options.debug_info or options.pretty_debug_info,
        pretty_debug_info=options.pretty_debug_info,
        print_generic_op_form=options.generic,
        use_local_scope=options.local_scope,
        use_name_loc_as_prefix=options.name_locations,
        assume_verified=not options.verify_each,
    )
    return text.rstrip("\n") + "\n"


def _run(text: str | bytes, context: ir.Context, options: OptOptions) -> str | bytes:
    with context, options.around(text):
        module = ir.Module.parse(text, context)
        if options.check is not None:
            options.check(module)
        expected = options.verify_diagnostics
        file = None if expected else options.reproducer_file
        options.pipeline.run(
            module, options.instrumentation, options.verify_each, options.reproducer_directory, file,
            reproducer=options.reproducer and not expected,
        )  # fmt: skip
        return _print(module, options)


def parse_module(text: str, context: ir.Context, file_name: str) -> ir.Module:
    """Parse and verify MLIR text.

    Raises:
        CompileError: malformed text or invalid IR, with line and column, and the notes that belong to it.
    """
    context.emit_error_diagnostics = True
    diagnostics = _Diagnostics()
    handler = context.attach_diagnostic_handler(diagnostics)
    try:
        return ir.Module.parse(text, context)
    except ir.MLIRError as raised:
        error = _parse_error(diagnostics, raised, file_name)
        _show(diagnostics.found, file_name)
        raise error from None
    finally:
        handler.detach()


@contextlib.contextmanager
def errors_in(file_name: str) -> Iterator[None]:
    """Name the file in errors about a module that `parse_module` read; MLIR calls all text "-"."""
    try:
        yield
    except CompileError as error:
        if error.location is not None:
            error.location = _rename(error.location, file_name)
        raise


def process(text: str | bytes, options: OptOptions) -> str | bytes:
    """Parse text or bytecode in a context of its own, run the pipeline, return the text or bytecode of the result.

    With `verify_diagnostics`, diagnostics are compared with the annotations in the text, and the
    result is empty when the input did not get through.

    Raises:
        CompileError: the text is malformed, a pass refused it, or the diagnostics differ.
        InternalError: a pass failed.
    """
    context = make_context()
    context.allow_unregistered_dialects = options.allow_unregistered
    context.emit_error_diagnostics = True
    diagnostics = _Diagnostics()
    handler = context.attach_diagnostic_handler(diagnostics)
    error: CompileError | InternalError | None = None
    out: str | bytes = ""
    try:
        out = _run(text, context, options)
    except CompileError as raised:
        error = raised
        if options.verify_diagnostics:
            diagnostics.found.append(("error", raised.location, raised.message))
        else:  # what concerns the whole module has no place in it
            where = "" if raised.location is None else raised.location
            raised.location = _rename(where, options.file_name)
    except InternalError as raised:
        error = raised
        if not isinstance(raised.__cause__, ir.MLIRError):
            raise
    except ir.MLIRError as raised:
        if not options.verify_diagnostics:
            error = _parse_error(diagnostics, raised, options.file_name)
    finally:
        handler.detach()
    if options.verify_diagnostics:
        _compare(text, diagnostics, options)
        return out
    if error is not None:
        _show(diagnostics.found, options.file_name)
        raise error
    _show(diagnostics.found, options.file_name)
    return out


def _parse_error(diagnostics: _Diagnostics, raised: Exception, file_name: str) -> CompileError:
    """The first error among the diagnostics, which is taken out of them with all that follow it."""
    first = next((i for i, (severity, _, _) in enumerate(diagnostics.found) if severity == "error"), None)
    if first is None:
        return CompileError(str(raised), location=file_name)
    (_, location, message), *others = diagnostics.found[first:]
    del diagnostics.found[first:]
    error = CompileError(message, location=_rename(location, file_name))
    error.notes = tuple(_line(*other, file_name) for other in others)
    return error


def _line(severity: str, location: object, message: str, file_name: str) -> str:
    return f"{_rename(location, file_name)}: {severity}: {message}"


def _show(found: list[tuple[str, object, str]], file_name: str) -> None:
    for diagnostic in found:
        print(_line(*diagnostic, file_name), file=sys.stderr)


def _compare(text: str | bytes, diagnostics: _Diagnostics, options: OptOptions) -> None:
    found = [Found(severity, *_line_and_column(location), message) for severity, location, message in diagnostics.found]
    expected = expected_diagnostics(text) if isinstance(text, str) else []
    complaints = compare(expected, found, options.only_expected)
    if complaints:
        lines = [f"{options.file_name}:{line}: {complaint}" for line, complaint in complaints]
        raise CompileError("the diagnostics are not the expected ones\n" + "\n".join(lines))
