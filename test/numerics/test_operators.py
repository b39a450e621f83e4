"""Random graphs of a few operators with random shapes agree with the ONNX reference.

Shapes have up to five dimensions with ones and primes among their extents. Examples that failed once are kept at the
end as regressions.
"""

import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

sys.path.insert(0, str(Path(__file__).parents[1] / "onnx_suite"))
from backend import PRECISION, MncBackend
from tolerances import is_sum, judge

EXTENTS = st.sampled_from([1, 1, 2, 3, 4, 5, 7, 8, 11, 13])
UNARY = ("Relu", "Neg", "Abs", "Tanh", "Sigmoid", "Exp", "Floor", "Erf")
BINARY = ("Add", "Sub", "Mul", "Max", "Min")
REDUCTIONS = ("ReduceSum", "ReduceMax", "ReduceMin", "ReduceMean")


class _Graph:
    """A chain of nodes under construction; every value is bounded, so that nothing overflows."""

    def __init__(self, shape: tuple[int, ...]) -> None:
        self.nodes: list[Any] = []
        self.initializers: list[Any] = []
        self.inputs: dict[str, tuple[int, ...]] = {"x": shape}
        self.value, self.shape = "x", shape

    def constant(self, array: np.ndarray) -> str:
        name = f"c{len(self.initializers)}"
        self.initializers.append(numpy_helper.from_array(array, name))
        return name

    def append(self, op_type: str, inputs: list[str], shape: tuple[int, ...], **attributes: Any) -> None:
        name = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(op_type, inputs, [name], name=name, **attributes))
        self.value, self.shape = name, shape

    def model(self) -> onnx.ModelProto:
        entries = [helper.make_tensor_value_info(n, TensorProto.FLOAT, s) for n, s in self.inputs.items()]
        result = helper.make_tensor_value_info(self.value, TensorProto.FLOAT, self.shape)
        graph = helper.make_graph(self.nodes, "random", entries, [result], self.initializers)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)


def _binary(graph: _Graph, draw: Any) -> None:
    shape = tuple(draw(st.sampled_from((1, extent))) for extent in graph.shape)
    name = f"y{len(graph.inputs)}"
    graph.inputs[name] = shape
    graph.append(draw(st.sampled_from(BINARY)), [graph.value, name], graph.shape)


def _reduction(graph: _Graph, draw: Any) -> None:
    axes = draw(st.sets(st.integers(0, len(graph.shape) - 1), min_size=1)) if graph.shape else set()
    keep = draw(st.booleans())
    shape = tuple(1 if i in axes else n for i, n in enumerate(graph.shape) if keep or i not in axes)
    listed = graph.constant(np.array(sorted(axes), np.int64))
    graph.append(draw(st.sampled_from(REDUCTIONS)), [graph.value, listed], shape, keepdims=int(keep))


def _transpose(graph: _Graph, draw: Any) -> None:
    order = draw(st.permutations(range(len(graph.shape))))
    graph.append("Transpose", [graph.value], tuple(graph.shape[i] for i in order), perm=list(order))


