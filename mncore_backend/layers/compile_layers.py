"""compile-layers: a model of equal layers is compiled in three parts, of which the layer is one, whatever their number.
A model of several rows of layers has a layer for each, and parts between them.

before:  func.func @main(%x) { %1 = layer(%x, %w0); %2 = layer(%1, %w1); ... %12 = layer(%11, %w11); return %12 }
after:   module @before { statements }, module @layer { statements of one trip, 12 trips }, module @after { statements }

The passes inside, as compile-layers(drop-empty,...,verify-schedule), run on each of the parts that `outline-layers`
makes: first on the layers, so that what layers hand to each other stays in local memory; then on what comes before and
after them, which leave it there and find it there. A model that is no row of layers, or whose parts cannot hand over
what they should, goes through the passes as a whole.
"""

from collections.abc import Iterable
from contextlib import nullcontext
from dataclasses import dataclass, fields, replace
from itertools import chain
from typing import Any, ClassVar, Literal

from mnc.core import events
from mnc.core.bindings import ir
from mnc.core.diagnostics import CompileError
from mnc.core.explanation import explain
from mnc.core.modules import copy_module, parts_of, put_part, take_over, take_parts
from mnc.core.nesting_pass import NestingPass, inherited, run_nested
from mnc.core.pass_base import at_least
from mnc.core.recording import unrecorded
from mnc.lowering.linalg_to_spmd.keep_resident import NAME, UPDATED
from mnc.lowering.linalg_to_spmd.layout_attributes import note_preferences, preferences_of
from mnc.lowering.linalg_to_spmd.outline_layers import LAYER, STACKED, OutlineLayers
from mnc.mncore_backend.codegen.host_ir import Kept, read_kept
from mnc.mncore_backend.layers.hand_overs import note_homes, note_reserved, note_tables

NEEDED = ("keep-resident", "hand-over")
"""Passes without which parts do not meet in local memory."""
RESIDENCY = ("resident", "what")
"""How passes call the option that says what stays in local memory."""


@dataclass(frozen=True)
class CompileLayers(NestingPass):
    """Run passes on a model of equal layers in three parts, with one layer for all; on other models as they are.

    ``steps`` and ``percent`` are those of `outline-layers`. Programs that keep something in local memory from run to
    run, as ``resident`` says, are compiled as a whole.
    """

    name: ClassVar[str] = "compile-layers"
    resident: Literal["nothing", "updates", "state", "batch"] = "nothing"
    steps: int = at_least(0, OutlineLayers.steps)
    percent: int = at_least(0, OutlineLayers.percent)

    def run(self, module: Any) -> None:
        """Replace the module by what the passes inside make of it, or of its parts. Raises CompileError as they do with
        the whole."""
        if not self._ran_on_parts(module):
            run_nested(self.passes, module, is_observed=True)

    def _ran_on_parts(self, module: Any) -> bool:
        """Compile a module in parts, if it has layers and the parts can be; otherwise leave it as it is."""
        if self.resident != "nothing" or parts_of(module):
            return False
        split = copy_module(module)
        run_nested((OutlineLayers(self.steps, self.percent),), split)
        if not parts_of(split):
            return False
        again = copy_module(split) if inherited().observers else None
        try:
            with events.span("stage", "layers"):
                self._compile(split)
        except CompileError as error:
            explain(self.name, module.operation, error.message)
            return False
        if again is not None:  # it is known that this leads to the result
            with unrecorded():  # as it was recorded before
                self._compile(again, is_observed=True)
            split = again
        take_over(module, split)
        made = parts_of(module)
        if preferences := preferences_of(made[_layers_of(made)[0]]):
            note_preferences(module, preferences)
        return True

    def _compile(self, split: Any, *, is_observed: bool = False) -> None:
        """Run the passes on the parts of a module. Raises CompileError as they do, and where parts cannot hand over
        what they should."""
        if missing := set(NEEDED) - _names(self.passes):
            message = f"{self.name} has no pass '{min(missing)}' inside, so parts cannot hand over anything"
            raise CompileError(message, hint="put it behind distribute, as in docs/pipeline.md")
        parts = take_parts(split)
        kept: dict[str, list[Kept]] = {}
        handed_over: list[Kept] = []
        for name in _layers_of(parts):
            note_reserved(parts[name], handed_over)  # by the row before
            with unrecorded() if kept else nullcontext():  # what is recorded is of the first
                run_nested(_keeping_updates(self.passes), parts[name], is_observed=is_observed)
            others = {own.attributes[NAME] for own in handed_over}
            kept[name] = [own for own in read_kept(parts[name]) if own.attributes[NAME] not in others]
            handed_over = [own for own in kept[name] if UPDATED in own.attributes or _is_stacked(own)]
        every = [*chain(*kept.values())]
        with unrecorded():
            for name, following in zip(parts, [*list(parts)[1:], ""], strict=True):
                if name not in kept:
                    note_tables(parts[name], kept.get(following, []))
                    note_homes(parts[name], "res_attrs", every)
                    note_homes(parts[name], "arg_attrs", every)
                    run_nested(self.passes, parts[name], is_observed=is_observed)
        for name, part in parts.items():
            put_part(split, name, part)


def _is_stacked(own: Kept) -> bool:
    """Whether a buffer holds the rows that layers have made."""
    return ir.StringAttr(own.attributes[NAME]).value.partition(".")[0] == STACKED


def _layers_of(parts: Iterable[str]) -> list[str]:
    """Those of the parts that are layers."""
    return [name for name in parts if name.partition(".")[0] == LAYER]


def _names(passes: Iterable[Any]) -> set[str]:
    """Names of passes and of those inside of them."""
    return {name for entry in passes for name in (entry.name, *_names(getattr(entry, "passes", ())))}


def _keeping_updates(passes: Iterable[Any]) -> tuple[Any, ...]:
    """Passes, with the option that what a result updates stays in local memory."""

    def changed(entry: Any) -> Any:
        options: dict[str, Any] = {field.name: "updates" for field in fields(entry) if field.name in RESIDENCY}
        if isinstance(entry, NestingPass):
            options["passes"] = _keeping_updates(entry.passes)
        return replace(entry, **options)

    return tuple(changed(entry) for entry in passes)
