"""Nodes that the checker of ONNX lets pass though there is no such operation: refused by name, with a hint."""

from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from mnc.core.context import make_context
from mnc.core.diagnostics import CompileError
from mnc.lowering.onnx_to_graph.importer import import_model

Case = tuple[str, dict[str, list[int]], dict[str, Any], dict[str, Any]]


def _model(op_type: str, shapes: dict[str, list[int]], constants: dict[str, Any], attributes: dict[str, Any],
           opset: int = 21) -> onnx.ModelProto:  # fmt: skip
    """The sum of what one node gives, so that no shape of its result is declared."""
    weights = {name: np.asarray(value) for name, value in constants.items()}
    node = helper.make_node(op_type, [*shapes, *weights], ["out"], name="culprit", **attributes)
    total = helper.make_node("ReduceSum", ["out"], ["y"], keepdims=0, name="total")
    inputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in shapes.items()]
    outputs = [helper.make_tensor_value_info("y", TensorProto.FLOAT, [])]
    initializers = [numpy_helper.from_array(value, name) for name, value in weights.items()]
    graph = helper.make_graph([node, total], "test", inputs, outputs, initializers)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10)


def _indices(*values: int) -> np.ndarray:
    return np.array(values, np.int64)


IMAGE = {"x": [1, 8, 2, 2]}
ONES = np.ones(8, np.float32)
IMPOSSIBLE: dict[str, tuple[Case, list[str]]] = {
    "reshape": (("Reshape", {"x": [8]}, {"s": _indices(3, 2)}, {}), ["8", "3x2"]),
    "reshape_copies": (("Reshape", {"x": [8]}, {"s": _indices(0, 2)}, {}), ["8", "8x2"]),
    "depth_to_space": (("DepthToSpace", IMAGE, {}, {"blocksize": 3}), ["8", "block"]),
    "depth_to_space_mode": (("DepthToSpace", IMAGE, {}, {"blocksize": 2, "mode": "ABC"}), ["ABC", "DCR, CRD"]),
    "space_to_depth": (("SpaceToDepth", IMAGE, {}, {"blocksize": 3}), ["2", "block"]),
    "lrn_size": (("LRN", IMAGE, {}, {"size": 0}), ["'size'", "0"]),
    "lrn_rank": (("LRN", {"x": [8]}, {}, {"size": 3}), ["rank 1"]),
    "expand": (("Expand", {"x": [1]}, {"s": _indices(-1)}, {}), ["-1"]),
    "trilu": (("Trilu", {"x": [3]}, {}, {}), ["rank"]),
    "gather_elements_rank": (("GatherElements", {"x": [5, 2]}, {"i": _indices(0, 1)}, {}), ["5x2"]),
    "gather_elements_reach": (("GatherElements", {"x": [5, 2]}, {"i": _indices(0, 1, 2)[None]}, {}), ["1x3", "5x2"]),
    "scatter_nd_updates": (
        ("ScatterND", {"x": [5, 2]}, {"i": _indices(0, 1)[:, None], "u": np.ones((3, 2), np.float32)}, {}),
        ["3x2", "2x2"],
    ),
    "empty_table": (("Gather", {"x": [0, 2]}, {"i": _indices(0)}, {}), ["0"]),
}

OUTSIDE = [5, -6, 2**62, -(2**62)]
LOOKUPS: dict[str, Any] = {
    "Gather": lambda i: {"i": _indices(0, i)},
    "GatherND": lambda i: {"i": _indices(0, i)[:, None]},
    "GatherElements": lambda i: {"i": _indices(0, i)[None]},
    "ScatterND": lambda i: {"i": _indices(0, i)[:, None], "u": np.ones((2, 2), np.float32)},
    "ScatterElements": lambda i: {"i": _indices(0, i)[None], "u": np.ones((1, 2), np.float32)},
}


def _refused(model: onnx.ModelProto, *words: str) -> CompileError:
    with pytest.raises(CompileError) as told:
        import_model(model, make_context())
    text = told.value.render()
    assert "culprit" in text, text
    for word in words:
        assert word in text, text
    return told.value


@pytest.mark.parametrize("what", IMPOSSIBLE)
def test_an_impossible_node(what: str) -> None:
    case, words = IMPOSSIBLE[what]
    _refused(_model(*case), *words)


