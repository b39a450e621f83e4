"""Products that pass local memory in tiles, with tiles at the edges that are not full, against the reference."""

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import mnc


def product(left: list[int], right: list[int]) -> onnx.ModelProto:
    info = helper.make_tensor_value_info
    result = [*left[:-1], right[-1]]
    node = helper.make_node("MatMul", ["a", "b"], ["c"], name="product")
    entries = [info("a", TensorProto.FLOAT, left), info("b", TensorProto.FLOAT, right)]
    graph = helper.make_graph([node], "product", entries, [info("c", TensorProto.FLOAT, result)])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


@pytest.mark.parametrize(
    ("left", "right"), [([264, 328], [328, 520]), ([257, 263], [263, 1031]), ([3, 300, 200], [3, 200, 260])]
)
def test_product(left: list[int], right: list[int]) -> None:
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal(shape).astype(np.float32) for shape in (left, right))
    executable = mnc.compile(product(left, right), mnc.Options(prefer=()))
    (got,) = executable.run({"a": a, "b": b}).values()
    # Each factor is rounded to 18 bits; errors of the products add up like a random walk.
    bound = 8 * 2.0**-18 * np.sqrt(left[-1])
    assert np.abs(got - a.astype(np.float64) @ b).max() < bound


@pytest.mark.parametrize("nodes", [180, 256])
def test_a_factor_of_two_products(nodes: int) -> None:
    """A graph convolution: the second product needs all of the first, and of a factor that does not fit beside it."""
    text = f'''<ir_version: 9, opset_import: ["" : 17]> graph (float[{nodes},{nodes}] a, float[{nodes},16] x)
        => (float[{nodes},16] y) {{ h = MatMul(a, x)  r = Relu(h)  y = MatMul(a, r) }}'''
    rng = np.random.default_rng(0)
    a, x = (rng.standard_normal((nodes, n)).astype(np.float32) for n in (nodes, 16))
    a /= np.float32(np.sqrt(nodes))
    options = mnc.Options(prefer=(), machine="small,LM0=512,LM1=512")
    (got,) = mnc.compile(onnx.parser.parse_model(text), options).run({"a": a, "x": x}).values()
    wanted = a.astype(np.float64) @ np.maximum(a.astype(np.float64) @ x, 0)
    assert np.abs(got - wanted).max() < 16 * 2.0**-18
