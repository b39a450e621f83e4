"""No shape is special: perceptrons of any widths and batch, each value within the bound of its own operator."""

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import example, given, settings
from onnx import numpy_helper

import mnc

from .bounds import matmul_bound, ulp
from .models import perceptron

width = st.one_of(st.sampled_from([1, 7, 10, 31, 97, 784]), st.integers(1, 200))
EXP_ULPS = 32  # subtraction of the maximum, exponential, sum and quotient of a softmax


def check(widths: list[int], batch: int, seed: int, precision: str, softmax: bool, machine: str = "mn-core-2") -> None:
    model = perceptron(widths, batch, seed, softmax)
    weights = {t.name: numpy_helper.to_array(t).astype(np.float64) for t in model.graph.initializer}
    x = np.random.default_rng(seed + 1).standard_normal((batch, widths[0])).astype(np.float32)
    values = {"x": x, **mnc.compile(model, {"precision": precision, "machine": machine}).run({"x": x})}
    for node in model.graph.node:
        given_values, result = values[node.input[0]].astype(np.float64), values[node.output[0]]
        if node.op_type == "Gemm":
            w, b = weights[node.input[1]], weights[node.input[2]]
            want = given_values @ w.T + b
            bound = matmul_bound(given_values, w, precision) + ulp(want)
        elif node.op_type == "Relu":
            want, bound = np.maximum(given_values, 0), np.zeros(result.shape)
        else:
            powers = np.exp(given_values - given_values.max(-1, keepdims=True))
            want = powers / powers.sum(-1, keepdims=True)
            spread = given_values.max(-1, keepdims=True) - given_values
            bound = want * (EXP_ULPS + spread) * 2.0**-23 + 2.0**-126
        error = np.abs(result - want)
        assert (error <= bound).all(), f"{node.name}: error {error.max()} at bound {bound[error > bound].min()}"


@settings(max_examples=4)
@given(
    st.lists(width, min_size=2, max_size=4),
    st.sampled_from([1, 53, 256]),
    st.integers(0, 1000),
    st.sampled_from(["single", "pseudo-single"]),
    st.booleans(),
)
@example([97, 2], 2, 0, "single", False)  # columns that fill less than one block
@example([784, 16, 10], 53, 1, "pseudo-single", True)
@example([3, 784, 97], 256, 2, "single", False)
@example([1, 1], 1, 3, "pseudo-single", True)
def test_random_perceptron(widths: list[int], batch: int, seed: int, precision: str, softmax: bool) -> None:
    check(widths, batch, seed, precision, softmax)


@pytest.mark.parametrize("precision", ["single", "pseudo-single"])
def test_integers_are_exact(precision: str) -> None:
    """Small integers survive block floating point unchanged, so every product and sum is exact."""
    model = perceptron([40, 24], 30, 0, softmax=False)
    rng = np.random.default_rng(5)
    w, b, x = (rng.integers(-100, 100, shape).astype(np.float32) for shape in ((24, 40), (24,), (30, 40)))
    for tensor, value in zip(model.graph.initializer, (w, b), strict=True):
        tensor.CopyFrom(numpy_helper.from_array(value, tensor.name))
    result = mnc.compile(model, mnc.Options(precision)).run({"x": x})  # pyright: ignore[reportArgumentType]
    np.testing.assert_array_equal(result["h0"], x @ w.T + b)
