"""Passes that run other passes: ``name{options}(first,second)`` in pipeline text.

How they run them is their business: several times, on copies, with other options. What the pipeline around them asks
for holds inside, too: verification, where failures are recorded, and what observes the passes. Observers are shown the
run that leads to the result, and no other.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mnc.core.instrumentation import Instrumentation
from mnc.core.pass_base import NO_OPTION, Pass
from mnc.core.pipeline_text import ROOT, print_elements


def nested_text(passes: Iterable[Any]) -> str:
    """Passes as pipeline text: ``(first,second)``."""
    return print_elements([(getattr(entry, "path", (ROOT,)), str(entry)) for entry in passes]).removeprefix(ROOT)


@dataclass(frozen=True)
class NestingPass(Pass):
    """A pass with passes inside of it; subclasses run them with `run_nested`."""

    passes: tuple[Any, ...] = field(default=(), metadata=NO_OPTION)

    def __str__(self) -> str:
        """Pipeline text, with that of the passes inside."""
        return super().__str__() + (nested_text(self.passes) if self.passes else "")


@dataclass(frozen=True)
class Inherited:
    """What holds for passes inside of a pass; see `mnc.core.pipeline.Pipeline.run`."""

    observers: tuple[Instrumentation, ...] = ()
    verify: bool = True
    reproducer_directory: Path | str | None = None
    reproducer: bool = True


_INHERITED: ContextVar[Inherited | None] = ContextVar("inherited", default=None)


def inherited() -> Inherited:
    """What the pipeline asks for whose pass runs."""
    return _INHERITED.get() or Inherited()


@contextmanager
def inheriting(
    observers: tuple[Instrumentation, ...], verify: bool, reproducer_directory: Path | str | None, reproducer: bool
) -> Iterator[None]:
    """What passes inherit that are run by passes inside the block."""
    token = _INHERITED.set(Inherited(observers, verify, reproducer_directory, reproducer))
    try:
        yield
    finally:
        _INHERITED.reset(token)


def run_nested(passes: Iterable[Any], module: Any, *, is_observed: bool = False) -> None:
    """Run passes inside of a pass on a module, which changes in place. Raises as `Pipeline.run` does.

    Args:
        is_observed: whether this run leads to the result, and is shown to those who observe.
    """
    from mnc.core.pipeline import Pipeline  # which reads and runs passes of this kind

    outer = inherited()
    Pipeline(tuple(passes)).run(
        module, outer.observers if is_observed else (), outer.verify, outer.reproducer_directory,
        reproducer=outer.reproducer,
    )  # fmt: skip
