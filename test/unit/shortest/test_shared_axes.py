"""Which modules have products that sum over several dimensions which are divided."""

import pytest

from benchmarks.small_operations import model
from mnc.core.context import make_context
from mnc.lowering.onnx_to_graph.importer import import_model
from mnc.mncore_backend.shortest.shared_axes import contracts_several
from mnc.options import Options
from mnc.stages import stage_pipeline

GRADIENT = [
    "t = Transpose<perm=[1,0,2,3]>(x)",
    "d = Transpose<perm=[1,0,2,3]>(w)",
    "y = Conv<pads=[1,1,1,1]>(t, d)",
]
"""Of the weights of a convolution: images and pixels are summed over, and the kernel moves."""


@pytest.mark.parametrize(
    ("shapes", "nodes", "expected"),
    [
        ("x[8,16] w[16,8]", ["y = MatMul(x, w)"], False),
        ("x[2,8,16,16] w[8,8,3,3]", ["y = Conv<pads=[1,1,1,1]>(x, w)"], False),
        ("x[4,8,16,16] w[4,8,16,16]", GRADIENT, True),
    ],
)
def test_products(shapes: str, nodes: list[str], expected: bool) -> None:
    module = import_model(model(shapes, *nodes), make_context())
    for stage in ("graph", "linalg"):
        stage_pipeline(stage, Options()).run(module)
    assert contracts_several(module) == expected
