"""If, Loop and Scan that are resolved when importing, and operators replaced by their bodies."""

import sys
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

from mnc.core.context import make_context
from mnc.core.diagnostics import CompileError
from mnc.lowering.onnx_to_graph import import_model
from mnc.lowering.onnx_to_graph.function_bodies import _in_older_operators

sys.path.insert(0, str(Path(__file__).parent))
from numpy_graph import evaluate

HEADER = '<ir_version: 8, opset_import: ["" : {opset}]>\n'


def _check(text: str, inputs: dict[str, np.ndarray], opset: int = 18) -> None:
    model = onnx.parser.parse_model(HEADER.format(opset=opset) + text)
    expected: Any = ReferenceEvaluator(model).run(None, inputs)
    results = evaluate(import_model(model, make_context(["graph"])), inputs)
    for got, want in zip(results, expected, strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-6)


def _values(*shape: int) -> np.ndarray:
    return np.random.default_rng(len(shape)).standard_normal(shape).astype(np.float32)


IF = """
g (float[2,3] x{argument}) => (float[2,3] y) {{
    {condition}
    y = If (c) <
        then_branch = then () => (float[2,3] t) {{ t = Exp (x) }},
        else_branch = other () => (float[2,3] e) {{ h = Neg (x) e = Sub (h, x) }}
    >
}}"""


@pytest.mark.parametrize("value", [0, 1])
def test_branch_that_is_known(value: int) -> None:
    condition = f"n = Constant <value = int64 {{{value}}}> () c = Cast <to = 9> (n)"
    text = IF.format(argument="", condition=condition)
    module = import_model(onnx.parser.parse_model(HEADER.format(opset=18) + text), make_context(["graph"]))
    assert ("graph.exp" in str(module)) == bool(value)
    assert ("graph.neg" in str(module)) != bool(value)
    _check(text, {"x": _values(2, 3)})


@pytest.mark.parametrize("value", [False, True])
def test_branch_that_is_decided_at_run_time(value: bool) -> None:
    text = IF.format(argument=", bool flag", condition="c = Not (flag)")
    _check(text, {"x": _values(2, 3), "flag": np.array(value)})


def test_branches_of_different_shapes_are_refused() -> None:
    text = """g (float[2,3] x, bool c) => (float[?,?] y) {
        y = If (c) <then_branch = a () => (float[2,3] t) { t = Exp (x) },
                    else_branch = b () => (float[1,3] e) { e = ReduceMax <keepdims = 1> (x, axes) }>
    }""".replace("e = ReduceMax", "axes = Constant <value_ints = [0]> () e = ReduceMax")
    with pytest.raises(CompileError, match="an If whose condition a run finds is not supported"):
        import_model(onnx.parser.parse_model(HEADER.format(opset=18) + text), make_context(["graph"]))


def test_loop_with_a_trip_count_and_a_condition() -> None:
    text = """g (float[4] x) => (float[4] last, float[k,4] all) {
        trips = Constant <value = int64 {7}> ()
        start = Constant <value = bool {1}> ()
        last, all = Loop (trips, start, x) <body = b (int64 i, bool on, float[4] s)
                => (bool more, float[4] n, float[4] o) {
            three = Constant <value = int64 {3}> ()
            more = Less (i, three)
            f = Cast <to = 1> (i)
            n = Add (s, f)
            o = Mul (n, s)
        }>
    }"""
    _check(text, {"x": _values(4)})


@pytest.mark.parametrize(
    "step",
    [
        "one = CastLike (number, k)",
        "f = CastLike (number, s) one = Cast <to = 7> (f)",  # of a value that is not known
        "like = Mul (s, s) f = CastLike (number, like) one = CastLike (f, i)",
        "form = Shape (s) size = Size (s) g = Gather (form, size_place) one = Div (size, g)",
    ],
)
def test_loop_whose_counter_depends_on_types_in_its_body(step: str) -> None:
    """The body's values have no declared types; casts to the type of one decide how often it runs."""
    text = f"""g (float[1,5] x) => (float[1,5] y, int64 last)
            <int32 number = {{1}}, int64 n = {{4}}, int64 zero = {{0}}, bool on = {{1}}, int64 size_place = {{1}}> {{
        y, last = Loop ("", on, x, zero) <body = b (int64 i, bool c, float[1,5] s, int64 k)
                => (bool more, float[1,5] t, int64 next) {{
            {step}
            next = Add (k, one)
            more = Less (next, n)
            t = Add (s, s)
        }}>
    }}"""
    _check(text, {"x": _values(1, 5)})


