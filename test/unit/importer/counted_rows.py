"""Models whose results have as many rows as a run finds, evaluated as imported and by the reference."""

from collections.abc import Mapping

import numpy as np
import onnx
from onnx.parser import parse_model

from mnc.accuracy.graphs import result_names
from mnc.core.context import make_context
from mnc.core.run_time_extents import without_padding
from mnc.dialects.graph.run_time_extents import noted_extents
from mnc.lowering.onnx_to_graph.evaluator import evaluator
from mnc.lowering.onnx_to_graph.importer import import_model
from mnc.passes.graph.evaluate import evaluate

OPSET = 18


def model_of(text: str, opset: int = OPSET) -> onnx.ModelProto:
    """A model from the text of its graph."""
    return parse_model(f'<ir_version: 9, opset_import: ["" : {opset}]> g {text}')


def imported(model: onnx.ModelProto, inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """What the graph computes that is imported, as a host gives it."""
    module = import_model(model, make_context())
    with module.context:
        results = dict(zip(result_names(module), evaluate(module, inputs), strict=True))
        return without_padding(results, noted_extents(module))


def agree(text: str, inputs: Mapping[str, np.ndarray], opset: int = OPSET, rtol: float = 1e-5) -> None:
    """The imported graph gives what the reference gives, in shapes and values."""
    model = model_of(text, opset)
    found = imported(model, inputs)
    assert list(found) == [value.name for value in model.graph.output]
    expected = map(np.asarray, evaluator(model).run(None, dict(inputs)))
    for (name, got), want in zip(found.items(), expected, strict=True):
        assert got.shape == want.shape, name
        np.testing.assert_allclose(got, want, rtol, 1e-6, err_msg=name)


def extents_text(shape: tuple[int, ...]) -> str:
    """A shape as the text of models has it."""
    return ",".join(map(str, shape))