def _slice(graph: _Graph, draw: Any) -> None:
    axis = draw(st.integers(0, len(graph.shape) - 1))
    start = draw(st.integers(0, graph.shape[axis] - 1))
    step = draw(st.sampled_from((1, 1, 2)))
    extent = -(-(graph.shape[axis] - start) // step)
    ends = [graph.constant(np.array([n], np.int64)) for n in (start, graph.shape[axis], axis, step)]
    shape = tuple(extent if i == axis else n for i, n in enumerate(graph.shape))
    graph.append("Slice", [graph.value, *ends], shape)


def _concat(graph: _Graph, draw: Any) -> None:
    axis = draw(st.integers(0, len(graph.shape) - 1))
    shape = tuple(2 * n if i == axis else n for i, n in enumerate(graph.shape))
    graph.append("Concat", [graph.value, graph.value], shape, axis=axis)


def _flatten(graph: _Graph, draw: Any) -> None:
    axis = draw(st.integers(0, len(graph.shape)))
    shape = (int(np.prod(graph.shape[:axis])), int(np.prod(graph.shape[axis:])))
    graph.append("Flatten", [graph.value], shape, axis=axis)


def _matmul(graph: _Graph, draw: Any) -> None:
    name, columns = f"y{len(graph.inputs)}", draw(EXTENTS)
    graph.inputs[name] = (graph.shape[-1], columns)
    graph.append("MatMul", [graph.value, name], (*graph.shape[:-1], columns))


def _unary(graph: _Graph, draw: Any) -> None:
    op_type = draw(st.sampled_from(UNARY))
    if op_type in ("Exp", "Floor"):
        graph.append("Tanh", [graph.value], graph.shape)
    graph.append("Exp" if op_type == "Floor" else op_type, [graph.value], graph.shape)


STEPS = (_unary, _binary, _reduction, _transpose, _slice, _concat, _flatten, _matmul)


@st.composite
def models(draw: Any) -> onnx.ModelProto:
    """Three to eight operators on a tensor of rank 0 to 5."""
    graph = _Graph(tuple(draw(st.lists(EXTENTS, max_size=5))))
    for _ in range(draw(st.integers(3, 8))):
        possible = [s for s in STEPS if graph.shape or s in (_unary, _binary)]
        draw(st.sampled_from(possible))(graph, draw)
        if np.prod(graph.shape) > 4096:
            break
    return graph.model()


def check(model: onnx.ModelProto, seed: int = 0) -> None:
    """Compile, run and compare with the reference."""
    rng = np.random.default_rng(seed)
    values = {
        entry.name: rng.standard_normal([d.dim_value for d in entry.type.tensor_type.shape.dim]).astype(np.float32)
        for entry in model.graph.input
    }
    expected: Any = ReferenceEvaluator(model).run(None, values)
    prepared = MncBackend.prepare(model)
    taken = {tensor.name for tensor in prepared.executable.inputs}
    (result,) = prepared.run({name: value for name, value in values.items() if name in taken})
    layers = sum(is_sum(node.op_type) or node.op_type in ("Add", "Sub") for node in model.graph.node)
    largest = max(float(np.abs(value).max(initial=0)) for value in (*values.values(), *expected))
    verdict = judge(result, np.asarray(expected[0]), PRECISION, layers, largest * 2**layers)
    assert verdict.passed, verdict.text


@settings(max_examples=12, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(models())
def test_random_graphs(model: onnx.ModelProto) -> None:
    check(model)


@pytest.mark.parametrize("op_type", ["Not"])
def test_negation_of_booleans(op_type: str) -> None:
    """True as a word is 1, not -1."""
    entry = helper.make_tensor_value_info("x", TensorProto.BOOL, [3, 4])
    result = helper.make_tensor_value_info("y", TensorProto.BOOL, [3, 4])
    graph = helper.make_graph([helper.make_node(op_type, ["x"], ["y"])], "not", [entry], [result])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    x = np.random.default_rng(0).integers(0, 2, (3, 4)).astype(bool)
    (y,) = MncBackend.prepare(model).run({"x": x})
    np.testing.assert_array_equal(y, ~x)


def _parsed(text: str, opset: int = 18) -> onnx.ModelProto:
    return onnx.parser.parse_model(f'<ir_version: 9, opset_import: ["" : {opset}]> {text}')


REGRESSIONS = {
    "sum of a negated sum": """g (float[4,6,5] x) => (float[n] y) {
        a = Constant <value_ints = [1]> () b = Constant <value_ints = [0]> ()
        s = ReduceSum <keepdims = 0> (x, a) n = Neg (s) y = ReduceSum <keepdims = 0> (n, b)
    }""",
}


@pytest.mark.parametrize("name", REGRESSIONS)
def test_shrunk_failures(name: str) -> None:
    """Graphs that failed once, shrunk."""
    check(_parsed(REGRESSIONS[name]))
