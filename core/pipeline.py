"""Pipelines: tuples of our passes and upstream passes, read from and printed as text, edited, run."""

import difflib
import importlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Self

from mnc.core.bindings import ir, passmanager
from mnc.core.diagnostics import CompileError, InternalError
from mnc.core.garbage import rare_collection
from mnc.core.instrumentation import DumpAfter, Instrumentation
from mnc.core.pass_base import Pass
from mnc.core.pipeline_text import ROOT, Element, element_error, parse_elements, print_elements
from mnc.core.reproducer import write_reproducer


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
    try:
        with ir.Context():
            passmanager.PassManager.parse(entry.pipeline_text)
    except ValueError as error:
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        reason = next((line for line in lines if "does not refer to a registered pass" in line), lines[-1])
        if "does not refer" in reason:
            reason = f"there is no pass '{element.name}'"
        close = difflib.get_close_matches(element.name, table, 1)
        hint = f"did you mean '{close[0]}'?" if close else "see mnc-opt --list-passes"
        raise element_error(text, element, reason, hint) from None
    return entry


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

    def _index(self, name: str) -> int:
        places = [i for i, entry in enumerate(self.entries) if entry.name == name]
        if len(places) == 1:
            return places[0]
        if places:
            raise CompileError(f"the pipeline has {len(places)} passes named '{name}'", hint="edit `entries` instead")
        names = [entry.name for entry in self.entries]
        close = difflib.get_close_matches(name, names, 1)
        hint = f"did you mean '{close[0]}'?" if close else f"it has: {', '.join(names)}"
        raise CompileError(f"the pipeline has no pass named '{name}'", hint=hint)

    def _spliced(self, start: int, stop: int, new: tuple[Entry, ...]) -> "Pipeline":
        return replace(self, entries=self.entries[:start] + new + self.entries[stop:])

    def replace(self, name: str, *new: Entry) -> "Pipeline":
        """Put `new` in the place of the pass `name`."""
        i = self._index(name)
        return self._spliced(i, i + 1, new)

    def insert_before(self, name: str, *new: Entry) -> "Pipeline":
        """Put `new` before the pass `name`."""
        i = self._index(name)
        return self._spliced(i, i, new)

    def insert_after(self, name: str, *new: Entry) -> "Pipeline":
        """Put `new` after the pass `name`."""
        i = self._index(name)
        return self._spliced(i + 1, i + 1, new)

    def remove(self, name: str) -> "Pipeline":
        """Leave the pass `name` out."""
        return self.replace(name)

    def dump_after(self, name: str, path: Path | str | None = None) -> "Pipeline":
        """Print the IR after the pass `name`, to the file `path` or to stderr."""
        self._index(name)
        return replace(self, dumps=(*self.dumps, (name, Path(path) if path is not None else None)))

    def run(
        self,
        module: ir.Module,
        instrumentation: tuple[Instrumentation, ...] = (),
        verify: bool = True,
        reproducer_directory: Path | str | None = ".",
    ) -> None:
        """Run every pass on `module`, which changes in place.

        Raises:
            CompileError: a pass found a mistake in the user's model.
            InternalError: a pass failed otherwise, or left invalid IR; a reproducer was written to
                `reproducer_directory` unless that is None. What was raised is its ``__cause__``.
        """
        hooks = (*instrumentation, *(DumpAfter(name, path) for name, path in self.dumps))
        # Attributes are shared inside a context, so the copy costs operations, not weights.
        original = module.operation.clone()
        with rare_collection():
            for index, entry in enumerate(self.entries):
                for hook in hooks:
                    hook.before(entry, module)
                try:
                    entry.run(module)
                    if verify:
                        module.operation.verify()
                except CompileError:
                    raise
                except Exception as error:
                    raise self._failure(index, error, original, reproducer_directory) from error
                for hook in reversed(hooks):
                    hook.after(entry, module)

    def _failure(
        self, index: int, error: Exception, original: ir.OpView, directory: Path | str | None
    ) -> InternalError:
        """Write the reproducer for entry `index` and describe the failure."""
        path = None
        if directory is not None:
            path = write_reproducer(original, str(Pipeline(self.entries[: index + 1])), Path(directory))
        message = str(error).strip() or type(error).__name__
        if isinstance(error, InternalError):
            message = error.message
        elif not isinstance(error, ir.MLIRError):
            message = f"{type(error).__name__}: {message}"
        before = tuple(str(done) for done in self.entries[:index])
        return InternalError(message, str(self.entries[index]), before, path)
