"""Constants that no 32-bit word holds are refused; limits of a type that mean "no limit" are not."""

from typing import Any

import ml_dtypes
import numpy as np
import onnx
import pytest

import mnc
from mnc.core.diagnostics import CompileError


def _model(body: str, kind: str = "int64") -> onnx.ModelProto:
    return onnx.parser.parse_model(
        f'<ir_version: 9, opset_import: ["" : 18]> g ({kind}[3] x) => ({kind}[3] y) {{ {body} }}'
    )


@pytest.mark.parametrize(
    ("body", "kind", "value"),
    [
        ("c = Constant <value = int64[3] {1, 2, 4294967296}> () y = Add (x, c)", "int64", "4294967296"),
        ("c = Constant <value = int64 {-2147483649}> () y = Add (x, c)", "int64", "-2147483649"),
        ("c = Constant <value = int64[1] {2147483648}> () y = Mul (x, c)", "int64", "2147483648"),
        (
            "c = Constant <value = int64[3] {0, 1, 9223372036854775807}> () y = Min (x, c)",
            "int64",
            "9223372036854775807",
        ),
        ("c = Constant <value = double[3] {0.5, 1e39, 2.0}> () y = Add (x, c)", "double", "1e+39"),
    ],
)
def test_constants_outside_a_word_are_refused(body: str, kind: str, value: str) -> None:
    with pytest.raises(CompileError) as caught:
        mnc.compile(_model(body, kind))
    assert value in caught.value.message
    assert "32-bit words" in str(caught.value.hint)


@pytest.mark.parametrize(
    ("body", "wanted"),
    [
        ("c = Constant <value = int64 {9223372036854775807}> () y = Min (x, c)", lambda x: x),
        ("c = Constant <value = int64[1] {-9223372036854775808}> () y = Max (x, c)", lambda x: x),
        ("c = Constant <value = int64[3] {2147483647, -2147483648, 7}> () y = Max (x, c)",
         lambda x: np.maximum(x, [2**31 - 1, -(2**31), 7])),
        ("a = Constant <value_ints = [-1]> () b = Constant <value_ints = [-9223372036854775807]> ()"
         "z = Constant <value_ints = [0]> () y = Slice (x, a, b, z, a)", lambda x: x[::-1]),
    ],
)  # fmt: skip
def test_limits_and_values_that_fit(body: str, wanted: Any) -> None:
    x = np.array([-5, 2**31 - 1, 3])
    np.testing.assert_array_equal(mnc.compile(_model(body)).run({"x": x})["y"], wanted(x))


def test_bfloat16_constant_of_different_elements() -> None:
    c = np.linspace(-3, 3, 60, dtype=np.float32).reshape(3, 20).astype(ml_dtypes.bfloat16)
    types = [onnx.helper.make_tensor_value_info(n, onnx.TensorProto.BFLOAT16, [3, 20]) for n in ("x", "y")]
    node = onnx.helper.make_node("Add", ["x", "c"], ["y"])
    graph = onnx.helper.make_graph([node], "g", types[:1], types[1:], [onnx.numpy_helper.from_array(c, "c")])
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 18)], ir_version=9)
    x = np.ones((3, 20), np.float32)
    np.testing.assert_array_equal(mnc.compile(model).run({"x": x})["y"], x + c.astype(np.float32))
