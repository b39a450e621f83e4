"""A few bytes that ask for very much: refused at once, with the node."""

from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from mnc.core.context import make_context
from mnc.core.diagnostics import CompileError
from mnc.lowering.onnx_to_graph.importer import import_model
from mnc.lowering.onnx_to_graph.size_limits import MOST_UNROLLED, inlined_nodes

Weights = dict[str, Any]


def _model(op_type: str, shapes: dict[str, list[int]], constants: Weights, *, opset: int = 18, inputs: Any = None,
           **attributes: Any) -> onnx.ModelProto:  # fmt: skip
    """The sum of what one node gives and of x."""
    node = helper.make_node(op_type, inputs or [*shapes, *constants], ["out"], name="culprit", **attributes)
    total = helper.make_node("ReduceSum", ["out"], ["sum"], keepdims=0)
    end = helper.make_node("Add", ["sum", "x"], ["y"])
    shapes = {"x": [1], **shapes}
    entries = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in shapes.items()]
    weights = [numpy_helper.from_array(np.asarray(value), name) for name, value in constants.items()]
    result = [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n"])]
    graph = helper.make_graph([node, total, end], "test", entries, result, weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=9)


def _loop(count: int) -> onnx.ModelProto:
    body = helper.make_graph(
        [helper.make_node("Add", ["a", "a"], ["b"]), helper.make_node("Identity", ["go"], ["on"])], "body",
        [helper.make_tensor_value_info("i", TensorProto.INT64, []), helper.make_tensor_value_info("go", 9, []),
         helper.make_tensor_value_info("a", 1, [1])],
        [helper.make_tensor_value_info("on", 9, []), helper.make_tensor_value_info("b", 1, [1])],
    )  # fmt: skip
    return _model("Loop", {"x": [1]}, {"n": np.int64(count)}, inputs=["n", "", "x"], body=body)


ONE = np.ones(1, np.float32)
ASKING: dict[str, Any] = {
    "Range": lambda n: _model("Range", {}, {"a": np.float32(0), "b": np.float32(n), "c": np.float32(1)}),
    "ConstantOfShape": lambda n: _model("ConstantOfShape", {}, {"s": np.array([n])}),
    "OneHot": lambda n: _model("OneHot", {}, {"i": np.array([1, 2]), "d": np.array(n), "v": np.ones(2, np.float32)}),
    "Resize": lambda n: _model("Resize", {"z": [1, 1, 2, 2]}, {"s": np.array([1, 1, 2, n])}, inputs=["z", "", "", "s"]),
    "DFT": lambda n: _model("DFT", {"z": [1, 4, 1]}, {"n": np.array(n)}),
    "HannWindow": lambda n: _model("HannWindow", {}, {"n": np.array(n)}),
    "Loop": _loop,
}
SPREADING: dict[str, Any] = {
    "Tile": lambda n: _model("Tile", {"z": [1]}, {"s": np.array([n])}),
    "Expand": lambda n: _model("Expand", {"z": [1]}, {"s": np.array([n])}),
    "Pad": lambda n: _model("Pad", {"z": [1]}, {"s": np.array([0, n])}),
    "CenterCropPad": lambda n: _model("CenterCropPad", {"z": [1]}, {"s": np.array([n])}),
    "Conv": lambda n: _model("Conv", {"z": [1, 1, 4]}, {"w": ONE.reshape(1, 1, 1)}, pads=[n, n]),
    "Add": lambda n: _model("Add", {"z": [int(n**0.5)], "u": [int(n**0.5), 1]}, {}),
}


def _refusal(model: onnx.ModelProto) -> str:
    with pytest.raises(CompileError) as told:
        import_model(model, make_context())
    assert told.value.hint
    return told.value.render()


@pytest.mark.parametrize("count", [10**9, 10**12])
@pytest.mark.parametrize("op_type", ASKING)
def test_a_constant_beyond_all_bounds(op_type: str, count: int) -> None:
    text = _refusal(ASKING[op_type](count))
    assert "culprit" in text or "Range" in text, text


@pytest.mark.parametrize("op_type", SPREADING)
def test_a_tensor_beyond_dram(op_type: str) -> None:
    text = _refusal(SPREADING[op_type](10**12))
    assert "culprit" in text and "DRAM" in text, text


@pytest.mark.parametrize("shape", [[10**12], [10**6, 10**6]])
def test_an_input_beyond_dram(shape: list[int]) -> None:
    text = _refusal(_model("Relu", {"z": shape}, {}))
    assert "'z'" in text and "DRAM" in text, text


def test_a_constant_that_is_computed() -> None:
    """What only the value of a shape leads to is estimated as well."""
    model = _model("ConstantOfShape", {}, {"s": np.array([40000])})
    square = [
        helper.make_node("Unsqueeze", ["out", "one"], ["column"]),
        helper.make_node("MatMul", ["column", "row"], ["square"], name="outer"),
        helper.make_node("Unsqueeze", ["out", "zero"], ["row"]),
        helper.make_node("Range", ["start", "total", "start"], ["numbers"]),
        helper.make_node("ReduceMax", ["square"], ["total"], keepdims=0),
    ]
    for name, value in (("zero", [0]), ("one", [1])):
        model.graph.initializer.append(numpy_helper.from_array(np.array(value), name))
    model.graph.initializer.append(numpy_helper.from_array(np.array(1, np.float32), "start"))
    model.graph.node[1].input[0] = "numbers"
    for position, index in enumerate((2, 0, 1, 4, 3)):
        model.graph.node.insert(1 + position, square[index])
    assert "outer" in _refusal(model)


def test_a_split_into_more_parts_than_outputs() -> None:
    assert "culprit" in _refusal(_model("Split", {"z": [4]}, {}, num_outputs=2**40))


def test_a_step_of_2_to_31() -> None:
    """ONNX's propagation of values divides by zero here, and the process ends."""
    bounds = {name: np.array([value]) for name, value in zip("abcd", (0, 7, 0, 2**31), strict=True)}
    model = _model("Slice", {"z": [7]}, bounds)
    import_model(model, make_context())


def _function(name: str, called: str, times: int) -> onnx.FunctionProto:
    names = ["a", *(f"t{i}" for i in range(times - 1)), "b"]
    domain = "" if called == "Relu" else "own"
    nodes = [helper.make_node(called, [names[i]], [names[i + 1]], domain=domain) for i in range(times)]
    imports = [helper.make_opsetid("", 18), helper.make_opsetid("own", 1)]
    return helper.make_function("own", name, ["a"], ["b"], nodes, imports)


def test_functions_in_functions() -> None:
    model = _model("Relu", {"z": [4]}, {})
    model.functions.extend([_function("F0", "Relu", 10), *(_function(f"F{i}", f"F{i - 1}", 10) for i in range(1, 9))])
    model.graph.node[0].op_type, model.graph.node[0].domain = "F8", "own"
    model.opset_import.append(helper.make_opsetid("own", 1))
    assert "nodes" in _refusal(model)
    model.graph.node[0].op_type = "F1"
    assert inlined_nodes(model, "") == len(model.graph.node) + sum(10**i for i in (1, 2))
    import_model(model, make_context())


def test_a_loop_that_ends_early_is_unrolled() -> None:
    import_model(_loop(MOST_UNROLLED // 200), make_context())


def test_the_weights_of_the_largest_layer_that_is_common() -> None:
    """The first dense layer of VGG, without values."""
    import_model(_model("ConstantOfShape", {}, {"s": np.array([4096, 25088])}), make_context())
