"""Sequences and optional values become the tensors they are made of, or are refused by name."""

import sys
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx.reference import ReferenceEvaluator

from mnc.core.context import make_context
from mnc.core.diagnostics import CompileError
from mnc.lowering.onnx_to_graph import import_model

sys.path.insert(0, str(Path(__file__).parent))
from numpy_graph import evaluate


def _model(text: str, opset: int) -> onnx.ModelProto:
    return onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["" : {opset}]> {text}')


def _check(text: str, opset: int = 17) -> None:
    model = _model(text, opset)
    rng = np.random.default_rng(0)
    shapes = {v.name: [d.dim_value for d in v.type.tensor_type.shape.dim] for v in model.graph.input}
    inputs = {name: rng.standard_normal(shape).astype(np.float32) for name, shape in shapes.items()}
    wanted = ReferenceEvaluator(model).run(None, inputs)
    context = make_context(["graph"])
    module = import_model(model, context)
    with context:
        found = evaluate(module, inputs)
    for got, want in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(got, want)


def test_insert_erase_and_read() -> None:
    _check("""g (float[3,4] a, float[3,4] b, float[3,4] c) => (float[?,?] y, int64 n) {
        s = SequenceConstruct (a, b)
        first = Constant <value = int64 {0}> ()
        last = Constant <value = int64 {-1}> ()
        t = SequenceInsert (s, c, first)
        u = SequenceInsert (t, a)
        v = SequenceErase (u, last)
        w = SequenceErase (v)
        n = SequenceLength (w)
        p = SequenceAt (w, last)
        q = SequenceAt (t, first)
        y = Sub (p, q) }""")


@pytest.mark.parametrize("opset", [11, 17])
@pytest.mark.parametrize(("axis", "size"), [(0, 3), (1, 2), (-1, 1)])
def test_split_in_parts(opset: int, axis: int, size: int) -> None:
    _check(f"""g (float[7,5] x) => (float[?,?] y) {{
        size = Constant <value = int64 {{{size}}}> ()
        s = SplitToSequence <axis = {axis}> (x, size)
        y = ConcatFromSequence <axis = {axis}> (s) }}""", opset)  # fmt: skip


def test_split_by_sizes_and_stack() -> None:
    _check("""g (float[6,5] x) => (float[?,?] y, float[?,?] z) {
        sizes = Constant <value = int64[3] {1, 3, 2}> ()
        one = Constant <value = int64 {1}> ()
        s = SplitToSequence <axis = 0> (x, sizes)
        z = SequenceAt (s, one)
        t = SplitToSequence <axis = 1, keepdims = 0> (x)
        y = ConcatFromSequence <axis = 0, new_axis = 1> (t) }""")


@pytest.mark.parametrize("opset", [13, 17])
def test_a_loop_appends(opset: int) -> None:
    """As torch exports a list that a loop appends to."""
    _check("""g (float[2,3] x) => (float[?,?] y) {
        count = Constant <value = int64 {4}> ()
        yes = Constant <value = bool {1}> ()
        none = SequenceEmpty <dtype = 1> ()
        all = Loop (count, yes, none) <
            body = body (int64 i, bool go, seq(float[2,3]) have) => (bool on, seq(float[2,3]) more) {
            on = Identity (go)
            f = Cast <to = 1> (i)
            z = Mul (x, f)
            more = SequenceInsert (have, z)
        }>
        y = ConcatFromSequence <axis = 1> (all) }""", opset)  # fmt: skip


def test_optional_values() -> None:
    model = _model("""g (float[2,3] x) => (float[2,3] y, bool a, bool b) {
        o = Optional (x)
        e = Optional <type = float[2,3]> ()
        a = OptionalHasElement (o)
        b = OptionalHasElement (e)
        v = OptionalGetElement (o)
        y = Neg (v) }""", 18)  # fmt: skip
    context = make_context(["graph"])
    module = import_model(model, context)
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    with context:
        y, a, b = evaluate(module, {"x": x})
    np.testing.assert_array_equal(y, -x)
    assert a and not b


