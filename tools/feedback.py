"""Progress, -v, -q and --log-json for the commands that may take long; added to them when they are looked up.

Standard output belongs to results. Progress goes to standard error, and only to a terminal.
"""

import contextlib
import io
import json
import sys
import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, TextIO

import click

from mnc.core import events
from mnc.core.diagnostics import CompileError, InternalError, exit_code_of, location_text
from mnc.core.state_directory import recording_in

DISPLAYED = frozenset(["bisect", "check", "compile", "demo", "judge", "reduce", "run", "train", "unit-tests"])
"""Commands with a line of progress."""
LONG = DISPLAYED | {"tune"}
"""Commands that take the options; the one that is not displayed has a bar of its own."""
_MARK = "mnc-feedback"
_SHOWN_AFTER = 0.3
"""Seconds before progress is shown: what is done by then needs none."""


@dataclass
class Settings:
    """What the options say."""

    verbose: int = 0
    quiet: bool = False
    log_path: str | None = None
    reproducer_directory: str | None = None


def _settings(context: click.Context) -> Settings:
    return context.meta.setdefault(_MARK, Settings())


def _note(name: str) -> Any:
    def callback(context: click.Context, _: click.Parameter, value: Any) -> None:
        setattr(_settings(context), name, value)

    return callback


def options() -> list[click.Option]:
    """-v, -q, --reproducer-dir and --log-json."""
    return [
        click.Option(["-v", "--verbose"], count=True, expose_value=False, callback=_note("verbose"),
                     help="Say on stderr what took how long: stages (of many cases: each case), and with -vv passes."),
        click.Option(["-q", "--quiet"], is_flag=True, expose_value=False, callback=_note("quiet"),
                     help="Print errors only; the exit code says the rest."),
        click.Option(["--reproducer-dir"], metavar="DIR", expose_value=False, callback=_note("reproducer_directory"),
                     help="Record mistakes of the compiler here (or in $MNC_REPRODUCER_DIR, ~/.local/state/mnc)."),
        click.Option(["--log-json"], metavar="FILE", expose_value=False, callback=_note("log_path"),
                     help="Write a line of JSON for every stage, pass, node, warning and error."),
    ]  # fmt: skip


def with_feedback(command: click.Command, name: str) -> click.Command:
    """Add the options to a command, once."""
    if name not in LONG or getattr(command, _MARK, False):
        return command
    setattr(command, _MARK, True)
    command.params += options()
    original = command.invoke

    def invoke(ctx: click.Context) -> Any:
        settings = _settings(ctx)
        with recording_in(settings.reproducer_directory), _feedback(settings, name, ctx):
            return original(ctx)

    command.invoke = invoke
    return command


@contextlib.contextmanager
def _feedback(settings: Settings, name: str, context: click.Context) -> Iterator[None]:
    if settings.quiet and settings.verbose:
        raise CompileError("-q and -v exclude each other", hint="leave one of them out")
    from mnc.progress_bar import without_bars

    as_json = context.params.get("output_format") == "json"
    with contextlib.ExitStack() as stack:
        if settings.log_path is not None:
            stack.enter_context(_logged(settings.log_path, name))
        if settings.quiet and not as_json:
            stack.enter_context(contextlib.redirect_stdout(io.StringIO()))
        if settings.quiet:
            stack.enter_context(without_bars())
            stack.enter_context(warnings.catch_warnings())
            warnings.simplefilter("ignore")
        if settings.verbose:
            stack.enter_context(events.listening(_Verbose(settings.verbose)))
        elif name in DISPLAYED and not settings.quiet and sys.stderr.isatty():
            stack.enter_context(_display(name))
        if as_json:
            stack.enter_context(_errors_as_json())
        yield


@contextlib.contextmanager
def _errors_as_json() -> Iterator[None]:
    """Whoever reads JSON from standard output finds errors there, too; they are printed on stderr all the same."""
    try:
        yield
    except (CompileError, InternalError) as error:
        click.echo(json.dumps({"error": describe(error)}, indent=1))
        raise


