"""The two computations whose results are compared: that of the machine and that of the reference."""

from collections.abc import Iterator, Mapping
from typing import Any

import onnx

from mnc.accuracy.rounding import MACHINE, REFERENCE, Rounding
from mnc.core.bindings import ir
from mnc.core.context import make_context
from mnc.lowering.onnx_to_graph.importer import import_model
from mnc.options import Options, Precision
from mnc.stages import Pipeline, stage_pipeline


def computations(
    model: onnx.ModelProto, precision: Precision, **imported: Mapping[str, Any] | None
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
