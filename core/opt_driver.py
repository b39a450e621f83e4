"""What ``mnc-opt`` does with one piece of MLIR text: parse, run a pipeline, print, collect diagnostics."""

import contextlib
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from mnc.core.bindings import ir
from mnc.core.context import make_context
from mnc.core.diagnostics import CompileError, InternalError, file_position, location_text
from mnc.core.expected_diagnostics import Found, compare, expected_diagnostics
from mnc.core.instrumentation import Instrumentation
from mnc.core.pipeline import Pipeline

# The native parser names text without a file like this.
_ANONYMOUS = "-"


@dataclass
class OptOptions:
    """How to run and print; the fields are the options of ``mnc-opt``."""

    pipeline: Pipeline
    file_name: str = "<stdin>"
    verify_diagnostics: bool = False
    verify_each: bool = True
    allow_unregistered: bool = False
    instrumentation: tuple[Instrumentation, ...] = ()
    reproducer_directory: Path | None = None
    large_elements_limit: int | None = None
    generic: bool = False
    debug_info: bool = False


@dataclass
class _Diagnostics:
    """Collects what the native library reports."""

    found: list[tuple[str, object, str]] = field(default_factory=list)

    def __call__(self, diagnostic: ir.Diagnostic) -> bool:
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


def _print(module: ir.Module, options: OptOptions) -> str:
    limit = options.large_elements_limit
    text = module.operation.get_asm(
        large_elements_limit=limit,
        large_resource_limit=limit,
        enable_debug_info=options.debug_info,
        print_generic_op_form=options.generic,
    )
    return text.rstrip("\n") + "\n"


def _run(text: str, context: ir.Context, options: OptOptions) -> str:
    with context:
        module = ir.Module.parse(text, context)
        directory = None if options.verify_diagnostics else options.reproducer_directory
        options.pipeline.run(module, options.instrumentation, options.verify_each, directory)
        return _print(module, options)


def parse_module(text: str, context: ir.Context, file_name: str) -> ir.Module:
    """Parse and verify MLIR text.

    Raises:
        CompileError: malformed text or invalid IR, with line and column; further diagnostics that
            belong to it go to stderr.
    """
    context.emit_error_diagnostics = True
    diagnostics = _Diagnostics()
    handler = context.attach_diagnostic_handler(diagnostics)
    try:
        return ir.Module.parse(text, context)
    except ir.MLIRError as raised:
        _show(diagnostics.found[1:], file_name)
        raise _parse_error(diagnostics, raised, file_name) from None
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


def process(text: str, options: OptOptions) -> str:
    """Parse `text` in a context of its own, run the pipeline, return the text of the result.

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
    out = ""
    try:
        out = _run(text, context, options)
    except CompileError as raised:
        error = raised
        if options.verify_diagnostics:
            diagnostics.found.append(("error", raised.location, raised.message))
        elif raised.location is not None:
            raised.location = _rename(raised.location, options.file_name)
    except InternalError as raised:
        error = raised
        if not isinstance(raised.__cause__, ir.MLIRError):
            raise
    except ir.MLIRError as raised:
        error = _parse_error(diagnostics, raised, options.file_name)
    finally:
        handler.detach()
    if options.verify_diagnostics:
        _compare(text, diagnostics, options)
        return out
    if error is not None:
        _show(diagnostics.found[isinstance(error, CompileError) :], options.file_name)
        raise error
    _show(diagnostics.found, options.file_name)
    return out


def _parse_error(diagnostics: _Diagnostics, raised: Exception, file_name: str) -> CompileError:
    """The first diagnostic as the error."""
    if not diagnostics.found:
        return CompileError(str(raised), location=file_name)
    _, location, message = diagnostics.found[0]
    return CompileError(message, location=_rename(location, file_name))


def _show(found: list[tuple[str, object, str]], file_name: str) -> None:
    for severity, location, message in found:
        print(f"{_rename(location, file_name)}: {severity}: {message}", file=sys.stderr)


def _compare(text: str, diagnostics: _Diagnostics, options: OptOptions) -> None:
    found = [Found(severity, *_line_and_column(location), message) for severity, location, message in diagnostics.found]
    complaints = compare(expected_diagnostics(text), found)
    if complaints:
        lines = [f"{options.file_name}:{line}: {complaint}" for line, complaint in complaints]
        raise CompileError("the diagnostics are not the expected ones\n" + "\n".join(lines))
