"""Printing the IR between passes, with the meaning that the options of ``mlir-opt`` have.

The whole module is printed, whichever operation a pass is nested in: a pass of ours has no smaller unit.
"""

import hashlib
import io
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mnc.core.bindings import ir
from mnc.core.files import cannot_write, replace_file
from mnc.core.instrumentation import ELIDE_LIMIT, Instrumentation, print_ir

_HINT = "choose another directory with --mlir-print-ir-tree-dir"


@dataclass(frozen=True)
class PrintOptions:
    """When and where the IR is printed.

    Attributes:
        before, after: names of passes; `before_all` and `after_all` stand for every name.
        only_changed: after a pass only if it changed something; alone it means every pass.
        only_failed: after a pass only if it failed; alone it means every pass.
        directory: write a file for every print instead of printing on stderr.
        limit: constants with more elements are elided; None prints all.
    """

    before: frozenset[str] = frozenset()
    after: frozenset[str] = frozenset()
    before_all: bool = False
    after_all: bool = False
    only_changed: bool = False
    only_failed: bool = False
    directory: Path | None = None
    limit: int | None = ELIDE_LIMIT

    @property
    def names(self) -> frozenset[str]:
        """Every pass that is named."""
        return self.before | self.after

    @property
    def any(self) -> bool:
        """True if something will be printed."""
        return bool(
            self.names or self.before_all or self.after_all or self.only_changed or self.only_failed or self.directory
        )

    def prints_before(self, name: str) -> bool:
        """Whether the IR is printed before the pass `name`."""
        return self.before_all or name in self.before

    def prints_after(self, name: str) -> bool:
        """Whether the pass `name` is one of those after which the IR may be printed."""
        if self.after_all or name in self.after:
            return True
        narrowed = self.only_changed or self.only_failed or self.directory is not None
        return narrowed and not (self.after or self.before or self.before_all)


class PrintIR(Instrumentation):
    """Print the IR around passes as `PrintOptions` say."""

    def __init__(self, options: PrintOptions) -> None:
        self._options = options
        self._fingerprints: list[bytes] = []  # of passes that run
        self._number = 0
        self._run = 0

    def start(self, module: ir.Module) -> None:
        self._number, self._run = 0, self._run + 1

    def before(self, entry: Any, module: ir.Module) -> None:
        if self._options.prints_before(entry.name):
            self._print("Before", entry, module)
        if self._watches(entry):
            self._fingerprints.append(_fingerprint(module))

    def after(self, entry: Any, module: ir.Module) -> None:
        number, self._number = self._number, self._number + 1
        is_changed = not self._watches(entry) or self._fingerprints.pop() != _fingerprint(module)
        if not self._options.prints_after(entry.name) or self._options.only_failed or not is_changed:
            return
        self._print("After", entry, module, number=number)

    def failed(self, entry: Any, module: ir.Module) -> None:
        if self._watches(entry):
            self._fingerprints.pop()
        if self._options.prints_after(entry.name):
            self._print("After", entry, module, " Failed")

    def _watches(self, entry: Any) -> bool:
        return self._options.only_changed and self._options.prints_after(entry.name)

    def _print(self, when: str, entry: Any, module: ir.Module, how: str = "", number: int | None = None) -> None:
        # After a failure the IR may be invalid; the generic form is safe to print.
        invalid = bool(how)
        text = f"// -----// IR Dump {when} {entry}{how} //----- //\n{_text(module, self._options.limit, invalid)}\n"
        if self._options.directory is None:
            print(text, file=sys.stderr)
            return
        suffix = "" if when == "After" else ".before"
        folder = self._options.directory / _folder(module, self._run)
        path = folder / f"{self._number if number is None else number}_{entry.name}{suffix}.mlir"
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise cannot_write(path, error, _HINT) from None
        replace_file(path, text, _HINT)


def _folder(module: ir.Module, run: int) -> str:
    """``builtin_module_NAME``; later modules of a split input have their number behind it."""
    attributes = module.operation.attributes
    name = ir.StringAttr(attributes["sym_name"]).value if "sym_name" in attributes else "no-symbol-name"
    return "builtin_module_" + re.sub(r"[^\w.-]", "_", name) + (f"_{run}" if run > 1 else "")


def _text(module: ir.Module, limit: int | None, invalid: bool) -> str:
    if not invalid:
        return print_ir(module, limit)
    return module.operation.get_asm(
        large_elements_limit=limit, large_resource_limit=limit, print_generic_op_form=True, assume_verified=True
    )


def _fingerprint(module: ir.Module) -> bytes:
    """Of operations, attributes and constants; cheaper than the text, and nothing in it is elided."""
    buffer = io.BytesIO()
    module.operation.write_bytecode(buffer)
    return hashlib.blake2b(buffer.getbuffer()).digest()