def describe(error: CompileError | InternalError) -> dict[str, Any]:
    """An error as plain values."""
    if isinstance(error, InternalError):
        reproducer = str(error.reproducer) if error.reproducer else None
        kinds = {"message": error.message, "pass": error.failing_pass, "reproducer": reproducer}
    else:
        where = location_text(error.location) if error.location is not None else None
        kinds = {"message": error.message, "node": error.node, "operator": error.op_type, "hint": error.hint,
                 "location": where or None}  # fmt: skip
    return {**kinds, "exit_code": exit_code_of(error)}


class _Verbose:
    """A line on stderr for every case or else every stage, and with two -v for every pass, too, when it is done."""

    def __init__(self, level: int) -> None:
        self._level = level
        self._in_case = False

    def _kinds(self) -> tuple[str, ...]:
        if self._level > 1:
            return ("case", "stage", "pass")
        return ("case",) if self._in_case else ("case", "stage")

    def __call__(self, event: events.Event) -> None:
        shown = event.kind in self._kinds() and event.seconds is not None
        if event.kind == "case":
            self._in_case = event.seconds is None
        if shown:
            indent = "  " if event.kind == "pass" else ""
            details = "".join(f" {value}" for value in event.fields.values() if value != "")
            click.echo(f"{event.seconds:8.3f} s  {indent}{event.kind} {event.name}{details}", err=True)


class _Log:
    """A line of JSON for every event."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._begin = time.perf_counter()

    def __call__(self, event: events.Event) -> None:
        self.write(event.kind, name=event.name, seconds=event.seconds, **event.fields)

    def write(self, kind: str, **fields: Any) -> None:
        """One line; what is None is left out."""
        now = datetime.now(UTC).isoformat(timespec="milliseconds")
        known = {key: value for key, value in fields.items() if value is not None}
        self._stream.write(json.dumps({"time": now, "event": kind, **known}, default=str) + "\n")
        self._stream.flush()

    def end(self, exit_code: int) -> None:
        """The last line."""
        self.write("end", exit_code=exit_code, seconds=time.perf_counter() - self._begin)


@contextlib.contextmanager
def _logged(path: str, name: str) -> Iterator[None]:
    try:
        stream = open(path, "w", encoding="utf-8")  # noqa: SIM115
    except OSError as error:
        raise CompileError(f"cannot write '{path}': {error.strerror}", hint="give another file to --log-json") from None
    from mnc.version import version_of

    with stream:
        log = _Log(stream)
        log.write("start", command=name, arguments=sys.argv[1:], version=version_of("mnc"))
        shown = warnings.showwarning

        def show(message: Warning | str, *where: Any, **more: Any) -> None:
            log.write("warning", message=str(message))
            shown(message, *where, **more)

        warnings.showwarning = show
        code = InternalError.exit_code
        try:
            with events.listening(log):
                yield
            code = 0
        except SystemExit as leaving:
            code = leaving.code if isinstance(leaving.code, int) else int(leaving.code is not None)
            raise
        except click.exceptions.Exit as leaving:
            code = leaving.exit_code
            raise
        except click.ClickException as error:
            code = error.exit_code
            log.write("error", message=error.format_message())
            raise
        except KeyboardInterrupt:
            code = 130
            raise
        except (CompileError, InternalError) as error:
            code = exit_code_of(error)
            log.write("error", **{key: value for key, value in describe(error).items() if key != "exit_code"})
            raise
        finally:
            warnings.showwarning = shown
            log.end(code)


@contextlib.contextmanager
def _display(name: str) -> Iterator[None]:
    """A line at the bottom of the terminal that is gone at the end."""
    from mnc.tools.progress_line import ProgressLine

    line = ProgressLine(name, _SHOWN_AFTER)
    try:
        with events.listening(line):
            yield
    finally:
        line.stop()
