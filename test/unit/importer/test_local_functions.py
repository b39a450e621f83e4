"""Functions of a model: defaults of attributes, attributes that are handed on, other versions of operators."""

import numpy as np
import onnx
import onnx.parser
import pytest

import mnc
from mnc.core.diagnostics import CompileError
from mnc.lowering.onnx_to_graph.evaluator import evaluator

_HEAD = '<ir_version: 10, opset_import: ["" : 21, "my" : 1]> g (float[1, 4] x) => (float[1, 4] y) { y = my.F%s (x) }'
X = np.array([[-2.0, -1.0, 0.5, 3.0]], np.float32)


def _model(
    body: str, call: str = "", defaults: tuple[onnx.AttributeProto, ...] = (), version: int = 21
) -> onnx.ModelProto:
    text = f'{_HEAD % call} <domain: "my", opset_import: ["" : {version}, "my" : 1]> {body}'
    model = onnx.parser.parse_model(text)
    model.functions[0].attribute_proto.extend(defaults)
    return model


def _result(model: onnx.ModelProto) -> np.ndarray:
    (value,) = mnc.compile(model).run({"x": X}).values()
    (expected,) = evaluator(model).run(None, {"x": X})
    np.testing.assert_array_equal(value, expected)
    return value


_QUARTER = onnx.helper.make_attribute("alpha", 0.25)
_LEAKY = "F (a) => (b) { b = LeakyRelu <alpha: float = @alpha> (a) }"


@pytest.mark.parametrize(("call", "slope"), [("", 0.25), (" <alpha: float = 0.5>", 0.5)])
def test_a_call_keeps_the_defaults_of_attributes_that_it_leaves_out(call: str, slope: float) -> None:
    np.testing.assert_array_equal(_result(_model(_LEAKY, call, (_QUARTER,))), np.where(X < 0, slope * X, X))


def test_functions_in_functions_have_defaults() -> None:
    model = _model("F (a) => (b) { b = my.G (a) }")
    model.functions.extend(_model(_LEAKY.replace("F (a)", "G (a)"), defaults=(_QUARTER,)).functions)
    np.testing.assert_array_equal(_result(model), np.where(X < 0, 0.25 * X, X))


def test_the_value_of_a_constant_is_a_default() -> None:
    body = "F (a) => (b) { k = Constant <value_int: int = @k> () f = Cast <to: int = 1> (k) b = Mul (a, f) }"
    np.testing.assert_array_equal(_result(_model(body, defaults=(onnx.helper.make_attribute("k", 3),))), 3 * X)


def test_a_tensor_is_handed_on() -> None:
    body = "F <w>(a) => (b) { k = Constant <value: tensor = @w> () b = Mul (a, k) }"
    np.testing.assert_array_equal(_result(_model(body, " <w: tensor = float[4] {1, 2, 3, 4}>")), X * [[1, 2, 3, 4]])


def test_operators_that_are_the_same_in_another_version() -> None:
    np.testing.assert_array_equal(_result(_model("F (a) => (b) { b = Relu (a) }", version=18)), np.maximum(X, 0))


def test_operators_that_differ_in_another_version_are_refused() -> None:
    body = "F (a) => (b) { s = ReduceSum <axes = [1]> (a) b = Sub (a, s) }"
    with pytest.raises(CompileError, match="imports version 11 whereas model imports version 21"):
        mnc.compile(_model(body, version=11))
