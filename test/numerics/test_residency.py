"""Programs that need more than local memory: values wait in DRAM, chains are done part by part; answers stay right.

Local memory is made small by the options of two passes, so that small models show it.
"""

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import mnc
from mnc.core.diagnostics import CompileError
from mnc.mncore_backend.assembly import parse_program
from mnc.reference import evaluate


def with_percent(values: int, chains: int) -> mnc.Pipeline:
    """The default passes, with so many percent of local memory for values and for one operation of a chain."""
    text = str(mnc.default_pipeline(mnc.Options(prefer=())))
    text = text.replace("spill-buffers", f"spill-buffers{{percent={values}}}")
    text = text.replace("tile-regions", f"tile-regions{{percent={chains}}}")
    return mnc.Pipeline.parse(text)


def model(
    nodes: list[onnx.NodeProto], shape: list[int], result: list[int], weights: dict[str, np.ndarray]
) -> onnx.ModelProto:
    info = helper.make_tensor_value_info
    made = [numpy_helper.from_array(value.astype(np.float32), name) for name, value in weights.items()]
    entries = [info("x", TensorProto.FLOAT, shape)], [info("y", TensorProto.FLOAT, result)]
    graph = helper.make_graph(nodes, "residency", *entries, made)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def many_values(seed: int) -> onnx.ModelProto:
    """Branches that all live until the end, joined in a random order."""
    rng, node = np.random.default_rng(seed), helper.make_node
    nodes, weights, count, width = [], {}, 6, 64
    for i in range(count):
        weights[f"w{i}"] = rng.standard_normal((width, width)) / 8
        nodes.append(node("MatMul", ["x", f"w{i}"], [f"a{i}"], name=f"product{i}"))
        nodes.append(node(str(rng.choice(["Relu", "Tanh", "Neg"])), [f"a{i}"], [f"b{i}"], name=f"branch{i}"))
    last = "b0"
    for step, i in enumerate(rng.permutation(2 * count)):
        nodes.append(node("Add", [last, f"{'ab'[i % 2]}{i // 2}"], [f"s{step}"], name=f"sum{step}"))
        last = f"s{step}"
    nodes[-1].output[0] = "y"
    return model(nodes, [2048, width], [2048, width], weights)


def agrees(proto: onnx.ModelProto, executable: mnc.Executable, bound: float) -> None:
    shape = [d.dim_value for d in proto.graph.input[0].type.tensor_type.shape.dim]
    x = np.random.default_rng(1).standard_normal(shape).astype(np.float32)
    (got,) = executable.run({"x": x}).values()
    want = evaluate(proto, ["y"], {"x": x})["y"]
    assert np.abs(got - want).max() < bound


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_values_wait_in_dram(seed: int) -> None:
    proto = many_values(seed)
    roomy, tight = (mnc.compile(proto, pipeline=with_percent(percent, 36)) for percent in (100, 6))
    moved = [sum(line.startswith("mv") for line in executable.text.splitlines()) for executable in (roomy, tight)]
    assert moved[1] > moved[0]
    agrees(proto, tight, 2e-3)


def test_a_softmax_is_made_part_by_part() -> None:
    nodes = [helper.make_node("Softmax", ["x"], ["y"], name="softmax", axis=-1)]
    proto = model(nodes, [300, 1200], [300, 1200], {})
    executable = mnc.compile(proto, pipeline=with_percent(100, 1))
    assert parse_program(executable.text)
    assert len([t for t in executable.tensors if t.name == "x"]) > 1  # its parts are loaded one by one
    agrees(proto, executable, 1e-6)


def test_rows_of_an_image_come_with_their_neighbours() -> None:
    rng = np.random.default_rng(0)
    weights = {"w": rng.standard_normal((8, 2, 3, 3)) / 4, "v": rng.standard_normal((2, 8, 3, 3)) / 8}
    conv = {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1]}
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["h"], name="first", **conv),
        helper.make_node("Relu", ["h"], ["r"], name="relu"),
        helper.make_node("Conv", ["r", "v"], ["y"], name="second", **conv),
    ]
    proto = model(nodes, [1, 2, 160, 128], [1, 2, 160, 128], weights)
    agrees(proto, mnc.compile(proto, pipeline=with_percent(100, 1)), 2e-3)


def test_what_one_operation_needs_is_said() -> None:
    node = helper.make_node
    nodes = [node("Transpose", ["x"], ["t"], name="turn"), node("MatMul", ["x", "t"], ["y"], name="product")]
    proto = model(nodes, [512, 1024], [512, 512], {})
    with pytest.raises(CompileError, match="'product'"):
        mnc.compile(proto, pipeline=with_percent(1, 36))