def test_bags_of_embeddings() -> None:
    """What PyTorch makes of nn.EmbeddingBag: a sequence of sums of rows, whose bounds are read in a loop."""
    body = """b (int64 i, bool c, seq(float[1,3]) rows, int64 k) => (bool more, seq(float[1,3]) grown, int64 next) {
        place = Reshape (k, single)
        step = CastLike (one, place)
        after = Add (place, step)
        start = Slice (offsets, place, after)
        further = Add (after, step)
        end = Slice (offsets, after, further)
        empty = Equal (start, end)
        row = If (empty) <
            then_branch = none () => (float[1,3] a) { a = Constant <value = float[1,3] {0, 0, 0}> () },
            else_branch = some () => (float[1,3] z) { part = Slice (table, start, end) z = ReduceSum (part, first) }>
        grown = SequenceInsert (rows, row)
        next_one = CastLike (one, k)
        next = Add (k, next_one)
        more = Less (next, bags)
    }"""
    text = f"""g (float[7,3] table) => (float[3,3] y)
            <int64 one = {{1}}, int64[1] single = {{-1}}, int64[4] offsets = {{0, 2, 2, 7}}, int64 bags = {{3}},
             int64 zero = {{0}}, bool on = {{1}}, int64[1] first = {{0}}> {{
        none = SequenceEmpty ()
        rows, last = Loop ("", on, none, zero) <body = {body}>
        y = ConcatFromSequence <axis = 0> (rows)
    }}"""
    model = onnx.parser.parse_model(HEADER.format(opset=18) + text)
    table = _values(7, 3)
    (y,) = evaluate(import_model(model, make_context(["graph"])), {"table": table})
    np.testing.assert_allclose(y, [table[:2].sum(0), np.zeros(3), table[2:].sum(0)], rtol=1e-6)


ENDS = """g (float[3] x, bool[1] first) => (float[3] y, int64 count) {{
    most = Constant <value_int = 6> () zero = Constant <value_int = 0> () one = Constant <value_int = 1> ()
    two = Constant <value_float = 2.0> ()
    y, count = Loop ({start}, x, zero) <body = b (int64 i, bool c, float[3] v, int64 n) => (bool d, {types}) {{
        w = Add (v, x) s = ReduceSum <keepdims = 0> (w) d = Less (s, two) m = Add (n, one) {more}
    }}>
}}"""


@pytest.mark.parametrize("start", ["most, first", "most,"])
@pytest.mark.parametrize("size", [0.01, 0.1, 0.3, 5.0])
@pytest.mark.parametrize("first", [False, True])
def test_a_loop_of_known_length_that_a_run_ends(start: str, size: float, first: bool) -> None:
    text = ENDS.format(start=start, types="float[3] w, int64 m", more="")
    model = onnx.parser.parse_model(HEADER.format(opset=18) + text)
    inputs = {"x": np.array([1, 2, 1], np.float32) * np.float32(size), "first": np.array([first])}
    found = evaluate(import_model(model, make_context(["graph"])), inputs)
    count, y = 0, inputs["x"]
    goes_on = first or start == "most,"
    while goes_on and count < 6:
        count, y = count + 1, y + inputs["x"]
        goes_on = y.sum() < 2
    np.testing.assert_allclose(found[0], y, rtol=1e-6)
    assert found[1] == count


@pytest.mark.parametrize(
    ("types", "more", "outputs"),
    [
        ("float[3] w, int64 m, float[3] row", "row = Neg (w)", "y, count, rows ="),
        ("float[N] g, int64 m", "g = Concat <axis = 0> (v, x)", "y, count ="),
    ],
)
def test_a_loop_that_a_run_ends_with_as_much_as_it_went_on_is_refused(types: str, more: str, outputs: str) -> None:
    text = ENDS.format(start="most,", types=types, more=more).replace("y, count =", outputs)
    text = text.replace("float[3] y", "float[A] y").replace("float[3] v", "float[K] v")
    model = onnx.parser.parse_model(HEADER.format(opset=18) + text.replace("w = Add (v, x)", "w = Add (x, x)"))
    with pytest.raises(CompileError, match="a Loop with a trip count or a condition that a run finds"):
        import_model(model, make_context(["graph"]))


