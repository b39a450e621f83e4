"""Pipelines: tuples of our passes and upstream passes, read from and printed as text, edited, run."""

import difflib
import importlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, Self

from mnc.core import events
from mnc.core.bindings import ir, passmanager
from mnc.core.diagnostics import CompileError, InternalError
from mnc.core.garbage import rare_collection
from mnc.core.instrumentation import DumpAfter, Instrumentation
from mnc.core.pass_base import Pass
from mnc.core.pipeline_text import ROOT, Element, element_error, parse_elements, print_elements
from mnc.core.recording import recording_hooks
from mnc.core.reproducer import write_reproducer, write_reproducer_file
from mnc.core.surroundings import surroundings

_WRONG_ANCHOR = re.compile(r"restricted to '([\w.]+)' on a PassManager intended to run on '([\w.]+)'")
_UNKNOWN = "does not refer to a registered pass"
_SIMILAR = 0.7
_SEE_LIST = "see mnc-opt --list-passes"
WELL_KNOWN = (
    "canonicalize",
    "cse",
    "inline",
    "loop-invariant-code-motion",
    "lower-affine",
    "one-shot-bufferize",
    "sccp",
    "strip-debuginfo",
    "symbol-dce",
)
"""Passes of MLIR that are proposed for a misspelt name; the bindings cannot list them."""


@dataclass(frozen=True)
class UpstreamPass:
    """A pass of the MLIR distribution: where it is nested, its name and its option text."""

    name: str
    options: str = ""
    path: tuple[str, ...] = (ROOT,)

    def __str__(self) -> str:
        return Element(self.path, self.name, self.options).text

    @property
    def pipeline_text(self) -> str:
        """The pass with its nesting, as the native parser wants it."""
        return print_elements([(self.path, str(self))])

    def run(self, module: ir.Module) -> None:
        """Run through the native pass manager; raises ``ir.MLIRError`` when it fails."""
        with module.context:
            passmanager.PassManager.parse(self.pipeline_text).run(module.operation)


Entry = Pass | UpstreamPass


def load_pass(import_path: str) -> type[Pass]:
    """Import ``package.module:ClassName``, a row of a pass table."""
    module_name, _, class_name = import_path.partition(":")
    return getattr(importlib.import_module(module_name), class_name)


def _make_entry(element: Element, text: str, table: Mapping[str, str]) -> Entry:
    if element.name in table:
        if element.path != (ROOT,):
            message = f"pass '{element.name}' runs on {ROOT}, not inside {element.path[-1]}"
            raise element_error(text, element, message, f"write it directly inside {ROOT}(...)")
        try:
            return load_pass(table[element.name]).parse(element.options)
        except CompileError as error:
            raise element_error(text, element, error.message, error.hint) from None
    entry = UpstreamPass(element.name, element.options, element.path)
    if reason := _native_refusal(entry):
        raise element_error(text, element, *_explained(reason, entry, table))
    return entry


@lru_cache
def _native_refusal(entry: UpstreamPass) -> str | None:
    """What the native parser says against a pass, or None."""
    try:
        with ir.Context():
            passmanager.PassManager.parse(entry.pipeline_text)
    except ValueError as error:
        return str(error)
    return None


def _explained(reason: str, entry: UpstreamPass, table: Mapping[str, str]) -> tuple[str, str]:
    """Message and hint for what the native parser refused."""
    if _UNKNOWN in reason:
        return f"there is no pass '{entry.name}'", _proposal(entry.name, [*table, *WELL_KNOWN])
    if match := _WRONG_ANCHOR.search(reason):
        message = f"pass '{entry.name}' runs on {match[1]}, not on {match[2]}"
        return message, f"write {match[1]}({entry})"
    lines = [line.strip() for line in reason.splitlines() if line.strip()]
    option = next((line for line in lines if line.startswith("<Pass-Options-Parser>")), None)
    if option is None:
        return lines[-1], _SEE_LIST
    return f"pass '{entry.name}': {option.partition(':')[2].strip()}", f"its options are: {_native_options(entry)}"


def _proposal(name: str, names: Iterable[str]) -> str:
    close = difflib.get_close_matches(name, names, 1, _SIMILAR)
    return f"did you mean '{close[0]}'?" if close else _SEE_LIST


def _native_options(entry: UpstreamPass) -> str:
    """Names of the options of a pass of MLIR, from its text with all of them."""
    with ir.Context():
        text = str(passmanager.PassManager.parse(replace(entry, options="").pipeline_text))
    return ", ".join(re.findall(r"[{ ]([\w-]+)=", text)) or "none"


def entry_of_flag(name: str, options: str, table: Mapping[str, str], flags: Iterable[str] = ()) -> Entry:
    """A pass that stands alone, as ``--name='options'`` on the command line. A pass of MLIR that runs on something
    smaller than a module, as on functions, runs on each of these.

    Args:
        flags: with dashes, what else might be meant by a misspelt name.

    Raises:
        CompileError: there is no such pass, or no such option.
    """
    if name in table:
        return load_pass(table[name]).parse(options)
    entry = UpstreamPass(name, options)
    reason = _native_refusal(entry)
    if reason and (match := _WRONG_ANCHOR.search(reason)):
        entry = replace(entry, path=(ROOT, match[1]))
        reason = _native_refusal(entry)
    if not reason:
        return entry
    if _UNKNOWN in reason:
        known = [*flags, *(f"--{other}" for other in (*table, *WELL_KNOWN))]
        raise CompileError(f"there is no option and no pass '--{name}'", hint=_proposal(f"--{name}", known))
    message, hint = _explained(reason, entry, table)
    raise CompileError(message, hint=hint)


