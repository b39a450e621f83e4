"""Integers and booleans where ONNX defines an operator for floats."""

from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from mnc.core.context import make_context
from mnc.core.diagnostics import CompileError
from mnc.lowering.onnx_to_graph.importer import import_model

IMAGE, SIGNAL, SQUARE = [1, 3, 4, 4], [1, 16, 1], [2, 2]
FRAME = {"step": np.array(4, np.int64), "": None, "length": np.array(8, np.int64)}
INTEGERS: dict[str, tuple[list[int], dict[str, Any], dict[str, Any]]] = {
    "AveragePool": (IMAGE, {}, {"kernel_shape": [2, 2]}),
    "LpPool": (IMAGE, {}, {"kernel_shape": [2, 2]}),
    "LRN": (IMAGE, {}, {"size": 3}),
    "GlobalAveragePool": (IMAGE, {}, {}),
    "AffineGrid": ([1, 2, 3], {"size": np.array([1, 1, 2, 2], np.int64)}, {}),
    "MeanVarianceNormalization": (IMAGE, {}, {}),
    "Det": (SQUARE, {}, {}),
    "DFT": (SIGNAL, {}, {}),
    "STFT": (SIGNAL, FRAME, {}),
    "IsInf": (SQUARE, {}, {}),
    "Sqrt": (SQUARE, {}, {}),
}
BOOLEANS: dict[str, tuple[list[int], dict[str, Any], dict[str, Any]]] = {
    "AveragePool": (IMAGE, {}, {"kernel_shape": [2, 2]}),
    "MaxPool": (IMAGE, {}, {"kernel_shape": [2, 2]}),
    "LpPool": (IMAGE, {}, {"kernel_shape": [2, 2]}),
    "Gemm": (SQUARE, {"w": np.ones((2, 2), np.bool_)}, {}),
    "IsInf": (SQUARE, {}, {}),
    "Add": (SQUARE, {"w": np.ones((2, 2), np.bool_)}, {}),
}


def _model(op_type: str, element: int, row: tuple[list[int], dict[str, Any], dict[str, Any]]) -> onnx.ModelProto:
    shape, constants, attributes = row
    node = helper.make_node(op_type, ["x", *constants], ["y"], name="here", **attributes)
    extents = helper.make_node("Shape", ["y"], ["extents"], name="extents")
    x = helper.make_tensor_value_info("x", element, shape)
    y = helper.make_tensor_value_info("extents", TensorProto.INT64, ["rank"])
    values = [numpy_helper.from_array(value, name) for name, value in constants.items() if value is not None]
    graph = helper.make_graph([node, extents], "g", [x], [y], initializer=values)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10)


def _refused(model: onnx.ModelProto, element: str) -> None:
    with pytest.raises(CompileError) as caught:
        import_model(model, make_context())
    error = caught.value
    assert error.node == "here" and f"input 0 ('x') holds {element}, which" in error.message
    assert error.hint == "cast it to float in front of the node, and the result back"


@pytest.mark.parametrize("op_type", INTEGERS)
def test_integers_where_factors_are_no_integers(op_type: str) -> None:
    _refused(_model(op_type, TensorProto.INT64, INTEGERS[op_type]), "int64")


@pytest.mark.parametrize("op_type", BOOLEANS)
def test_booleans_that_are_no_numbers(op_type: str) -> None:
    _refused(_model(op_type, TensorProto.BOOL, BOOLEANS[op_type]), "bool")


KERNEL = {"w": np.ones((1, 3, 2, 2), np.int32)}


EXACT: dict[str, Any] = {
    "Conv": (IMAGE, KERNEL, {}), "MaxPool": BOOLEANS["MaxPool"], "GlobalMaxPool": (IMAGE, {}, {}),
}  # fmt: skip


@pytest.mark.parametrize("op_type", EXACT)
def test_what_is_exact_on_integers(op_type: str) -> None:
    assert import_model(_model(op_type, TensorProto.INT32, EXACT[op_type]), make_context())


def test_a_version_that_took_less_than_the_newest() -> None:
    """Max took floats only before operator set 12."""
    model = _model("Max", TensorProto.INT32, (SQUARE, {"w": np.ones((2, 2), np.int32)}, {}))
    model.opset_import[0].version = 11
    assert import_model(model, make_context())
