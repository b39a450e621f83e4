"""Limits of 64-bit integers among the constants: right where they mean that there is no limit, else refused."""

import numpy as np
import onnx
import pytest

import mnc
from mnc.core.diagnostics import CompileError
from mnc.lowering.onnx_to_graph.evaluator import evaluator

LARGEST, LEAST, LARGEST_UNSIGNED = 2**63 - 1, -(2**63), 2**64 - 1
X = np.array([[3, -9, 4], [1, 2, 0]], np.int64)
HIDDEN = np.array([[True, False, False], [False, True, False]])


def _model(kind: str, result: str, number: int, body: str) -> onnx.ModelProto:
    weights = f"<{kind} w = {{{number}}}, int64[1] one = {{1}}, int64[4] pads = {{0, 1, 0, 2}}>"
    signature = f"g ({kind}[2,3] x, bool[2,3] hidden) => ({result}[?,?] y) {weights}"
    return onnx.parser.parse_model(f'<ir_version: 9, opset_import: ["" : 20]> {signature} {{ {body} }}')


NO_LIMIT = [
    ("int64", LARGEST, "y = Min (x, w)"),
    ("int64", LEAST, "y = Max (w, x)"),
    ("int64", LARGEST, "t = Where (hidden, w, x) y = ReduceMin (t, one)"),
    ("int64", LEAST, "t = Where (hidden, w, x) y = ReduceMax (t, one)"),
    ("int64", LEAST, "t = Pad (x, pads, w) y = ReduceMax (t, one)"),
    ("int64", LEAST, "t = Where (hidden, w, x) y = ArgMax <axis = 1> (t)"),
    ("int64", LEAST, "y = Clip (x, w)"),
    ("uint64", LARGEST_UNSIGNED, "y = Min (x, w)"),
    ("uint64", LARGEST_UNSIGNED, "y = BitwiseAnd (x, w)"),
    ("uint64", 15, "n = BitwiseNot (x) y = BitwiseAnd (n, w)"),
]


@pytest.mark.parametrize(("kind", "number", "body"), NO_LIMIT)
def test_no_limit(kind: str, number: int, body: str) -> None:
    model = _model(kind, kind, number, body)
    inputs = {"x": X if kind == "int64" else np.abs(X).astype(np.uint64), "hidden": HIDDEN}
    program = mnc.compile(model)
    names = {tensor.name for tensor in program.inputs}
    found = program.run({name: value for name, value in inputs.items() if name in names})["y"]
    np.testing.assert_array_equal(found, evaluator(model).run(None, inputs)[0])


NUMBERS = [
    ("int64", "int64", LARGEST, "y = Max (x, w)"),
    ("int64", "int64", LARGEST, "y = Where (hidden, w, x)"),
    ("int64", "int64", LEAST, "y = Clip (x, , w)"),
    ("int64", "int64", LEAST, "y = Pad (x, pads, w)"),
    ("int64", "float", LEAST, "t = Where (hidden, w, x) y = Cast <to = 1> (t)"),
    ("int64", "int64", LARGEST, "y = BitwiseXor (x, w)"),
    ("uint64", "uint64", LARGEST_UNSIGNED, "y = BitwiseOr (x, w)"),
    ("uint64", "uint64", LARGEST_UNSIGNED, "y = Sub (w, x)"),
    ("uint64", "uint64", 1, "y = BitwiseNot (x)"),
    ("uint64", "uint64", 1, "a = BitwiseNot (x) b = Add (x, w) c = BitwiseNot (b) y = BitwiseAnd (a, c)"),
]


@pytest.mark.parametrize(("kind", "result", "number", "body"), NUMBERS)
def test_a_number_that_no_word_holds(kind: str, result: str, number: int, body: str) -> None:
    with pytest.raises(CompileError, match="does not fit 32-bit integers"):
        mnc.compile(_model(kind, result, number, body))
