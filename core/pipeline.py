"""Pipelines: tuples of our passes and upstream passes, read from and printed as text, edited, run."""

import difflib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Self

from mnc.core import events
from mnc.core.bindings import ir
from mnc.core.diagnostics import CompileError, InternalError
from mnc.core.garbage import no_collection
from mnc.core.given_values import check_flag, optional_path
from mnc.core.instrumentation import DumpAfter, Instrumentation
from mnc.core.nesting_pass import NestingPass, inherited, inheriting, nested_text
from mnc.core.pass_base import Pass
from mnc.core.pipeline_entries import Entry, UpstreamPass, make_entry
from mnc.core.pipeline_text import ROOT, parse_elements
from mnc.core.recording import recording_hooks
from mnc.core.reproducer import write_reproducer, write_reproducer_file
from mnc.core.surroundings import surroundings
from mnc.core.view_pass import holding


@dataclass(frozen=True)
class Pipeline:
    """An immutable sequence of passes; every editing method returns a new pipeline.

    ``str(pipeline)`` is the text that ``mnc-opt --pass-pipeline`` takes. `dumps` names passes after
    which the IR is printed and is not part of the text.
    """

    entries: tuple[Entry, ...] = ()
    dumps: tuple[tuple[str, Path | None], ...] = field(default=())

    def __post_init__(self) -> None:
        """Raises CompileError for what is no pass, and for dumps that are no pairs of a name and a path."""
        object.__setattr__(self, "entries", self._entries(self.entries))
        object.__setattr__(self, "dumps", _dumps(self.dumps))

    @classmethod
    def parse(cls, text: str, table: Mapping[str, str]) -> Self:
        """Read pipeline text; `table` maps the names of our passes to import paths.

        Raises:
            CompileError: malformed text, unknown pass or option, with line and column.
        """
        return cls(tuple(make_entry(element, text, table) for element in parse_elements(text)))

    def __str__(self) -> str:
        return ROOT + nested_text(self.entries)

    def __add__(self, other: "Pipeline") -> "Pipeline":
        if not isinstance(other, Pipeline):
            return NotImplemented
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

    @property
    def all_entries(self) -> tuple[Entry, ...]:
        """Every pass, each followed by those inside of it."""
        return tuple(entry for _, entry in _places(self.entries))

    def _place(self, name: str) -> tuple[int, ...]:
        """Where the pass of this name is: its number, behind those of the passes that it is inside of."""
        if not isinstance(name, str):
            raise CompileError(f"a value of type {type(name).__name__} names no pass", hint="give the name of a pass")
        found = list(_places(self.entries))
        places = [place for place, entry in found if entry.name == name]
        if len(places) == 1:
            return places[0]
        if places:
            raise CompileError(f"the pipeline has {len(places)} passes named '{name}'", hint="edit `entries` instead")
        names = [entry.name for _, entry in found]
        close = difflib.get_close_matches(name, names, 1)
        hint = f"did you mean '{close[0]}'?" if close else f"it has: {', '.join(names)}"
        raise CompileError(f"the pipeline has no pass named '{name}'", hint=hint)

    def _spliced(self, place: tuple[int, ...], start: int, stop: int, new: Iterable[Entry | str]) -> Self:
        """With `new` in place of the passes from `start` to `stop`, counted from the one at `place`."""
        return replace(self, entries=_spliced(self.entries, place, start, stop, self._entries(new)))

    def replace(self, name: str, *new: Entry | str) -> Self:
        """Put `new` in the place of the pass `name`, which may be inside of another, as below."""
        return self._spliced(self._place(name), 0, 1, new)

    def insert_before(self, name: str, *new: Entry | str) -> Self:
        """Put `new` before the pass `name`."""
        return self._spliced(self._place(name), 0, 0, new)

    def insert_after(self, name: str, *new: Entry | str) -> Self:
        """Put `new` after the pass `name`."""
        return self._spliced(self._place(name), 1, 1, new)

    def remove(self, name: str) -> Self:
        """Leave the pass `name` out."""
        return self.replace(name)

    def dump_after(self, name: str, path: Path | str | None = None) -> Self:
        """Print the IR after the pass `name`, to the file `path` or to stderr."""
        self._place(name)
        return replace(self, dumps=(*self.dumps, (name, optional_path(path, "file"))))

    def run(
        self,
        module: ir.Module,
        instrumentation: Iterable[Instrumentation] = (),
        verify: bool = True,
        reproducer_directory: Path | str | None = None,
        reproducer_file: Path | str | None = None,
        reproducer: bool = True,
    ) -> None:
        """Run every pass on `module`, which changes in place.

        Args:
            instrumentation: what is told of every pass before and after it.
            verify: whether the IR is verified after every pass.
            reproducer_directory: where failures are recorded; by default as `mnc.core.state_directory` says.
            reproducer_file: gets the reproducer in place of a new file, also where a pass finds a mistake of the user.
            reproducer: whether a failure is recorded at all.

        Raises:
            CompileError: an argument is not what it has to be, or a pass found a mistake in the user's model.
            InternalError: a pass failed otherwise, or left invalid IR. What was raised is its ``__cause__``.
        """
        check_flag(verify, "verify")
        check_flag(reproducer, "reproducer")
        place = optional_path(reproducer_directory, "directory of reproducers")
        file = optional_path(reproducer_file, "reproducer file")
        observers = (*_observers(instrumentation), *(DumpAfter(name, path) for name, path in self.dumps))
        hooks = (*recording_hooks(), *observers)
        original = _copied(module)
        for hook in hooks:
            if hook not in inherited().observers:  # which were told before
                hook.start(module)
        records = reproducer and file is None
        inside = inheriting(observers, verify, place, records)
        with no_collection(), surroundings(module), inside, holding(module) as holder:
            for index, entry in enumerate(self.entries):
                is_seen = any(hook.looks_at(entry) for hook in hooks)
                if is_seen:
                    holder.settle()
                for hook in hooks:
                    hook.before(entry, module)
                try:
                    with events.span("pass", entry.name):
                        holder.run(entry)
                        if is_seen or index == len(self.entries) - 1:
                            holder.settle()
                        if verify and holder.view is None:
                            module.operation.verify()
                except Exception as error:
                    for hook in reversed(hooks):
                        hook.failed(entry, module)
                    upto = str(Pipeline(self.entries[: index + 1]))
                    path = None if file is None else write_reproducer_file(original, upto, file, verify)
                    if isinstance(error, CompileError) or (isinstance(error, InternalError) and error.reproducer):
                        raise  # a mistake of the user, or one that a pass inside of this one has recorded
                    if records:
                        path = write_reproducer(original, upto, place, verify)
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


