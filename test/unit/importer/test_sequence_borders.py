"""Sequences and optional values as inputs and outputs of a model: which tensors they become, and what is refused."""

import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

from mnc.accuracy.graphs import result_names
from mnc.core.bindings import ir
from mnc.core.context import make_context
from mnc.core.diagnostics import CompileError
from mnc.core.sequences import HostSequence, shapes_of, tensors_of
from mnc.dialects.graph.sequences import SEQUENCES, noted_sequences
from mnc.lowering.onnx_to_graph import import_model
from mnc.lowering.onnx_to_graph.evaluator import evaluator
from mnc.lowering.onnx_to_graph.reference_sequences import Nothing, plain

sys.path.insert(0, str(Path(__file__).parent))
from numpy_graph import evaluate


def model(text: str, opset: int = 18) -> onnx.ModelProto:
    return onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["" : {opset}]> g {text}')


def check(text: str, inputs: dict[str, Any], opset: int = 18) -> tuple[HostSequence, ...]:
    """Import with the shapes of values, and compare all tensors of the outputs with the reference."""
    made = model(text, opset)
    fed = {name: Nothing() if value is None else value for name, value in inputs.items()}
    results: Any = evaluator(made).run(None, fed)
    names = [value.name for value in made.graph.output]
    want = tensors_of({name: plain(result) for name, result in zip(names, results, strict=True)})
    context = make_context(["graph"])
    module = import_model(made, context, shapes_of(inputs))
    with context:
        found = dict(zip(result_names(module), evaluate(module, tensors_of(inputs)), strict=True))
    assert list(found) == list(want)
    for name, value in found.items():
        assert value.dtype == want[name].dtype
        np.testing.assert_array_equal(value, want[name])
    return noted_sequences(module)


def arrays(*shapes: tuple[int, ...]) -> list[np.ndarray]:
    rng = np.random.default_rng(len(shapes))
    return [rng.standard_normal(shape).astype(np.float32) for shape in shapes]


def test_elements_have_shapes_of_their_own() -> None:
    s = arrays((2, 3), (), (5,))
    sequences = check("(seq(float[]) s, float[1] x) => (seq(float[]) t) { t = SequenceInsert (s, x) }",
                      {"s": s, "x": np.ones(1, np.float32)})  # fmt: skip
    assert sequences == (
        HostSequence("s", "input", ("s[0]", "s[1]", "s[2]")),
        HostSequence("t", "output", ("t[0]", "t[1]", "t[2]", "t[3]")),
    )


@pytest.mark.parametrize("lengths", [(6, 1, 4), (3,), ()])
def test_named_extents_of_elements_differ(lengths: tuple[int, ...]) -> None:
    check(
        """(seq(float[N]) s, seq(float[N]) t, float[3] x) => (seq(float[N]) y, float[3] z) {
        z = Neg (x)
        y = SequenceMap (s, t) <body = b (float[N] a, float[N] c) => (float[N] o) { o = Add (a, c) }> }""",
        {"s": arrays(*((n,) for n in lengths)), "t": arrays(*((n,) for n in lengths)), "x": arrays((3,))[0]},
    )


def test_sequences_and_tensors_of_a_map() -> None:
    text = """(seq(float[N]) s, float[M] x, seq(float[K]) t) => (seq(float[N]) y, seq(float[M]) z) {
        y, z = SequenceMap (s, x, t) <body = b (float[N] a, float[M] c, float[K] d) => (float[N] o, float[M] p)
            { o = Neg (a)  k = ReduceSum <keepdims = 0> (d)  p = Mul (c, k) }> }"""
    s, t = arrays((2,), (5,)), arrays((1,), (1,))
    check(text, {"s": s, "x": arrays((3,))[0], "t": t})


def test_shapes_that_the_model_declares() -> None:
    """A length is enough where the model says the shapes of elements, or their extents are given by name."""
    declared = model("(seq(float[4]) s) => (float[4] y) { y = SequenceAt (s, i) }")
    declared.graph.initializer.append(onnx.numpy_helper.from_array(np.array(1), "i"))
    assert "tensor<4xf32>" in str(import_model(declared, shapes={"s": (2,)}))
    named = model("(seq(float[N]) s, float[N] x) => (seq(float[N]) t) { t = SequenceInsert (s, x) }")
    for shapes in ({"s": (2,), "N": (5,)}, {"s": (2,), "x": (5,)}, {"s": (1,), "s[0]": (5,), "x": (5,)}):
        assert "tensor<5xf32>" in str(import_model(named, shapes=shapes))


