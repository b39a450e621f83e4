"""compile(model, options): import, run the stages, emit."""

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from mnc.core import events
from mnc.core.context import make_context
from mnc.core.decisions import fixing
from mnc.core.diagnostics import CompileError
from mnc.core.instrumentation import Instrumentation
from mnc.core.pipeline import Pipeline
from mnc.dialects.mncore.target import name_machine
from mnc.executable import Executable
from mnc.lowering.onnx_to_graph.importer import import_model
from mnc.mncore_backend.target import named, use
from mnc.options import Options
from mnc.passes.autodiff.signature import Signature, find_main
from mnc.passes.graph.nan_inputs import inputs_that_may_hold_nan
from mnc.program_parts import in_order, order_of, to_executable
from mnc.stage_dumps import StageDumps, dump
from mnc.stages import stages_of


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
        observers = (StageDumps(Path(options.dump_dir), options),)
        dump(module, Path(options.dump_dir), 0, "import")
    for name, pipeline in stages_of(options).items():
        with events.span("stage", name):
            pipeline.run(module, observers)


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
            extents = {**chosen.shapes, **(shapes or {})}
            module = import_model(
                model, context, shapes=extents, updates=chosen.updates,
                with_declared_updates=chosen.resident != "nothing",
            )  # fmt: skip
        name_machine(module, named(chosen.machine))
        names, order = Signature(find_main(module)).argument_names(), order_of(module)
        harmless = inputs_that_may_hold_nan(module)
        if pipeline is not None:
            pipeline.run(module)
        else:
            run_stages(module, chosen)
        executable = in_order(to_executable(module), order)
        read = {tensor.name for tensor in executable.inputs}
        unread = tuple(name for name in names if name not in read)
        return replace(executable, unread=unread, may_hold_nan=harmless)
    except CompileError as error:
        if error.location is None and isinstance(model, str | os.PathLike):
            error.location = os.fspath(model)
        raise