def test_a_list_that_nobody_reads_is_no_obstacle() -> None:
    _check("""g (float[2,3] x) => (float[2,3] y) {
        s = SequenceConstruct (x, x)
        t = SequenceInsert (s, x)
        y = Neg (x) }""")


@pytest.mark.parametrize(
    ("text", "operator"),
    [
        ("g (float[2,3] x, int64 i) => (float[?,?] y) { s = SequenceConstruct (x, x) y = SequenceAt (s, i) }",
         "SequenceAt"),
        ("g (float[2,3] x, int64 i) => (float[?,?] y) { s = SplitToSequence (x, i) "
         "y = ConcatFromSequence <axis = 0> (s) }", "SplitToSequence"),
        ("g (float[2,3] x, int64 i) => (seq(float[2,3]) t) { s = SequenceConstruct (x, x) t = SequenceErase (s, i) }",
         "SequenceErase"),
        ("g (float[2,3] x, int64 i) => (seq(float[2,3]) t, float[2,3] y) "
         "{ s = SequenceConstruct (x, x) t = SequenceInsert (s, x) y = SequenceAt (t, i) }", "SequenceAt"),
        ("g (float[2,3] x, int64 i) => (seq(float[1,3]) t, float[1,3] y) "
         "{ t = SplitToSequence (x) y = SequenceAt (t, i) }", "SequenceAt"),
        ("g (float[2,3] x, bool c) => (seq(float[2,3]) t) { s = SequenceConstruct (x, x) "
         "t = If (c) <then_branch = a () => (seq(float[2,3]) u) { u = SequenceErase (s) }, "
         "else_branch = b () => (seq(float[2,3]) v) { v = SequenceInsert (s, x) }> }", "If"),
        ("g (float[2,3] x, bool c) => (optional(float[2,3]) t) { "
         "t = If (c) <then_branch = a () => (optional(float[2,3]) u) { u = Optional <type = float[2,3]> () }, "
         "else_branch = b () => (optional(float[2,3]) v) { v = Optional (x) }> }", "If"),
    ],
)  # fmt: skip
def test_what_depends_on_a_run_is_refused(text: str, operator: str) -> None:
    with pytest.raises(CompileError) as caught:
        import_model(_model(text, 17))
    assert f"({operator})" in str(caught.value) and "known" in (caught.value.hint or "")


def test_a_branch_that_is_not_taken_may_read_what_is_not_there() -> None:
    """The condition is known once the optional value is: until then no selection between the branches is made."""
    text = """g (float[4] x) => (float[4] y) {
        o = Optional <type = float[4]> ()
        there = OptionalHasElement (o)
        y = If (there) <then_branch = t () => (float[4] a) { v = OptionalGetElement (o) a = Add (v, x) },
                        else_branch = e () => (float[4] b) { b = Neg (x) }> }"""
    context = make_context(["graph"])
    module = import_model(_model(text, 18), context)
    x = np.arange(4, dtype=np.float32)
    with context:
        np.testing.assert_array_equal(evaluate(module, {"x": x})[0], -x)


def test_an_absent_value_that_is_read_is_refused() -> None:
    text = "g (float[4] x) => (float[4] y) { o = Optional <type = float[4]> () v = OptionalGetElement (o) y = Neg (v) }"
    with pytest.raises(CompileError, match="OptionalGetElement") as caught:
        import_model(_model(text, 18))
    assert "known" in (caught.value.hint or "")


def test_loops_of_later_rounds_have_names_of_their_own() -> None:
    """The second loop can only be unrolled when the first one is: both make values of the same names."""
    body = """(int64 i, bool go, seq(float[2]) have) => (bool on, seq(float[2]) more) {
        on = Identity (go) z = Add (x, x) more = SequenceInsert (have, z) }"""
    _check(f"""g (float[2] x) => (float[?] y, int64 m) {{
        count = Constant <value = int64 {{2}}> ()
        yes = Constant <value = bool {{1}}> ()
        none = SequenceEmpty <dtype = 1> ()
        s = Loop (count, yes, none) <body = b {body}>
        n = SequenceLength (s)
        t = Loop (n, yes, s) <body = c {body}>
        m = SequenceLength (t)
        y = ConcatFromSequence <axis = 0> (t) }}""")
