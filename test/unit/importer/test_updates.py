"""Which output is the value of which input in the next run: noted when a model is imported."""

import onnx
import pytest

from mnc.core.diagnostics import CompileError
from mnc.lowering.onnx_to_graph.importer import import_model

MODEL = """
<ir_version: 9, opset_import: ["" : 20]>
g (float[4] x, float[4] s, float[2] t) => (float[4] s_new, float[4] y) {
  s_new = Add(x, s)
  u = Concat<axis = 0>(t, t)
  y = Mul(s_new, u)
}
"""


def test_updates_are_noted() -> None:
    text = str(import_model(onnx.parser.parse_model(MODEL), updates={"s": "s_new"}))
    assert '{mnc.updated = "s_new", onnx.name = "s"}' in text and text.count("mnc.updated") == 1
    assert "mnc.updated" not in str(import_model(onnx.parser.parse_model(MODEL)))


def _declaring(text: str) -> onnx.ModelProto:
    model = onnx.parser.parse_model(MODEL)
    model.metadata_props.add(key="mnc.updates", value=text)
    return model


def test_models_say_what_is_updated() -> None:
    """Of parts of a model, as `mnc reduce` makes them, what is left; what is given comes first."""
    model = _declaring('{"s": "s_new", "gone": "s_new", "t": "gone"}')
    text = str(import_model(model, with_declared_updates=True))
    assert '{mnc.updated = "s_new", onnx.name = "s"}' in text and text.count("mnc.updated") == 1
    text = str(import_model(model, updates={"s": "y"}, with_declared_updates=True))
    assert '{mnc.updated = "y", onnx.name = "s"}' in text
    assert "mnc.updated" not in str(import_model(model))


@pytest.mark.parametrize("text", ["{", "[1]", '{"s": 1}', '{"t": "y"}'])
def test_models_that_say_it_wrongly(text: str) -> None:
    with pytest.raises(CompileError, match=r"'mnc\.updates'|output 'y' is"):
        import_model(_declaring(text), with_declared_updates=True)


@pytest.mark.parametrize(
    ("updates", "message", "hint"),
    [
        ({"z": "y"}, "there is no input 'z' that an update could concern", "the inputs are: s, t, x"),
        ({"s": "z"}, "there is no output 'z' that an update could concern", "the outputs are: s_new, y"),
        ({"t": "y"}, "output 'y' is tensor<4xf32>, but input 't' is tensor<2xf32>", "an update has the type"),
    ],
)
def test_updates_that_cannot_be(updates: dict[str, str], message: str, hint: str) -> None:
    with pytest.raises(CompileError, match=message) as raised:
        import_model(onnx.parser.parse_model(MODEL), updates=updates)
    assert raised.value.hint and hint in raised.value.hint
