"""Optimizer steps, run several times on a quadratic, against their published formulas in numpy."""

from collections.abc import Callable

import numpy as np
import pytest

from mnc.core.bindings import ir
from mnc.core.context import make_context
from mnc.core.diagnostics import CompileError
from mnc.passes.autodiff.graph_autodiff import GraphAutodiff
from mnc.passes.autodiff.signature import Signature
from mnc.passes.graph.evaluate import evaluate

START = np.array([1.0, -2.0, 0.5])
CURVATURE = np.array([0.5, 1.0, 4.0])
STEPS = 6
QUADRATIC = """
func.func @main() -> (tensor<f64> {onnx.name = "loss"}) {
  %w = "graph.constant"() {value = dense<[1.0, -2.0, 0.5]> : tensor<3xf64>, onnx.name = "w"} : () -> tensor<3xf64>
  %c = "graph.constant"() {value = dense<[0.5, 1.0, 4.0]> : tensor<3xf64>} : () -> tensor<3xf64>
  %p = "graph.mul"(%c, %w) : (tensor<3xf64>, tensor<3xf64>) -> tensor<3xf64>
  %q = "graph.mul"(%p, %w) : (tensor<3xf64>, tensor<3xf64>) -> tensor<3xf64>
  %l = "graph.reduce"(%q) {kind = "sum", axes = array<i64: 0>, keepdims = false} : (tensor<3xf64>) -> tensor<f64>
  return %l : tensor<f64>
}
"""


def _parsed(text: str = QUADRATIC):
    context = make_context(["graph"])
    with context, ir.Location.unknown():
        return ir.Module.parse(text)


def compiled_descent(options: str) -> np.ndarray:
    """The parameter after every step."""
    module = _parsed()
    GraphAutodiff.parse(options).run(module)
    function = module.body.operations[0]
    signature = Signature(function)
    names, results = signature.argument_names(), signature.result_names()
    entries = [{i.name: i.attr for i in ir.DictAttr(e)} for e in function.operation.attributes["arg_attrs"]]
    values = {"w": START}
    for name, entry, argument in zip(names, entries, signature.block.arguments, strict=True):
        if "mnc.initial" in entry:
            shape = tuple(ir.RankedTensorType(argument.type).shape)
            values[name] = np.full(shape, ir.FloatAttr(entry["mnc.initial"]).value)
    path = []
    for _ in range(STEPS):
        outputs = dict(zip(results, evaluate(module, values), strict=True))
        values = {n: outputs[ir.StringAttr(e["mnc.updated"]).value] for n, e in zip(names, entries, strict=True)}
        path.append(values["w"])
    return np.array(path)


def sgd(w, g, t, s, lr=0.01):
    return w - lr * g


def decayed(w, g, t, s):
    return w - 0.1 * (g + 0.25 * w)


def momentum(w, g, t, s):
    s["v"] = 0.75 * s.get("v", 0) + g
    return w - 0.125 * s["v"]


def adam(w, g, t, s):
    s["m"] = 0.5 * s.get("m", 0) + 0.5 * g
    s["v"] = 0.75 * s.get("v", 0) + 0.25 * g * g
    return w - 0.25 * (s["m"] / (1 - 0.5**t)) / (np.sqrt(s["v"] / (1 - 0.75**t)) + 0.125)


@pytest.mark.parametrize(
    ("options", "update"),
    [
        ("optimizer=sgd", sgd),
        ("optimizer=sgd learning-rate=0.1 weight-decay=0.25", decayed),
        ("optimizer=momentum momentum=0.75 learning-rate=0.125", momentum),
        ("optimizer=adam beta1=0.5 beta2=0.75 epsilon=0.125 learning-rate=0.25", adam),
    ],
)
def test_descent(options: str, update: Callable[..., np.ndarray]) -> None:
    w, state, want = START, {}, []
    for t in range(1, STEPS + 1):
        w = update(w, 2 * CURVATURE * w, t, state)
        want.append(w)
    np.testing.assert_allclose(compiled_descent(options), np.array(want), rtol=1e-12)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("loss=other", "there is no result 'other'"),
        ("parameters=v", "there is no argument or initializer 'v'"),
        ("optimizer=lion", "'lion' is not one of none, sgd, momentum, adam"),
        ("learning-rate=fast", "option 'learning-rate'"),
    ],
)
def test_misuse(options: str, message: str) -> None:
    with pytest.raises(CompileError, match=message) as caught:
        GraphAutodiff.parse(options).run(_parsed())
    assert caught.value.hint


def test_loss_must_be_one_number() -> None:
    text = QUADRATIC.replace("return %l : tensor<f64>", "return %q : tensor<3xf64>")
    text = text.replace('(tensor<f64> {onnx', '(tensor<3xf64> {onnx')
    with pytest.raises(CompileError, match="must be one real number"):
        GraphAutodiff().run(_parsed(text))


def test_no_main_and_no_parameters() -> None:
    with pytest.raises(CompileError, match="no function 'main'"):
        GraphAutodiff().run(_parsed(QUADRATIC.replace("@main", "@other")))
    with pytest.raises(CompileError, match="no initializers to differentiate"):
        GraphAutodiff().run(_parsed(QUADRATIC.replace(', onnx.name = "w"', "")))
