"""Passes on a view of a module: what one of them has read, the next one goes on with.

A program of a hundred thousand machine operations takes seconds to be read out of a module and to be written back. So
passes that follow each other share what the first of them has read. The module is written when a pass, an observer or
the caller wants the module itself.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

from mnc.core.pass_base import Pass


class View:
    """What stands for the operations of a module meanwhile."""

    def write(self) -> None:
        """Put it back into the module that it was read from."""
        raise NotImplementedError

    def count(self) -> int:
        """How many operations the module has with it."""
        raise NotImplementedError


@dataclass(frozen=True)
class ViewPass(Pass):
    """A pass that works on a view; subclasses implement `process`."""

    def process(self, module: Any, view: View | None) -> View:
        """Transform `view`, or what has to be read out of `module` where there is none, and return it."""
        raise NotImplementedError

    def run(self, module: Any) -> None:
        """Transform the module itself."""
        self.process(module, None).write()


_VIEW: ContextVar["Holder | None"] = ContextVar("view", default=None)


class Holder:
    """The view of a module while a pipeline runs, if passes have left one."""

    def __init__(self, module: Any) -> None:
        self.module = module
        self.view: View | None = None

    def run(self, entry: Any) -> None:
        """Run a pass of any kind on the module or its view. Raises as the pass does."""
        if isinstance(entry, ViewPass):
            self.view = entry.process(self.module, self.view)
        else:
            self.settle()
            entry.run(self.module)

    def settle(self) -> None:
        """Write the view back, if there is one."""
        view, self.view = self.view, None
        if view is not None:
            view.write()


@contextmanager
def holding(module: Any) -> Iterator[Holder]:
    """Keep views of a module inside the block. Whoever leaves it without a failure settles first."""
    holder = Holder(module)
    token = _VIEW.set(holder)
    try:
        yield holder
    finally:
        _VIEW.reset(token)


def view_of(module: Any) -> View | None:
    """What stands for the operations of a module at the moment; None where they stand in the module."""
    holder = _VIEW.get()
    return holder.view if holder is not None and holder.module is module else None