def _places(entries: tuple[Entry, ...], inside: tuple[int, ...] = ()) -> Iterator[tuple[tuple[int, ...], Entry]]:
    """Every pass with its place, each followed by those inside of it."""
    for number, entry in enumerate(entries):
        yield (*inside, number), entry
        if isinstance(entry, NestingPass):
            yield from _places(entry.passes, (*inside, number))


def _spliced(
    entries: tuple[Entry, ...], place: tuple[int, ...], start: int, stop: int, new: tuple[Entry, ...]
) -> tuple[Entry, ...]:
    first, *rest = place
    if not rest:
        return entries[: first + start] + new + entries[first + stop :]
    outer = entries[first]
    assert isinstance(outer, NestingPass)  # or there is no such place
    inner = replace(outer, passes=_spliced(outer.passes, tuple(rest), start, stop, new))
    return (*entries[:first], inner, *entries[first + 1 :])


def _observers(given: Any) -> tuple[Instrumentation, ...]:
    """What is told of every pass. Raises CompileError for what cannot be told."""
    hint = "give a list of objects of classes derived from mnc.core.instrumentation.Instrumentation"
    if isinstance(given, Instrumentation | str) or not isinstance(given, Iterable):
        raise CompileError(f"the instrumentation is a value of type {type(given).__name__}", hint=hint)
    found = tuple(given)
    for one in found:
        if not isinstance(one, Instrumentation):
            raise CompileError(f"a value of type {type(one).__name__} is no instrumentation", hint=hint)
    return found


def _dumps(given: Any) -> tuple[tuple[str, Path | None], ...]:
    """Names of passes and files. Raises CompileError for anything else."""
    try:
        pairs: list[Any] = [(name, path) for name, path in given]
    except (TypeError, ValueError):
        pairs = [(None, None)]
    if isinstance(given, str) or not all(isinstance(name, str) for name, _ in pairs):
        hint = "leave it out, and use pipeline.dump_after('cse', 'cse.mlir')"
        raise CompileError("the dumps are no pairs of a pass and a file", hint=hint)
    return tuple((name, optional_path(path, "file")) for name, path in pairs)


def _copied(module: Any) -> Any:
    """A copy of a module; raises CompileError for anything else. Attributes are shared inside a context, so the copy
    costs operations, not weights."""
    if not isinstance(module, ir.Module):
        hint = "give a module, as mnc.import_model(model) and ir.Module.parse(text) make them"
        raise CompileError(f"a value of type {type(module).__name__} is no module", hint=hint)
    return module.operation.clone()