def test_loop_whose_end_depends_on_data_is_refused() -> None:
    text = """g (float[4] x, int64 trips) => (float[4] y) {
        start = Constant <value = bool {1}> ()
        y = Loop (trips, start, x) <body = b (int64 i, bool c, float[4] s) => (bool d, float[4] n) {
            d = Identity (c) n = Add (s, s)
        }>
    }"""
    with pytest.raises(CompileError, match="a Loop with a trip count or a condition that a run finds") as caught:
        import_model(onnx.parser.parse_model(HEADER.format(opset=18) + text), make_context(["graph"]))
    assert "known when compiling" in str(caught.value.hint)


@pytest.mark.parametrize("opset", [11, 18])
def test_scan_along_other_axes_and_backwards(opset: int) -> None:
    body = helper.make_graph(
        [helper.make_node("Add", ["s", "e"], ["n"]), helper.make_node("Mul", ["n", "e"], ["o"])],
        "body",
        [helper.make_tensor_value_info(n, TensorProto.FLOAT, [2]) for n in ("s", "e")],
        [helper.make_tensor_value_info(n, TensorProto.FLOAT, [2]) for n in ("n", "o")],
    )
    node = helper.make_node(
        "Scan", ["init", "x"], ["last", "all"], body=body, num_scan_inputs=1,
        scan_input_axes=[1], scan_input_directions=[1],
    )  # fmt: skip
    shapes = {"init": [2], "x": [2, 5], "last": [2], "all": [5, 2]}
    info = {n: helper.make_tensor_value_info(n, TensorProto.FLOAT, s) for n, s in shapes.items()}
    graph = helper.make_graph([node], "g", [info["init"], info["x"]], [info["last"], info["all"]])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)
    init, x = _values(2), _values(2, 5)
    state, rows = init, []
    for i in range(4, -1, -1):
        state = state + x[:, i]
        rows.append(state * x[:, i])
    last, every = evaluate(import_model(model, make_context(["graph"])), {"init": init, "x": x})
    np.testing.assert_allclose(last, state, rtol=1e-6)
    np.testing.assert_allclose(every, np.stack(rows), rtol=1e-6)


@pytest.mark.parametrize("opset", [10, 12, 13, 17, 18, 22])
@pytest.mark.parametrize(
    ("node", "want"), [("Softsign(x)", [-0.75, 0.0, 0.5]), ("ThresholdedRelu<alpha = 0.5>(x)", [0.0, 0.0, 1.0])]
)
def test_operators_whose_bodies_were_written_later(node: str, want: list[float], opset: int) -> None:
    """Both operators are older than the operator set for which ONNX wrote their bodies, 18."""
    text = f'<ir_version: 5, opset_import: ["": {opset}]> g (float[3] x) => (float[3] y) {{ y = {node} }}'
    module = import_model(onnx.parser.parse_model(text), make_context(["graph"]))
    (result,) = evaluate(module, {"x": np.array([-3.0, 0.0, 1.0], np.float32)})
    np.testing.assert_allclose(result, want)


def test_a_body_whose_constants_came_later_is_none() -> None:
    schema: Any = onnx.defs.get_schema("ThresholdedRelu", 10)
    body = onnx.FunctionProto()
    body.ParseFromString(schema.get_function_with_opset_version(min(schema.function_opset_versions)))
    node = helper.make_node("ThresholdedRelu", ["x"], ["y"])
    types = {"x": helper.make_tensor_type_proto(TensorProto.FLOAT, [3])}
    assert _in_older_operators(body, node, 13, types) is not None
    assert _in_older_operators(body, node, 10, types) is None


def test_body_of_an_operator_whose_optional_input_is_left_out() -> None:
    text = """g (float[1,2,5] x, float[2,1,3] w, float[1,2,2] past) => (float[1,2,5] y) {
        y, state = CausalConvWithState (x, w, "", past)
    }"""
    model = onnx.parser.parse_model(HEADER.format(opset=27) + text)
    module = import_model(model, make_context(["graph"]))
    assert "graph.conv" in str(module)


def test_body_in_bfloat16() -> None:
    text = "g (bfloat16[5] x) => (bfloat16[5] y) { y = Celu <alpha = 2.0> (x) }"
    model = onnx.parser.parse_model(HEADER.format(opset=28) + text)
    x = np.array([-3, -0.5, 0, 0.5, 3])
    (y,) = evaluate(import_model(model, make_context(["graph"])), {"x": x.astype(ml_dtypes.bfloat16)})
    np.testing.assert_allclose(y.astype(np.float64), np.where(x < 0, 2 * np.expm1(x / 2), x), rtol=2**-7)
