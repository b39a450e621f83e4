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

sys.path.insert(0, str(Path(__file__).parents[1] / "onnx_suite"))
from backend import PRECISION, MncBackend
from tolerances import judge

from mnc.accuracy.worst_case import error_bounds
from mnc.lowering.onnx_to_graph.evaluator import evaluator

EXTENTS = st.sampled_from([1, 1, 2, 3, 4, 5, 7, 8, 11, 13])
UNARY = ("Relu", "Neg", "Abs", "Tanh", "Sigmoid", "Erf", "Sin", "Cos", "Softplus", "Sign", "Elu", "HardSwish", "Gelu")
BOUNDED = ("Exp", "Ceil", "Round")  # after a tanh: values stay small
BINARY = ("Add", "Sub", "Mul", "Max", "Min")
COMPARISONS = ("Greater", "LessOrEqual", "Equal")
REDUCTIONS = ("ReduceSum", "ReduceMax", "ReduceMin", "ReduceMean", "ReduceL1", "ReduceSumSquare", "ReduceLogSumExp")
LARGEST_RANK, MOST_ELEMENTS = 5, 4096


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

    def integers(self, *values: int) -> str:
        return self.constant(np.array(values, np.int64))

    def entry(self, shape: tuple[int, ...]) -> str:
        name = f"y{len(self.inputs)}"
        self.inputs[name] = shape
        return name

    def append(self, op_type: str, inputs: list[str], shape: tuple[int, ...], **attributes: Any) -> str:
        name = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(op_type, inputs, [name], name=name, **attributes))
        self.value, self.shape = name, shape
        return name

    def model(self) -> onnx.ModelProto:
        entries = [helper.make_tensor_value_info(n, TensorProto.FLOAT, s) for n, s in self.inputs.items()]
        result = helper.make_tensor_value_info(self.value, TensorProto.FLOAT, self.shape)
        graph = helper.make_graph(self.nodes, "random", entries, [result], self.initializers)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)


def _other(graph: _Graph, draw: Any) -> tuple[str, tuple[int, ...]]:
    """Another operand and the shape of both together: either may broadcast, in extents and in rank."""
    shape = tuple(draw(st.sampled_from((1, extent))) for extent in graph.shape)
    if draw(st.booleans()):
        shape = shape[draw(st.integers(0, len(shape))) :]
    elif len(shape) < LARGEST_RANK and draw(st.booleans()):
        shape = (draw(st.sampled_from((1, 2, 3))), *shape)
    grown = [draw(EXTENTS) if e == 1 and s == 1 else s for s, e in zip(shape[::-1], graph.shape[::-1], strict=False)]
    shape = (*shape[: len(shape) - len(grown)], *grown[::-1])
    return graph.entry(shape), np.broadcast_shapes(shape, graph.shape)


def _binary(graph: _Graph, draw: Any) -> None:
    name, shape = _other(graph, draw)
    operands = [graph.value, name] if draw(st.booleans()) else [name, graph.value]
    graph.append(draw(st.sampled_from(BINARY)), operands, shape)


def _division(graph: _Graph, draw: Any) -> None:
    """By something that is at least 1/2."""
    value, before = graph.value, graph.shape
    name, shape = _other(graph, draw)
    positive = graph.append("Softplus", [graph.append("Abs", [name], graph.inputs[name])], graph.inputs[name])
    graph.append("Div", [value, positive], np.broadcast_shapes(before, shape))


def _where(graph: _Graph, draw: Any) -> None:
    value, before = graph.value, graph.shape
    name, shape = _other(graph, draw)
    condition = graph.append(draw(st.sampled_from(COMPARISONS)), [value, name], shape)
    graph.append("Where", [condition, value, name] if draw(st.booleans()) else [condition, name, value],
                 np.broadcast_shapes(before, shape))  # fmt: skip


def _reduction(graph: _Graph, draw: Any) -> None:
    axes = draw(st.sets(st.integers(0, len(graph.shape) - 1), min_size=1)) if graph.shape else set()
    keep = draw(st.booleans())
    shape = tuple(1 if i in axes else n for i, n in enumerate(graph.shape) if keep or i not in axes)
    graph.append(draw(st.sampled_from(REDUCTIONS)), [graph.value, graph.integers(*sorted(axes))], shape,
                 keepdims=int(keep))  # fmt: skip


