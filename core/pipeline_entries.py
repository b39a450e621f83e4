"""What a pipeline is made of: our passes and those of MLIR, made from elements of pipeline text or from flags."""

import difflib
import importlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache

from mnc.core.bindings import ir, passmanager
from mnc.core.diagnostics import CompileError
from mnc.core.nesting_pass import NestingPass
from mnc.core.pass_base import Pass
from mnc.core.pipeline_text import ROOT, Element, element_error, print_elements

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


def make_entry(element: Element, text: str, table: Mapping[str, str]) -> Entry:
    """The pass that an element of pipeline text names, with those inside of it; raises CompileError."""
    if element.name in table:
        if element.path != (ROOT,):
            message = f"pass '{element.name}' runs on {ROOT}, not inside {element.path[-1]}"
            raise element_error(text, element, message, f"write it directly inside {ROOT}(...)")
        try:
            made = load_pass(table[element.name]).parse(element.options)
        except CompileError as error:
            raise element_error(text, element, error.message, error.hint) from None
        if not element.nested:
            return made
        if isinstance(made, NestingPass):
            return replace(made, passes=tuple(make_entry(inner, text, table) for inner in element.nested))
    if element.nested and (element.name in table or _native_refusal(UpstreamPass(element.name)) is None):
        message = f"pass '{element.name}' runs no passes of its own"
        raise element_error(text, element, message, f"write {element.name}, and the passes behind it")
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


def is_upstream(name: str) -> bool:
    """Whether upstream MLIR has a pass of this name, whatever it runs on."""
    reason = _native_refusal(UpstreamPass(name))
    return reason is None or _UNKNOWN not in reason


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
    close = difflib.get_close_matches(name.lower(), names, 1, _SIMILAR)  # no pass is spelt in capitals
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
