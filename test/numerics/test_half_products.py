"""Products of halves: compiled programs run in strict mode and agree with the reference within their bounds, whether
the host makes halves of the weights or the machine does, on the machine and on a small one, where PEs have more of each
product."""

import itertools
import random

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper, parser

import mnc
from mnc.reference import compare
from mnc.report import report

from .random_models import failure_of, failure_of_model

EXTENTS = (8, 16, 24, 40, 64, 72, 96, 130, 200, 256)
MACHINES = ["mn-core-2", "small"]
FOUND = [(214, "small"), (281, "small")]
"""What failed once: a product that went on in another precision with sums that the one before had left; a convolution
in parts whose sums, copied to and fro, filled the registers."""


def random_products(seed: int) -> onnx.ModelProto:
    """A few products and convolutions one after the other, of inputs and of weights."""
    rng, values = random.Random(seed), np.random.default_rng(seed)
    rows, depth = rng.choice((1, 3, 16, 50, 64)), rng.choice(EXTENTS)
    inputs, weights, nodes = {"x": [rows, depth]}, {}, []
    name, shape = "x", [rows, depth]
    if rng.random() < 0.4:
        shape = [rng.choice((1, 2)), rng.choice((8, 16, 32, 48)), rng.choice((5, 8, 14)), rng.choice((6, 8, 14))]
        inputs["x"] = shape
    for number in range(rng.choice((1, 2, 3))):
        columns, factor, made = rng.choice(EXTENTS), f"w{number}", f"v{number}"
        if len(shape) == 4:
            size = rng.choice((1, 1, 3))
            own = [columns, shape[1], size, size]
            node = helper.make_node("Conv", [name, factor], [made], pads=[size // 2] * 4)
            shape = [shape[0], columns, *shape[2:]]
        else:
            transposed = rng.choice((0, 1))
            own = [columns, shape[1]] if transposed else [shape[1], columns]
            node = helper.make_node("Gemm", [name, factor], [made], transB=transposed)
            shape = [shape[0], columns]
        nodes.append(node)
        if rng.random() < 0.7:
            scale = np.prod(own[1:]) ** -0.5
            weights[factor] = (scale * values.standard_normal(own)).astype(np.float32)
        else:
            inputs[factor] = own
        nodes.append(helper.make_node(rng.choice(("Relu", "Tanh", "Identity")), [made], [f"a{number}"]))
        name = f"a{number}"
    entries = [helper.make_tensor_value_info(own, TensorProto.FLOAT, size) for own, size in inputs.items()]
    result = helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
    constants = [numpy_helper.from_array(value, own) for own, value in weights.items()]
    graph = helper.make_graph(nodes, "products", entries, [result], constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)


@pytest.mark.parametrize(("seed", "machine"), [*((seed, MACHINES[seed % 2]) for seed in range(16)), *FOUND])
def test_random_products(seed: int, machine: str) -> None:
    options = mnc.Options(precision="half", prefer=(), machine=machine)
    assert failure_of_model(random_products(seed), seed, options) is None


@pytest.mark.parametrize("seed", range(6))
def test_random_models(seed: int) -> None:
    assert failure_of(seed, mnc.Options(precision="half", prefer=(), machine="small")) is None


def test_attention() -> None:
    """Both factors are made on the chip."""
    model = parser.parse_model("""<ir_version: 9, opset_import: ["": 18]>
        attention (float[4,64,32] q, float[4,64,32] k, float[4,64,32] v) => (float[4,64,32] y) {
        t = Transpose<perm=[0,2,1]>(k)
        s = MatMul(q, t)
        p = Softmax<axis=-1>(s)
        y = MatMul(p, v)
        }""")
    assert failure_of_model(model, 0, mnc.Options(precision="half", prefer=())) is None


def _weighted(scale: float) -> onnx.ModelProto:
    """A product whose weights span many powers of two, zeros among them."""
    rng = np.random.default_rng(3)
    w = scale * rng.standard_normal((256, 128)) * 2.0 ** rng.integers(-20, 20, (256, 1))
    w[::7] = 0
    model = parser.parse_model("""<ir_version: 9, opset_import: ["": 18]>
        weighted (float[64,256] x) => (float[64,128] y) <float[256,128] w = {0}> { y = MatMul(x, w) }""")
    model.graph.initializer[0].CopyFrom(numpy_helper.from_array(w.astype(np.float32), "w"))
    return model


@pytest.mark.parametrize("scale", [1.0, 1e-9])
def test_weights_of_many_sizes(scale: float) -> None:
    assert failure_of_model(_weighted(scale), 1, mnc.Options(precision="half", prefer=())) is None


def test_integers_are_exact() -> None:
    """Numbers of 9 bits are halves, whoever makes them, and sums are single."""
    rng = np.random.default_rng(0)
    w = rng.integers(-255, 256, (192, 96)).astype(np.float32)
    model = parser.parse_model("""<ir_version: 9, opset_import: ["": 18]>
        exact (float[40,192] x) => (float[40,96] y) <float[192,96] w = {0}> { y = MatMul(x, w) }""")
    model.graph.initializer[0].CopyFrom(numpy_helper.from_array(w, "w"))
    x = rng.integers(-255, 256, (40, 192)).astype(np.float32)
    got = mnc.compile(model, mnc.Options(precision="half")).run({"x": x})["y"]
    np.testing.assert_array_equal(got, x.astype(np.float64) @ w)


def test_halves_are_faster_and_take_less_of_dram() -> None:
    rng = np.random.default_rng(0)
    w = rng.standard_normal((1024, 1024)).astype(np.float32)
    model = parser.parse_model("""<ir_version: 9, opset_import: ["": 18]>
        large (float[256,1024] x) => (float[256,1024] y) <float[1024,1024] w = {0}> { y = MatMul(x, w) }""")
    model.graph.initializer[0].CopyFrom(numpy_helper.from_array(w, "w"))
    reports = [
        report(mnc.compile(model, mnc.Options(precision=precision, prefer=())))["total"]
        for precision in ("pseudo-single", "half")
    ]
    assert reports[1]["cycles"] < 0.8 * reports[0]["cycles"]
    assert reports[1]["dram_read"] < 0.7 * reports[0]["dram_read"]


def test_weights_that_stay_on_the_chip_are_halves_as_well() -> None:
    """They are not converted in every run, and take half of local memory."""
    rng = np.random.default_rng(0)
    widths = (256, 1024, 512)
    nodes, weights = [], []
    for number, (rows, columns) in enumerate(itertools.pairwise(widths)):
        value = (rng.standard_normal((rows, columns)) / rows**0.5).astype(np.float32)
        weights.append(numpy_helper.from_array(value, f"w{number}"))
        nodes.append(helper.make_node("MatMul", [f"v{number}", f"w{number}"], [f"v{number + 1}"]))
    entry = helper.make_tensor_value_info("v0", TensorProto.FLOAT, [32, widths[0]])
    result = helper.make_tensor_value_info("v2", TensorProto.FLOAT, [32, widths[-1]])
    graph = helper.make_graph(nodes, "resident", [entry], [result], weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    programs = [
        mnc.compile(model, mnc.Options(precision="half", resident=kept, prefer=())) for kept in ("nothing", "state")
    ]
    x = {"v0": rng.standard_normal((32, widths[0])).astype(np.float32)}
    first, again = (programs[1].run(x)["v2"] for _ in range(2))
    np.testing.assert_array_equal(first, again)
    assert all(row.passed for row in compare(model, {"v2": first}, x, "half"))
    reads = [report(program)["total"]["dram_read"] for program in programs]
    assert reads[1] < 0.1 * reads[0]
