"""Large results that are joined from parts and take another shape on their way to the host, element by element."""

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import mnc
from mnc.lowering.linalg_to_spmd.rearranging import LARGE
from mnc.reference import evaluate

ROWS, COLUMNS = 32, LARGE // 64  # of each part: two of them make a large result

JOIN = helper.make_node("Concat", ["a_", "b_"], ["joined"], axis=1)
RESHAPE = helper.make_node("Reshape", ["joined", "shape"], ["y"])
NODES = {
    "reshaped": [JOIN, RESHAPE],
    "flattened": [JOIN, helper.make_node("Flatten", ["joined"], ["y"], axis=0)],
    "reshaped twice": [JOIN, helper.make_node("Reshape", ["joined", "other"], ["z"]),
                       helper.make_node("Reshape", ["z", "shape"], ["y"])],
    "joined again": [JOIN, helper.make_node("Reshape", ["joined", "shape"], ["z"]),
                     helper.make_node("Concat", ["z", "z"], ["y"], axis=0)],
    "with one part twice": [helper.make_node("Concat", ["a_", "b_", "a_"], ["joined"], axis=0), RESHAPE],
    "read as well": [JOIN, helper.make_node("Reshape", ["joined", "shape"], ["z"]),
                     helper.make_node("Neg", ["z"], ["y"])],
}  # fmt: skip


def model(nodes: list[onnx.NodeProto], outputs: list[str]) -> onnx.ModelProto:
    info = helper.make_tensor_value_info
    made = [helper.make_node("Relu", [name], [name + "_"]) for name in "ab"]
    inputs = [info(name, TensorProto.FLOAT, [ROWS, COLUMNS]) for name in "ab"]
    shapes = [("shape", [2, -1, ROWS]), ("other", [-1, 8])]
    weights = [numpy_helper.from_array(np.array(shape), name) for name, shape in shapes]
    results = [info(name, TensorProto.FLOAT, None) for name in outputs]
    graph = helper.make_graph([*made, *nodes], "joined", inputs, results, weights)
    return onnx.shape_inference.infer_shapes(
        helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    )


@pytest.mark.parametrize("name", NODES)
@pytest.mark.parametrize("outputs", [["y"], ["y", "joined"]], ids=["alone", "beside what is joined"])
def test_joined(name: str, outputs: list[str]) -> None:
    made = model(NODES[name], outputs)
    inputs = {name: np.random.default_rng(number).standard_normal((ROWS, COLUMNS)).astype(np.float32)
              for number, name in enumerate("ab")}  # fmt: skip
    found = mnc.compile(made, mnc.Options(prefer=())).run(inputs)
    for output, wanted in evaluate(made, outputs, inputs).items():
        np.testing.assert_array_equal(found[output], wanted)
