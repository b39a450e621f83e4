"""Which modules have products of activations."""

import pytest

from benchmarks.small_operations import model
from mnc.core.context import make_context
from mnc.lowering.onnx_to_graph.importer import import_model
from mnc.mncore_backend.shortest.activations import multiplies_activations
from mnc.options import Options
from mnc.stages import stage_pipeline


@pytest.mark.parametrize(
    ("nodes", "expected"),
    [
        (["y = MatMul(x, w)"], False),
        (["a = Relu(x)", "y = MatMul(a, w)"], False),
        (["y = MatMul(x, x)"], False),
        (["a = Relu(x)", "t = Transpose<perm=[1,0]>(w)", "y = MatMul(a, t)"], False),
        (["a = Relu(x)", "b = Sigmoid(w)", "y = MatMul(a, b)"], True),
    ],
)
def test_products(nodes: list[str], expected: bool) -> None:
    module = import_model(model("x[8,8] w[8,8]", *nodes), make_context())
    for stage in ("graph", "linalg"):
        stage_pipeline(stage, Options()).run(module)
    assert multiplies_activations(module) == expected