@pytest.mark.parametrize("value", [None, np.arange(4, dtype=np.float32)], ids=["absent", "there"])
@pytest.mark.parametrize("opset", [16, 18])
def test_an_optional_tensor(value: np.ndarray | None, opset: int) -> None:
    sequences = check(
        """(optional(float[4]) o, float[4] x) => (float[4] y, bool h, optional(float[4]) p) {
        h = OptionalHasElement (o)
        p = Identity (o)
        y = If (h) <then_branch = t () => (float[4] a) { v = OptionalGetElement (o) a = Add (v, x) },
                    else_branch = e () => (float[4] b) { b = Neg (x) }> }""",
        {"o": value, "x": np.ones(4, np.float32)},
        opset,
    )
    absent = (HostSequence("o", "input", None), HostSequence("p", "output", None))
    assert sequences == (absent if value is None else ())


@pytest.mark.parametrize("value", [None, [], arrays((2,), (3, 1))], ids=["absent", "empty", "two"])
def test_an_optional_sequence(value: list[np.ndarray] | None) -> None:
    check(
        """(optional(seq(float[])) o, float[2] x) => (bool h, seq(float[]) t) {
        h = OptionalHasElement (o)
        t = If (h) <
            then_branch = a () => (seq(float[]) u) { v = OptionalGetElement (o)  u = SequenceInsert (v, x) },
            else_branch = b () => (seq(float[]) w) { w = SequenceConstruct (x) }> }""",
        {"o": value, "x": np.ones(2, np.float32)},
    )


@pytest.mark.parametrize("opset", [13, 18])
def test_a_loop_that_appends_to_an_output(opset: int) -> None:
    check(
        """(seq(float[]) s, float[2] x) => (seq(float[]) all) {
        count = Constant <value = int64 {3}> ()
        yes = Constant <value = bool {1}> ()
        all = Loop (count, yes, s) <
            body = body (int64 i, bool go, seq(float[]) have) => (bool on, seq(float[]) more) {
            on = Identity (go)
            f = Cast <to = 1> (i)
            z = Mul (x, f)
            more = SequenceInsert (have, z)
        }> }""",
        {"s": arrays((4, 1)), "x": np.ones(2, np.float32)},
        opset,
    )


def test_an_element_that_has_the_name_already() -> None:
    check('(float[2] x) => (seq(float[2]) y) { "y[0]" = Neg (x) y = SequenceConstruct ("y[0]", x) }',
          {"x": arrays((2,))[0]})  # fmt: skip


def test_what_is_handed_through() -> None:
    """Also twice, and an input that is an output itself."""
    s = arrays((2,), (3,))
    sequences = check("(seq(float[]) s, float[1] x) => (seq(float[]) s, seq(float[]) t, seq(float[]) t, float[1] y) "
                      "{ t = Identity (s)  y = Neg (x) }", {"s": s, "x": arrays((1,))[0]})  # fmt: skip
    assert sequences[1:] == (
        HostSequence("s", "output", ("s[0]", "s[1]")),
        HostSequence("t", "output", ("t[0]", "t[1]")),
    )


def test_split_outputs_and_elements_that_are_constants() -> None:
    check(
        """(float[3,6] x) => (seq(float[]) s, seq(int64[1]) shapes) {
        s = SplitToSequence <axis = 1, keepdims = 0> (x)
        shapes = SequenceMap (s) <body = b (float[N] a) => (int64[1] o) { o = Shape (a) }> }""",
        {"x": arrays((3, 6))[0]},
    )


def test_a_sequence_that_nobody_reads_may_stay_open() -> None:
    text = "(seq(float[]) s, optional(string) o, float[2] x) => (float[2] y) { y = Neg (x) }"
    module = import_model(model(text))
    assert SEQUENCES not in module.operation.attributes


