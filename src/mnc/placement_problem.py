"""The placement problem of a model: what decides where its tensors live, without the model."""

from collections.abc import Mapping
from typing import Any

from mnc.core.context import make_context
from mnc.lowering.linalg_to_spmd.homes import Homes
from mnc.lowering.linalg_to_spmd.pose_placement import Poser
from mnc.lowering.onnx_to_graph.importer import import_model
from mnc.mncore_backend.placement.candidates.problem import half_memory
from mnc.mncore_backend.placement.problem import Problem
from mnc.mncore_backend.shortest.trials import DECISION
from mnc.options import Options
from mnc.stages import FIRST_REPEATED, STAGES, Pipeline, stage_pipeline


def problem_of_model(model: Any, options: Options, shapes: Mapping[str, Any] | None = None) -> Problem:
    """The problem that `assign-layouts` solves for a model that is compiled as one program.

    Args:
        model: path of an ONNX file, or an ``onnx.ModelProto``.
        options: see `Options`; precision and shapes count.
        shapes: shapes of inputs whose dimensions the model leaves open.

    Raises:
        CompileError: the model cannot be compiled so far.
    """
    module = import_model(model, make_context(), shapes={**options.shapes, **(shapes or {})})
    for stage in list(STAGES)[: list(STAGES).index(FIRST_REPEATED)]:
        stage_pipeline(stage, options).run(module)
    entries = stage_pipeline(FIRST_REPEATED, options).entries
    before = [entry.name for entry in entries].index(DECISION)
    Pipeline(tuple(entries[:before])).run(module)
    with module.context:
        (function,) = (op.operation for op in module.body.operations if op.operation.name == "func.func")
        return Poser(options.precision, Homes({})).pose(function, half_memory())