@pytest.mark.parametrize("index", OUTSIDE)
@pytest.mark.parametrize("op_type", LOOKUPS)
def test_a_constant_index_outside(op_type: str, index: int) -> None:
    error = _refused(_model(op_type, {"x": [5, 2]}, LOOKUPS[op_type](index), {}), str(index), "extent 5")
    assert error.hint == "it may be -5 to 4"


@pytest.mark.parametrize("index", [4, -5])
@pytest.mark.parametrize("op_type", LOOKUPS)
def test_a_constant_index_at_the_border(op_type: str, index: int) -> None:
    import_model(_model(op_type, {"x": [5, 2]}, LOOKUPS[op_type](index), {}), make_context())


@pytest.mark.parametrize("index", OUTSIDE)
def test_a_lookup_in_a_table_that_is_constant_itself(index: int) -> None:
    model = _model("Gather", {}, {"t": np.ones(5, np.float32), "i": _indices(0, index)}, {})
    _refused(model, str(index))


@pytest.mark.parametrize("groups", [0, -1, 3, 16, 2**40])
def test_groups_that_do_not_divide(groups: int) -> None:
    model = _model("GroupNormalization", IMAGE, {"s": ONES, "b": ONES}, {"num_groups": groups})
    del model.graph.node[1]
    model.graph.node[0].output[0] = "y"
    model.graph.output[0].CopyFrom(helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 8, 2, 2]))
    _refused(model, str(groups), "hint")


def _with_unknown_type(where: str) -> onnx.ModelProto:
    model = _model("Add", {"x": [2]}, {"w": np.ones(2, np.float32)}, {})
    value = helper.make_attribute("value", numpy_helper.from_array(np.ones(2, np.float32)))
    constant = onnx.NodeProto(op_type="Constant", output=["c"])
    constant.attribute.append(value)
    model.graph.node.insert(0, constant)
    owner, name = {
        "input": (model.graph.input[0].type.tensor_type, "elem_type"),
        "output": (model.graph.output[0].type.tensor_type, "elem_type"),
        "initializer": (model.graph.initializer[0], "data_type"),
        "attribute": (model.graph.node[0].attribute[0].t, "data_type"),
    }[where]
    setattr(owner, name, 999)
    return model


@pytest.mark.parametrize("where", ["input", "output", "initializer", "attribute"])
def test_an_element_type_that_does_not_exist(where: str) -> None:
    with pytest.raises(CompileError, match="999"):
        import_model(_with_unknown_type(where), make_context())


TEXTS = {
    "node": lambda model: setattr(model.graph.node[0], "name", "QQQQ"),
    "value": lambda model: model.graph.node[0].output.__setitem__(0, "QQQQ"),
    "operator": lambda model: setattr(model.graph.node[0], "op_type", "QQQQ"),
    "graph": lambda model: setattr(model.graph, "name", "QQQQ"),
    "producer": lambda model: setattr(model, "producer_name", "QQQQ"),
    "extent": lambda model: setattr(model.graph.input[0].type.tensor_type.shape.dim[0], "dim_param", "QQQQ"),
    "weight": lambda model: setattr(model.graph.initializer[0], "name", "QQQQ"),
    "domain": lambda model: setattr(model.opset_import.add(), "domain", "QQQQ"),
}


@pytest.mark.parametrize("where", TEXTS)
def test_a_name_that_is_not_utf8(where: str) -> None:
    model = _model("Add", {"x": [2]}, {"w": np.ones(2, np.float32)}, {})
    TEXTS[where](model)
    damaged = onnx.load_model_from_string(model.SerializeToString().replace(b"QQQQ", b"\xff\xfeQQ"))
    with pytest.raises(CompileError, match=r"not UTF-8: '\\xff\\xfeQQ'"):
        import_model(damaged, make_context())


def test_data_that_were_not_read() -> None:
    model = _model("Add", {"x": [2]}, {"w": np.ones(2, np.float32)}, {})
    tensor = model.graph.initializer[0]
    tensor.ClearField("raw_data")
    tensor.data_location = TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value="weights.bin")
    with pytest.raises(CompileError, match="another file"):
        import_model(model, make_context())
