"""Mistakes in what Python hands over: one exception with a reason and a hint, never an error of numpy or onnx."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import mnc
from mnc.decision_trace import compile_traced

X = np.zeros((4, 8), np.float32)


def one_node(op_type: str, *names: str, kind: int = TensorProto.FLOAT, extent: int | str = 4) -> onnx.ModelProto:
    """A model of one node with inputs of the shape [extent, 8]."""
    values = [helper.make_tensor_value_info(name, kind, [extent, 8]) for name in (*names, "out")]
    graph = helper.make_graph([helper.make_node(op_type, names, ["out"])], "g", values[:-1], values[-1:])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


OPEN, FIXED = one_node("Relu", "x", extent="B"), one_node("Add", "x", "w")


def refused(words: str, action: Callable[[], object]) -> None:
    with pytest.raises(mnc.CompileError, match=re.escape(words)) as caught:
        action()
    assert caught.value.hint


def text_of(model: onnx.ModelProto, **arguments: Any) -> str:
    return str(mnc.import_model(model, **arguments))


@pytest.mark.parametrize(
    "shapes",
    [{"B": 2}, {"B": np.int64(2)}, {"B": np.array(2)}, {"x": [2, 8]}, {"x": np.array([2, 8])}],
    ids=repr,
)
def test_shapes_are_written_in_many_ways(shapes: dict[str, Any]) -> None:
    assert "tensor<2x8xf32>" in text_of(OPEN, shapes=shapes)
    assert mnc.Options(shapes=shapes).shapes in ({"B": (2,)}, {"x": (2, 8)})


@pytest.mark.parametrize("shape", ["2,8", True, (True, 8), 2.5, -1, {2, 8}, {2: 8}, ((2,), 8), object()], ids=repr)
def test_what_is_no_shape_is_refused(shape: object) -> None:
    refused("the shape of 'x' cannot be", lambda: mnc.import_model(OPEN, shapes={"x": shape}))
    refused("the shape of 'x' cannot be", lambda: mnc.compile(OPEN, shapes={"x": shape}))


IMPORTS: dict[str, tuple[dict[str, Any], str]] = {
    "shapes": ({"shapes": [2]}, "the shapes are a value of type list"),
    "context": ({"context": 3}, "the context is a value of type int"),
    "constants": ({"constants": [X]}, "the constants are a value of type list"),
    "updates": ({"updates": ["x"]}, "the updates are a value of type list"),
    "type of a constant": ({"constants": {"w": X.astype(float)}}, "is DOUBLE, but the model wants FLOAT"),
    "no numbers": ({"constants": {"w": None}}, "the value given for input 'w' is no array"),
    "ragged": ({"constants": {"w": [[1], [2, 3]]}}, "the value given for input 'w' is no array"),
    "shape of a constant": ({"constants": {"w": X[:2]}}, "has shape [2, 8], but the model declares [4, 8]"),
    "rank of a constant": ({"constants": {"w": X[0]}}, "has shape [8], but the model declares [4, 8]"),
    "name of a constant": ({"constants": {"v": X}}, "'v', which is no input"),
}


@pytest.mark.parametrize("name", IMPORTS)
def test_imports_are_refused(name: str) -> None:
    arguments, words = IMPORTS[name]
    refused(words, lambda: mnc.import_model(FIXED, **arguments))


@pytest.mark.parametrize("model", [42, None, b"m.onnx", FIXED.graph], ids=lambda model: type(model).__name__)
def test_models_of_other_types_are_refused(model: Any) -> None:
    for take in (mnc.import_model, mnc.compile, compile_traced):
        refused(f"the model is a value of type {type(model).__name__}", lambda take=take: take(model))


def test_constants_lie_in_memory_as_they_like() -> None:
    value = np.arange(32, dtype=np.float32).reshape(4, 8)
    wanted = text_of(FIXED, constants={"w": value})
    for other in (np.asfortranarray(value), value.astype(">f4"), np.repeat(value, 2, axis=1)[:, ::2]):
        assert text_of(FIXED, constants={"w": other}) == wanted


def test_models_are_called_by_a_path(tmp_path: Path) -> None:
    assert mnc.import_model(FIXED, file_name=tmp_path / "m.onnx")  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize(("option", "value"), [("prefer", 3), ("room", True), ("room", "5"), ("region", 0.5)])
def test_options_are_refused(option: str, value: object) -> None:
    refused(option, lambda: mnc.Options.of({option: value}))