@dataclass(frozen=True)
class Pipeline:
    """An immutable sequence of passes; every editing method returns a new pipeline.

    ``str(pipeline)`` is the text that ``mnc-opt --pass-pipeline`` takes. `dumps` names passes after
    which the IR is printed and is not part of the text.
    """

    entries: tuple[Entry, ...] = ()
    dumps: tuple[tuple[str, Path | None], ...] = field(default=())

    @classmethod
    def parse(cls, text: str, table: Mapping[str, str]) -> Self:
        """Read pipeline text; `table` maps the names of our passes to import paths.

        Raises:
            CompileError: malformed text, unknown pass or option, with line and column.
        """
        return cls(tuple(_make_entry(element, text, table) for element in parse_elements(text)))

    def __str__(self) -> str:
        return print_elements([(getattr(entry, "path", (ROOT,)), str(entry)) for entry in self.entries])

    def __add__(self, other: "Pipeline") -> "Pipeline":
        return Pipeline(self.entries + other.entries, self.dumps + other.dumps)

    def __repr__(self) -> str:
        return f"<Pipeline of {len(self.entries)} passes: {self}>"

    def _entries(self, new: Iterable[Any]) -> tuple[Entry, ...]:
        """What takes part in a pipeline; raises CompileError."""
        found = tuple(new)
        for entry in found:
            if not isinstance(entry, Pass | UpstreamPass):
                message = f"a value of type {type(entry).__name__} is no pass"
                raise CompileError(message, hint="give a pass such as FoldConstants(), or its text to mnc.Pipeline")
        return found

    def _index(self, name: str) -> int:
        if not isinstance(name, str):
            raise CompileError(f"a value of type {type(name).__name__} names no pass", hint="give the name of a pass")
        places = [i for i, entry in enumerate(self.entries) if entry.name == name]
        if len(places) == 1:
            return places[0]
        if places:
            raise CompileError(f"the pipeline has {len(places)} passes named '{name}'", hint="edit `entries` instead")
        names = [entry.name for entry in self.entries]
        close = difflib.get_close_matches(name, names, 1)
        hint = f"did you mean '{close[0]}'?" if close else f"it has: {', '.join(names)}"
        raise CompileError(f"the pipeline has no pass named '{name}'", hint=hint)

    def _spliced(self, start: int, stop: int, new: Iterable[Entry | str]) -> Self:
        return replace(self, entries=self.entries[:start] + self._entries(new) + self.entries[stop:])

    def replace(self, name: str, *new: Entry | str) -> Self:
        """Put `new` in the place of the pass `name`."""
        i = self._index(name)
        return self._spliced(i, i + 1, new)

    def insert_before(self, name: str, *new: Entry | str) -> Self:
        """Put `new` before the pass `name`."""
        i = self._index(name)
        return self._spliced(i, i, new)

    def insert_after(self, name: str, *new: Entry | str) -> Self:
        """Put `new` after the pass `name`."""
        i = self._index(name)
        return self._spliced(i + 1, i + 1, new)

    def remove(self, name: str) -> Self:
        """Leave the pass `name` out."""
        return self.replace(name)

    def dump_after(self, name: str, path: Path | str | None = None) -> Self:
        """Print the IR after the pass `name`, to the file `path` or to stderr."""
        self._index(name)
        return replace(self, dumps=(*self.dumps, (name, Path(path) if path is not None else None)))

    def run(
        self,
        module: ir.Module,
        instrumentation: tuple[Instrumentation, ...] = (),
        verify: bool = True,
        reproducer_directory: Path | str | None = None,
        reproducer_file: Path | None = None,
        reproducer: bool = True,
    ) -> None:
        """Run every pass on `module`, which changes in place.

        Args:
            reproducer_directory: where failures are recorded; by default in the user's state directory, see
                `mnc.core.state_directory`.
            reproducer_file: gets the reproducer in place of a new file in `reproducer_directory`; it is written also
                where a pass finds a mistake of the user.
            reproducer: whether a failure is recorded at all.

        Raises:
            CompileError: a pass found a mistake in the user's model.
            InternalError: a pass failed otherwise, or left invalid IR; a reproducer was written,
                see `reproducer`. What was raised is its ``__cause__``.
        """
        hooks = (*recording_hooks(), *instrumentation, *(DumpAfter(name, path) for name, path in self.dumps))
        # Attributes are shared inside a context, so the copy costs operations, not weights.
        original = module.operation.clone()
        for hook in hooks:
            hook.start(module)
        with rare_collection(), surroundings(module):
            for index, entry in enumerate(self.entries):
                for hook in hooks:
                    hook.before(entry, module)
                try:
                    with events.span("pass", entry.name):
                        entry.run(module)
                        if verify:
                            module.operation.verify()
                except Exception as error:
                    for hook in reversed(hooks):
                        hook.failed(entry, module)
                    upto = str(Pipeline(self.entries[: index + 1]))
                    if reproducer_file is not None:
                        path = write_reproducer_file(original, upto, reproducer_file, verify)
                    if isinstance(error, CompileError):
                        raise
                    if reproducer_file is None:
                        place = Path(reproducer_directory) if reproducer_directory is not None else None
                        path = write_reproducer(original, upto, place, verify) if reproducer else None
                    raise self._failure(index, error, path) from error
                for hook in reversed(hooks):
                    hook.after(entry, module)

    def _failure(self, index: int, error: Exception, reproducer: Path | None) -> InternalError:
        """Describe the failure of entry `index`."""
        message = str(error).strip() or type(error).__name__
        if isinstance(error, InternalError):
            message = error.message
        elif not isinstance(error, ir.MLIRError):
            message = f"{type(error).__name__}: {message}"
        before = tuple(str(done) for done in self.entries[:index])
        return InternalError(message, str(self.entries[index]), before, reproducer)
