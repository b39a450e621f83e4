"""What can be done between the passes of a pipeline: print the IR, measure time."""

import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any, TextIO

from mnc.core.bindings import ir
from mnc.core.files import replace_file

ELIDE_LIMIT = 16
"""Constants with more elements than this are elided where the IR is printed for reading."""


def print_ir(module: ir.Module, large_elements_limit: int | None = ELIDE_LIMIT) -> str:
    """Text of a module; constants above the limit (in elements) are elided, None prints all."""
    if large_elements_limit is None:
        return str(module)
    return module.operation.get_asm(
        large_elements_limit=large_elements_limit, large_resource_limit=large_elements_limit, assume_verified=True
    )


class Instrumentation:
    """Callbacks around every pass; subclasses override what they need."""

    def looks_at(self, entry: Any) -> bool:
        """Whether `before` or `after` look at the operations of the module around `entry`. Where nobody does, passes
        may hand on a view of it, see `mnc.core.view_pass`."""
        return True

    def start(self, module: ir.Module) -> None:
        """Called before the first pass."""

    def before(self, entry: Any, module: ir.Module) -> None:
        """Called before `entry` (a pass with ``name`` and pipeline text ``str(entry)``) runs."""

    def after(self, entry: Any, module: ir.Module) -> None:
        """Called after `entry` ran and its result was verified."""

    def failed(self, entry: Any, module: ir.Module) -> None:
        """Called when `entry` raised or its result is invalid; `module` is what it left."""


class PrintAfterAll(Instrumentation):
    """Print the IR after every pass under a header, as ``--mlir-print-ir-after-all`` does."""

    def __init__(self, stream: TextIO | None = None, large_elements_limit: int | None = ELIDE_LIMIT) -> None:
        self._stream = stream
        self._limit = large_elements_limit

    def after(self, entry: Any, module: ir.Module) -> None:
        text = print_ir(module, self._limit)
        print(f"// -----// IR Dump After {entry} //----- //\n{text}\n", file=self._stream or sys.stderr)


class DumpAfter(Instrumentation):
    """Print the IR after the pass of one name, to a file or to stderr."""

    def __init__(self, name: str, path: Path | None = None) -> None:
        self._name = name
        self._path = path

    def looks_at(self, entry: Any) -> bool:
        return entry.name == self._name

    def after(self, entry: Any, module: ir.Module) -> None:
        if entry.name != self._name:
            return
        if self._path is None:
            PrintAfterAll().after(entry, module)
        else:
            replace_file(self._path, print_ir(module) + "\n")


class Timing(Instrumentation):
    """Wall time per pass, in seconds, in the order in which they end. Passes inside of another do not count there."""

    def __init__(self) -> None:
        self.seconds: list[tuple[str, float]] = []
        self._starts: list[float] = []  # of passes that run

    def looks_at(self, entry: Any) -> bool:
        return False

    def before(self, entry: Any, module: ir.Module) -> None:
        self._starts.append(time.perf_counter())

    def after(self, entry: Any, module: ir.Module) -> None:
        seconds = time.perf_counter() - self._starts.pop()
        self.seconds.append((str(entry), seconds))
        self._starts = [start + seconds for start in self._starts]

    def failed(self, entry: Any, module: ir.Module) -> None:
        self._starts.pop()

    def report(self) -> str:
        """Table of seconds and share per pass, and the total."""
        total = sum(seconds for _, seconds in self.seconds)
        lines = ["===- Execution time report -===", "  seconds  share  pass"]
        lines += [f"{s:9.4f} {s / total * 100 if total else 0:5.1f}%  {name}" for name, s in self.seconds]
        return "\n".join([*lines, f"{total:9.4f} 100.0%  total"])


class Statistics(Instrumentation):
    """Operations before and after every pass, and which of them came or went."""

    def __init__(self) -> None:
        self._rows: list[tuple[str, Counter[str], Counter[str]]] = []
        self._before: list[Counter[str]] = []  # of passes that run

    def before(self, entry: Any, module: ir.Module) -> None:
        self._before.append(operation_counts(module))

    def after(self, entry: Any, module: ir.Module) -> None:
        self._rows.append((str(entry), self._before.pop(), operation_counts(module)))

    def failed(self, entry: Any, module: ir.Module) -> None:
        self._before.pop()

    def report(self) -> str:
        """Table of operations per pass."""
        lines = ["===- Pass statistics report -===", "  before    after  pass"]
        for name, before, after in self._rows:
            lines.append(f"{before.total():8} {after.total():8}  {name}")
            for kind in sorted(before.keys() | after.keys()):
                if change := after[kind] - before[kind]:
                    lines.append(f"{'':17}    {change:+6} {kind}")
        return "\n".join(lines)


def operation_counts(module: ir.Module) -> Counter[str]:
    """How many operations of each name are nested in a module."""
    counts: Counter[str] = Counter()

    def count(op: ir.Operation) -> Any:
        counts[op.name] += 1
        return ir.WalkResult.ADVANCE

    for op in module.body.operations:
        op.operation.walk(count)
    return counts
