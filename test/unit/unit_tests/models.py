"""Small models with repeated nodes, shape computations and several kinds of attributes."""

import os
import shutil
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

F = TensorProto.FLOAT

needs_compiler = pytest.mark.skipif(
    not any(map(shutil.which, [os.environ["CXX"]] if "CXX" in os.environ else ["c++", "g++", "clang++"])),
    reason="there is no C++ compiler: install g++ or clang++",
)


def network(batch: int = 6) -> onnx.ModelProto:
    """Three layers, two of them alike, a reshape whose target is computed, a softmax."""
    rng = np.random.default_rng(0)
    arrays = {
        "w0": rng.standard_normal((8, 5)), "w1": rng.standard_normal((8, 8)), "w2": rng.standard_normal((8, 8)),
        "b": rng.standard_normal(8),
    }  # fmt: skip
    constants = [numpy_helper.from_array(array.astype(np.float32), name) for name, array in arrays.items()]
    constants.append(numpy_helper.from_array(np.array([2, -1]), "two"))
    nodes = [
        helper.make_node("Gemm", ["x", "w0", "b"], ["a"], name="enter", transB=1),
        helper.make_node("Relu", ["a"], ["a1"], name="relu0"),
        helper.make_node("MatMul", ["a1", "w1"], ["c"], name="first"),
        helper.make_node("Relu", ["c"], ["c1"], name="relu1"),
        helper.make_node("MatMul", ["c1", "w2"], ["d"], name="second"),
        helper.make_node("Shape", ["d"], ["s"], name="shape"),
        helper.make_node("Concat", ["two"], ["t"], name="target", axis=0),
        helper.make_node("Reshape", ["d", "t"], ["e"], name="reshape"),
        helper.make_node("LeakyRelu", ["e"], ["f"], name="leaky", alpha=0.25),
        helper.make_node("Softmax", ["f"], ["y"], name="softmax", axis=1),
    ]
    entry = helper.make_tensor_value_info("x", F, [batch, 5])
    result = helper.make_tensor_value_info("y", F, [2, batch * 4])
    graph = helper.make_graph(nodes, "network", [entry], [result], constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    onnx.checker.check_model(model)
    return model


def saved(directory: Path, model: onnx.ModelProto | None = None) -> Path:
    """The file of a model."""
    path = directory / "network.onnx"
    onnx.save(model or network(), path)
    return path
