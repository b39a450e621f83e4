"""compile(model, options): import, run the stages, emit."""

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from mnc.core import events
from mnc.core.bindings import ir
from mnc.core.context import make_context
from mnc.core.decisions import fixing
from mnc.core.diagnostics import CompileError
from mnc.core.explanation import explain
from mnc.core.files import replace_file
from mnc.core.instrumentation import Instrumentation
from mnc.core.nesting_pass import NestingPass
from mnc.core.pipeline import Pipeline
from mnc.core.recording import unrecorded
from mnc.dialects.mncore.target import machine_of, name_machine
from mnc.executable import Executable
from mnc.layers import compiled_in_layers, nested_modules, outlined
from mnc.lowering.onnx_to_graph.importer import import_model
from mnc.mncore_backend.codegen.report.ideal import Ideal
from mnc.mncore_backend.shortest.modules import note_preferences, preferences_of, take_over
from mnc.mncore_backend.target import chip, named, use
from mnc.options import Options
from mnc.passes.autodiff.signature import Signature, find_main
from mnc.passes.graph.count_work import WORK
from mnc.passes.graph.nan_inputs import inputs_that_may_hold_nan
from mnc.program_parts import in_a_row, program_of
from mnc.residency import companion_modules, note_updates
from mnc.stages import FIRST_COMPARED, STAGES, stage_pipeline, stages_of


def dump(module: Any, directory: Path, number: int, stage: str) -> None:
    """Write the IR after a stage, constants elided; raises CompileError."""
    text = module.operation.get_asm(large_elements_limit=16, large_resource_limit=16)
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        message = f"cannot write {directory}: {error.strerror}"
        raise CompileError(message, location=str(directory), hint="choose another directory with --dump-dir") from None
    replace_file(directory / f"{number}-{stage}.mlir", text, "choose another directory with --dump-dir")


class _StageDumps(Instrumentation):
    """Writes the IR behind the last pass of each stage."""

    def __init__(self, directory: Path, options: Options) -> None:
        self._directory = directory
        self._left = [(name, len(stage_pipeline(name, options).entries)) for name in STAGES]
        self._done = 0

    def after(self, entry: Any, module: Any) -> None:
        if isinstance(entry, NestingPass):
            return  # its passes are counted
        self._done += 1
        while self._left and self._done == self._left[0][1]:  # a stage may be empty
            dump(module, self._directory, len(STAGES) - len(self._left) + 1, self._left[0][0])
            self._done = 0
            del self._left[0]


def run_stages(module: Any, options: Options) -> None:
    """Run the default stages on an imported module, dumping after each where asked.

    Raises CompileError as passes do, and for decisions among the options that no pass can follow."""
    name_machine(module, named(options.machine))
    with fixing(options.decisions) as choices, use(named(options.machine)):
        _run_stages(module, options)
    choices.check()


def _run_stages(module: Any, options: Options) -> None:
    observers: tuple[Instrumentation, ...] = ()
    if options.dump_dir is not None:
        observers = (_StageDumps(Path(options.dump_dir), options),)
        dump(module, Path(options.dump_dir), 0, "import")
    stages = stages_of(options)
    for name, pipeline in stages.items():
        if name.startswith(FIRST_COMPARED) and not observers and _in_layers(module, options):
            return
        with events.span("stage", name):
            pipeline.run(module, observers)
    if options.prefer is not None:
        note_preferences(module, options.prefer)


def _in_layers(module: Any, options: Options) -> bool:
    """Compile a model of equal layers in parts, if it is one and the parts can be; otherwise leave it as it is."""
    split = outlined(module, options)
    if split is None:
        return False
    try:
        with events.span("stage", "layers"):
            made, preferences = compiled_in_layers(split, options)
    except CompileError as error:
        explain("outline-layers", module.operation, error.message)
        return False
    take_over(module, made)
    note_preferences(module, preferences)
    return True


def _ideal(module: Any) -> Ideal | None:
    """The work of the model that `count-work` noted."""
    if WORK not in module.operation.attributes:
        return None
    noted = ir.DictAttr(module.operation.attributes[WORK])
    return Ideal(**{name: noted[name].value for name in ("multiply_adds", "compute_cycles", "dram_long_words")})


def to_executable(module: Any) -> Executable:
    """Program text and host tensors of a module that went through all stages; with the programs that fill and empty
    what it keeps in local memory."""
    with use(machine_of(module) or chip()):
        return _to_executable(module)


def _to_executable(module: Any) -> Executable:
    noted: dict[str, Any] = {"preferences": preferences_of(module), "ideal": _ideal(module)}
    if parts := nested_modules(module):
        return replace(in_a_row([program_of(part) for part in parts.values()]), **noted)
    for name, companion in companion_modules(module).items():
        with unrecorded():
            stage_pipeline("machine", Options()).run(companion)
        noted[name] = program_of(companion).program
    return replace(program_of(module).program, **noted)


def compile(
    model: Any,
    options: Options | None = None,
    *,
    pipeline: Pipeline | None = None,
    shapes: Mapping[str, Any] | None = None,
) -> Executable:
    """Compile an ONNX model.

    Args:
        model: path of an ONNX file, or an ``onnx.ModelProto``.
        options: see `Options`.
        pipeline: passes to run instead of the default ones, for instance an edited `default_pipeline`.
        shapes: shapes of inputs whose dimensions the model leaves open; adds to those of the options.

    Raises:
        CompileError: the model cannot be compiled; names node, reason and a hint.
    """
    chosen = options or Options()
    context = make_context()
    try:
        with events.span("stage", "import"), use(named(chosen.machine)):
            module = import_model(model, context, shapes={**chosen.shapes, **(shapes or {})})
        name_machine(module, named(chosen.machine))
        note_updates(module, chosen.updates)
        names = Signature(find_main(module)).argument_names()
        harmless = inputs_that_may_hold_nan(module)
        if pipeline is not None:
            pipeline.run(module)
        else:
            run_stages(module, chosen)
        executable = to_executable(module)
        read = {tensor.name for tensor in executable.inputs}
        unread = tuple(name for name in names if name not in read)
        return replace(executable, unread=unread, may_hold_nan=harmless)
    except CompileError as error:
        if error.location is None and isinstance(model, str | os.PathLike):
            error.location = os.fspath(model)
        raise
