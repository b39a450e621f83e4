"""Random models: compiled programs run in strict mode on random inputs and agree with the reference."""

import numpy as np
import pytest
from onnx import checker, numpy_helper, parser

import mnc

from .random_models import failure_of, failure_of_model, random_model

pytestmark = pytest.mark.normal_effort

FOUND = [74, 1004]
"""Seeds that failed once: two transposed constants in one product, which two patterns turned to and fro; a half of a
table that nobody stored, because its readers go through T."""


@pytest.mark.parametrize("seed", [*range(36), *FOUND])
def test_a_random_model(seed: int) -> None:
    assert failure_of(seed, mnc.Options(prefer=())) is None


@pytest.mark.parametrize("normalization", ["LpNormalization", "Softmax", "ReduceSum"])
def test_masked_padding(normalization: str) -> None:
    """A layout whose last vector is padding in every PE: masks are computed from words that nobody wrote, and what they
    decide is padding again."""
    if normalization == "ReduceSum":
        normal = "s = ReduceSum<keepdims=1>(x, zero)\n n = Div(x, s)"
    else:
        normal = f"n = {normalization}<axis=0>(x)"
    w, zeros = np.random.default_rng(1).standard_normal((8, 2)), "{" + ", ".join(["0"] * 16) + "}"
    model = parser.parse_model(f"""<ir_version: 9, opset_import: ["": 18]>
        padded (float[2, 2] x) => (float[2, 20] y)
        <float[8, 2] w = {zeros}, float[1] b = {{0.5}}, int64[1] zero = {{0}}> {{
        g = Gemm<transA=1, transB=1>(x, w, b)
        {normal}
        c = Concat<axis=1>(g, n)
        d = Concat<axis=1>(c, c)
        y = Flatten(d)
        }}""")
    model.graph.initializer[0].CopyFrom(numpy_helper.from_array(w.astype(np.float32), "w"))
    assert failure_of_model(model, 1) is None


@pytest.mark.parametrize("extent", [3, 5, 7])
@pytest.mark.parametrize("axis", [0, 1])
def test_top_k_along_an_odd_axis(extent: int, axis: int) -> None:
    shape = (extent, 2, 3) if axis == 0 else (2, extent, 3)
    result = [1 if i == axis else n for i, n in enumerate(shape)]
    model = parser.parse_model(f"""<ir_version: 9, opset_import: ["": 18]>
        odd (float{list(shape)} x) => (float{result} v, int64{result} i) <int64[1] k = {{1}}> {{
        v, i = TopK<axis={axis}>(x, k)
        }}""")
    assert failure_of_model(model, 1) is None


def test_models_are_valid_and_differ() -> None:
    models = [random_model(seed) for seed in range(200)]
    for model in models:
        checker.check_model(model, full_check=True)
    assert len({node.op_type for model in models for node in model.graph.node}) > 50