def _axis(graph: _Graph, draw: Any) -> int:
    return draw(st.integers(-len(graph.shape), len(graph.shape) - 1))


def _normalization(graph: _Graph, draw: Any) -> None:
    graph.append(draw(st.sampled_from(("Softmax", "LogSoftmax"))), [graph.value], graph.shape, axis=_axis(graph, draw))


def _running_sum(graph: _Graph, draw: Any) -> None:
    axis = graph.constant(np.array(_axis(graph, draw), np.int64))
    flags = {name: draw(st.integers(0, 1)) for name in ("exclusive", "reverse")}
    graph.append("CumSum", [graph.value, axis], graph.shape, **flags)


def _place(graph: _Graph, draw: Any) -> None:
    axis = _axis(graph, draw)
    shape = tuple(1 if i == axis % len(graph.shape) else n for i, n in enumerate(graph.shape))
    place = graph.append(draw(st.sampled_from(("ArgMax", "ArgMin"))), [graph.value], shape, axis=axis)
    graph.append("Cast", [place], shape, to=TensorProto.FLOAT)


def _transpose(graph: _Graph, draw: Any) -> None:
    order = draw(st.permutations(range(len(graph.shape))))
    graph.append("Transpose", [graph.value], tuple(graph.shape[i] for i in order), perm=list(order))