SEQUENCE = "(seq(float[N]) s, float[4] x) => (seq(float[]) t) { t = SequenceInsert (s, x) }"
OPTIONAL = "(optional(float[4]) o) => (float[4] y) { y = OptionalGetElement (o) }"
TEXTS = "(seq(string) s) => (int64 n) { n = SequenceLength (s) }"
MANY = {"s": (10**9,)}


@pytest.mark.parametrize(
    ("text", "shapes", "message", "hint"),
    [
        (SEQUENCE, {}, "'s' is a sequence of unknown length", 'shapes={"s": [(1,), (1,)]}'),
        (SEQUENCE, {"s": (2,)}, r"'s\[0\]' has dynamic extents: N", 'shapes={"N": 1}'),
        (SEQUENCE, {"s[1]": (2,)}, r"'s\[0\]' has dynamic extents: N", 'shapes={"s[0]": 1}'),
        (SEQUENCE, {"s": (2, 3)}, "'s' is a sequence, and has a length and no shape", "give it with"),
        (SEQUENCE, {"s": (1,), "s[0]": (2, 3)}, r"'s\[0\]' has 1 dimensions, the given shape has 2", "give it with"),
        (SEQUENCE, {"s": (1,), "s[1]": (3,)}, r"given for 's\[1\]', and 's' has the length 1", "another length"),
        (SEQUENCE, {"s": None}, "'s' must have a value: it is not optional", "give its shape"),
        (SEQUENCE, {"s": (0,), "x": None}, "'x' must have a value: it is not optional", "give its shape"),
        (SEQUENCE, {"s": (0,), "t": (1,)}, "a shape was given for 't', which is no input", "the inputs are: x"),
        (SEQUENCE, MANY, "1000000000 elements, and at most 20000", "give a shorter one"),
        (OPTIONAL, {}, "'o' is optional, and whether it has a value", 'shapes={"o": 4}, or shapes={"o": None}'),
        (OPTIONAL, {"o": (5,)}, "'o': 5 was given for a dimension of extent 4", 'shapes={"o": 4}'),
        (OPTIONAL, {"o": (4,), "o[0]": (4,)}, r"given for 'o\[0\]', and 'o' is no sequence", "leave it out"),
        (TEXTS, {}, "'s' has element type STRING", "outside the model"),
        (TEXTS, {"s": (1,), "s[0]": (2,)}, "'s' has element type STRING", "outside the model"),
        ("(optional(float[4]) o) => (optional(float[4]) p) { p = Identity (o) }", {"o": None},
         "no output has a tensor", "give inputs another length, or a value"),
        ('(seq(float[2]) s) => (float[2] y) { e = SequenceAt (s, i) "s[0]" = Neg (e) y = Neg ("s[0]") }', {"s": (1,)},
         r"a sequence 's' and another value that is called 's\[0\]'", r"rename 's[0]'"),
        ('(float[2] x) => (seq(float[2]) y) { "y[0]" = Neg (x) y = SequenceConstruct (x, "y[0]") }', {},
         r"a sequence 'y' and another value that is called 'y\[0\]'", r"rename 'y[0]'"),
    ],
)  # fmt: skip
def test_refused(text: str, shapes: dict[str, Any], message: str, hint: str) -> None:
    made = model(text)
    if "i" in {name for node in made.graph.node for name in node.input}:
        made.graph.initializer.append(onnx.numpy_helper.from_array(np.array(0), "i"))
    with pytest.raises(CompileError, match=message) as raised:
        import_model(made, shapes=shapes)
    assert hint in (raised.value.hint or ""), raised.value.hint


def test_a_note_of_another_form_is_a_mistake_with_a_hint() -> None:
    module = import_model(model(SEQUENCE), make_context(["graph"]), {"s": (0,)})
    with module.context:
        without_list = '[{name = "s", role = "input", elements = 1}]'
        for text in ('"s"', '[{name = "s"}]', '[{name = "s", role = "both"}]', without_list):
            module.operation.attributes[SEQUENCES] = ir.Attribute.parse(text)
            with pytest.raises(CompileError, match=SEQUENCES) as raised:
                noted_sequences(module)
            assert "role" in (raised.value.hint or "")
