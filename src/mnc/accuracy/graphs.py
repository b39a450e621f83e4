"""The two computations whose results are compared: that of the machine and that of the reference."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import onnx

from mnc.accuracy.rounding import MACHINE, REFERENCE, Rounding
from mnc.core.bindings import ir
from mnc.core.context import make_context
from mnc.core.run_time_extents import rows_that_count
from mnc.dialects.graph.run_time_extents import noted_extents
from mnc.lowering.onnx_to_graph.importer import import_model
from mnc.options import Options, Precision
from mnc.stages import Pipeline, stage_pipeline


def computations(
    model: onnx.ModelProto, precision: Precision, **imported: Any
) -> Iterator[tuple[ir.Module, Rounding]]:
    """What the machine runs, the graph that is compiled, and what the reference runs, the model operator by operator,
    with what each of them rounds. All operations are primitive.

    Args:
        imported: `shapes` and `constants` of `import_model`.

    Raises:
        CompileError: the model cannot be imported.
    """
    machine = stage_pipeline("graph", Options(precision=precision)), MACHINE[precision]
    reference = Pipeline.parse("builtin.module(decompose{keep=cum_sum})"), REFERENCE  # it adds one after the other
    for pipeline, how in (machine, reference):
        module = import_model(model, make_context(), file_name="model.onnx", **imported)
        pipeline.run(module)
        yield module, how


def result_names(module: ir.Module) -> list[str]:
    """Names of the results of ``@main``, counts of rows included."""
    entries = module.body.operations[0].operation.attributes.get("res_attrs", [])
    return [ir.StringAttr(ir.DictAttr(entry)["onnx.name"]).value for entry in entries]


def outputs_of(module: ir.Module, counts: Mapping[str, np.ndarray]) -> list[tuple[int, tuple[slice, ...]]]:
    """Of every output of the model its number among the results of ``@main``, and its elements without padding.

    Args:
        counts: values of results by name, among them the counts of rows.
    """
    extents = noted_extents(module)
    hidden = {entry.count for entry in extents}
    results = list(list(module.body.operations[0].operation.regions[0].blocks[0].operations)[-1].operation.operands)
    found = []
    for number, (name, value) in enumerate(zip(result_names(module), results, strict=True)):
        if name not in hidden:
            found.append((number, rows_that_count(extents, name, ir.RankedTensorType(value.type).rank, counts)))
    return found