def _slice(graph: _Graph, draw: Any) -> None:
    axis = draw(st.integers(0, len(graph.shape) - 1))
    start = draw(st.integers(0, graph.shape[axis] - 1))
    step = draw(st.sampled_from((1, 1, 2, -1)))
    end = graph.shape[axis] if step > 0 else -graph.shape[axis] - 1
    extent = -(-(graph.shape[axis] - start) // step) if step > 0 else start + 1
    ends = [graph.integers(n) for n in (start, end, axis, step)]
    graph.append("Slice", [graph.value, *ends], tuple(extent if i == axis else n for i, n in enumerate(graph.shape)))


def _pad(graph: _Graph, draw: Any) -> None:
    amounts = [draw(st.integers(0, 2)) for _ in range(2 * len(graph.shape))]
    shape = tuple(n + amounts[i] + amounts[len(graph.shape) + i] for i, n in enumerate(graph.shape))
    value = graph.constant(np.array(draw(st.sampled_from((0.0, -1.5))), np.float32))
    graph.append("Pad", [graph.value, graph.integers(*amounts), value], shape)


def _gather(graph: _Graph, draw: Any) -> None:
    axis = draw(st.integers(0, len(graph.shape) - 1))
    extent = graph.shape[axis]
    places = draw(st.lists(st.integers(-extent, extent - 1), min_size=1, max_size=6))
    shape = (*graph.shape[:axis], len(places), *graph.shape[axis + 1 :])
    graph.append("Gather", [graph.value, graph.integers(*places)], shape, axis=axis)


def _concat(graph: _Graph, draw: Any) -> None:
    axis = draw(st.integers(0, len(graph.shape) - 1))
    other = graph.entry(tuple(draw(EXTENTS) if i == axis else n for i, n in enumerate(graph.shape)))
    parts = [graph.value, draw(st.sampled_from((other, graph.value)))]
    extent = graph.shape[axis] + (graph.inputs[other][axis] if parts[1] == other else graph.shape[axis])
    graph.append("Concat", parts, tuple(extent if i == axis else n for i, n in enumerate(graph.shape)), axis=axis)


def _flatten(graph: _Graph, draw: Any) -> None:
    axis = draw(st.integers(0, len(graph.shape)))
    shape = (int(np.prod(graph.shape[:axis])), int(np.prod(graph.shape[axis:])))
    graph.append("Flatten", [graph.value], shape, axis=axis)


def _reshape(graph: _Graph, draw: Any) -> None:
    """To any shape of as many elements."""
    rest, shape = int(np.prod(graph.shape)), []
    for _ in range(draw(st.integers(0, LARGEST_RANK - 1))):
        shape.append(draw(st.sampled_from([d for d in range(1, rest + 1) if rest % d == 0])))
        rest //= shape[-1]
    shape.append(rest)
    graph.append("Reshape", [graph.value, graph.integers(*shape)], tuple(shape))


def _matmul(graph: _Graph, draw: Any) -> None:
    columns = draw(EXTENTS)
    batch = graph.shape[:-2] if draw(st.booleans()) else ()
    name = graph.entry((*batch, graph.shape[-1], columns))
    graph.append("MatMul", [graph.value, name], (*graph.shape[:-1], columns))


def _unary(graph: _Graph, draw: Any) -> None:
    op_type = draw(st.sampled_from(UNARY + BOUNDED))
    if op_type in BOUNDED:
        graph.append("Tanh", [graph.value], graph.shape)
    graph.append(op_type, [graph.value], graph.shape)


ANY_RANK = (_unary, _binary, _where, _division, _reshape)
STEPS = (
    *ANY_RANK, _reduction, _normalization, _running_sum, _place, _transpose, _slice, _pad, _gather, _concat, _flatten,
    _matmul,
)  # fmt: skip


@st.composite
def models(draw: Any) -> onnx.ModelProto:
    """Three to eight steps of one to three operators on a tensor of rank 0 to 5."""
    graph = _Graph(tuple(draw(st.lists(EXTENTS, max_size=LARGEST_RANK))))
    for _ in range(draw(st.integers(3, 8))):
        if np.prod(graph.shape) > MOST_ELEMENTS:
            break
        draw(st.sampled_from(STEPS if graph.shape else ANY_RANK))(graph, draw)
    return graph.model()


def check(model: onnx.ModelProto, seed: int = 0) -> None:
    """Compile, run and compare with the reference."""
    rng = np.random.default_rng(seed)
    values = {
        entry.name: rng.standard_normal([d.dim_value for d in entry.type.tensor_type.shape.dim]).astype(np.float32)
        for entry in model.graph.input
    }
    expected: Any = evaluator(model).run(None, values)
    prepared = MncBackend.prepare(model)
    taken = {tensor.name for tensor in prepared.executable.inputs}
    (result,) = prepared.run({name: value for name, value in values.items() if name in taken})
    (bound,) = error_bounds(model, values, PRECISION)
    verdict = judge(result, np.asarray(expected[0]), bound)
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
    "sum of negated values, several of them in a PE": """g (float[1024,6,16] x) => (float[1024,16] y) {
        a = Constant <value_ints = [1]> () n = Neg (x) y = ReduceSum <keepdims = 0> (n, a)
    }""",
    "sum of differences from a number, several of them in a PE": """g (float[1024,6,16] x) => (float[1024,16] y) {
        a = Constant <value_ints = [1]> () c = Constant <value_float = 0.0> ()
        n = Sub (c, x) y = ReduceSum <keepdims = 0> (n, a)
    }""",
    "sum of a negated sum": """g (float[4,6,5] x) => (float[n] y) {
        a = Constant <value_ints = [1]> () b = Constant <value_ints = [0]> ()
        s = ReduceSum <keepdims = 0> (x, a) n = Neg (s) y = ReduceSum <keepdims = 0> (n, b)
    }""",
    "sum of gathered elements": """g (float[2] x) => (float y) <int64[3] i = {0, 0, 1}> {
        a = Constant <value_ints = [0]> () g = Gather (x, i) r = Relu (g) s = Relu (r)
        y = ReduceSum <keepdims = 0> (s, a)
    }""",
    "cubic samples of several images by reflection": """g (float[2, 3, 5, 4] x, float[2, 3, 2, 2] f)
    => (float[2, 3, 3, 2] y) {
        y = GridSample <mode = "cubic", padding_mode = "reflection", align_corners = 1> (x, f)
    }""",
    "linear samples of a line": """g (float[2, 3, 7] x, float[2, 5, 1] f) => (float[2, 3, 5] y) {
        y = GridSample <mode = "linear", padding_mode = "border"> (x, f)
    }""",
    "padding of rows that several L1Bs share": """g (float[7,1,11,7] x) => (float[7,1,13] y)
    <int64[1] a = {0}, int64[3] n = {7, 1, 11}, float z = {0}, int64[6] p = {0, 0, 2, 0, 0, 0}> {
        s = ReduceSum <keepdims = 0> (x, a) r = Reshape (s, n) y = Pad (r, p, z)
    }""",
    "what stands before the only element": """g (float[1] x) => (float[1] y) <int64 a = {0}> {
        y = CumSum <exclusive = 1> (x, a)
    }""",
    "what stands before the only element of a row": """g (float[1] x) => (float[1, 1] y) <int64 a = {0}> {
        s = CumSum <exclusive = 1> (x, a) y = Flatten <axis = 0> (s)
    }""",
    "columns of what stands before the only element": """g (float[1] x) => (float[1, 1] y) <int64 a = {0}> {
        s = CumSum <exclusive = 1> (x, a) r = Flatten <axis = 0> (s) t = Transpose <perm = [1, 0]> (r) y = Relu (t)
    }""",
    "running sum of constants": """g (float[5, 8, 1] x) => (float[5, 8, 1] y) <int64 a = {2}, int64 b = {0}> {
        s = CumSum <exclusive = 1> (x, a) y = CumSum <reverse = 1> (s, b)
    }""",
    "a few elements padded to a large tensor": """g (float[2,7] x) => (float[3,9,7,4,7] y)
    <int64[1] a = {1}, int64[5] n = {1, 1, 2, 1, 1}, float z = {0}, int64[10] p = {0, 2, 0, 1, 1, 1, 2, 2, 1, 2},
     int64[10] q = {0, 2, 2, 1, 1, 1, 2, 1, 0, 2}> {
        s = ReduceMean (x, a) r = Reshape (s, n) t = Pad (r, p, z) y = Pad (t, q, z)
    }""",
    "sum of rows chosen by reshaped indices": """g (float[5, 4] x, float[2, 1, 3] f) => (float[2, 4] y)
    <int64[2] n = {2, 3}, int64[1] a = {1}> {
        i = Cast <to = 7> (f) j = Reshape (i, n) r = Gather (x, j) y = ReduceSum <keepdims = 0> (r, a)
    }""",
    "product of one number everywhere": """g (float x, float[5, 2] w) => (float[5, 2] y) <int64[2] n = {5, 5}> {
        e = Expand (x, n) y = MatMul (e, w)
    }""",
    "product of equal rows": """g (float[5] x, float[5, 2] w) => (float[5, 2] y) <int64[2] n = {5, 5}> {
        e = Expand (x, n) y = MatMul (e, w)
    }""",
    "product of transposed rows at computed indices": """g (float[5, 4] x, float[2, 3] f, float[4, 3] w)
    => (float[3, 2, 3] y) {
        i = Cast <to = 7> (f) r = Gather (x, i) t = Transpose <perm = [1, 0, 2]> (r) y = MatMul (t, w)
    }""",
    "elements at indices read at indices": """g (float[2, 2] f, float[3] x) => (float[2, 2, 2] y) {
        i = Cast <to = 7> (f) j = Gather (i, i) y = Gather (x, j)
    }""",
    "kernels as large as their image": """g (float[1,64,16,16] x, float[1,64,16,16] w)
    => (float[1,64,16,16] y) { r = Relu (x) c = Conv (r, w) n = Neg (r) y = Add (n, c) }""",
    "kernels nearly as large as their image": """g (float[5,8,31,31] x, float[1,8,16,16] w)
    => (float[5,1,3,3] y) { r = Relu (x) y = Conv <dilations = [2, 2], pads = [1, 1, 1, 1]> (r, w) }""",
    "kernels that are larger in one dimension": """g (float[6,20,9,30] x, float[11,20,3,26] w)
    => (float[6,11,7,5] y) { r = Relu (x) y = Conv (r, w) }""",
    "groups of kernels as large as their image": """g (float[3,12,5,7] x, float[8,6,5,7] w, float[8] b)
    => (float[3,8,1,1] y) { r = Relu (x) y = Conv <group = 2> (r, w, b) }""",
    "product of two broadcast factors": """g (float[3, 1] x, float[1, 8] w) => (float[2, 3, 8] y)
    <int64[2] n = {3, 7}, int64[3] m = {2, 7, 8}> { e = Expand (x, n) f = Expand (w, m) y = MatMul (e, f) }""",
}


@pytest.mark.parametrize("name", REGRESSIONS)
def test_shrunk_failures(name: str) -> None:
    """Graphs that failed once, shrunk."""
    check(_parsed(REGRESSIONS[name]))
