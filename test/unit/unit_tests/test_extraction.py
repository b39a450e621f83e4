"""Cutting a model into tests: which nodes, what they are called, and that the data are those of the whole model."""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from mnc.case_folders import find_case_folders, read_cases, write_case
from mnc.core.diagnostics import CompileError
from mnc.model_values import ModelValues, evaluate_model
from mnc.options import Options
from mnc.unit_tests import distinct_cases, node_case, prefix_case, write_unit_tests

from .models import network

NAMES = [
    "Gemm_6x5_8x5_8_transB", "Relu_6x8", "MatMul_6x8_8x8", "Reshape_6x8", "LeakyRelu_2x24_alpha0.25",
    "Softmax_2x24_axis1",
]  # fmt: skip


@pytest.fixture(scope="module")
def run() -> ModelValues:
    return evaluate_model(network(), Options())


def _run_again(model: onnx.ModelProto, inputs: dict[str, np.ndarray]) -> list[np.ndarray]:
    results: Any = ReferenceEvaluator(model).run(None, inputs)
    return list(results)


def test_distinct_nodes_and_names(run: ModelValues) -> None:
    """Both products and both activations share a test; shape computations have none."""
    assert list(distinct_cases(run)) == NAMES


def test_every_test_stands_alone(run: ModelValues) -> None:
    for case in distinct_cases(run).values():
        onnx.checker.check_model(case.model, full_check=True)
        for got, want in zip(_run_again(case.model, case.inputs), case.outputs.values(), strict=True):
            np.testing.assert_array_equal(got, want, err_msg=case.name)


def test_constants_stay_constants(run: ModelValues) -> None:
    cases = distinct_cases(run)
    reshape = cases["Reshape_6x8"].model.graph
    assert [tensor.name for tensor in reshape.initializer] == ["t"] and [v.name for v in reshape.input] == ["d"]
    gemm = cases["Gemm_6x5_8x5_8_transB"].model.graph
    assert {tensor.name for tensor in gemm.initializer} == {"w0", "b"} and [v.name for v in gemm.input] == ["x"]


def test_nodes_that_look_alike_but_are_not() -> None:
    """Other attributes, other static integers, a data operand instead of a constant, another type: a test each."""
    two = [numpy_helper.from_array(np.array(shape), name) for name, shape in (("p", [2, 6]), ("q", [3, 4]))]
    weight = numpy_helper.from_array(np.ones((3, 4), np.float32), "w")
    nodes = [
        helper.make_node("Reshape", ["x", "p"], ["a"]), helper.make_node("Reshape", ["x", "q"], ["b"]),
        helper.make_node("Add", ["b", "w"], ["c"]), helper.make_node("Add", ["b", "b"], ["d"]),
        helper.make_node("Cast", ["b"], ["e"], to=TensorProto.DOUBLE), helper.make_node("Add", ["e", "e"], ["f"]),
        helper.make_node("Softmax", ["c"], ["g"], axis=0), helper.make_node("Softmax", ["d"], ["h"], axis=1),
        helper.make_node("Softmax", ["d"], ["i"]), helper.make_node("Softmax", ["c"], ["j"], axis=0),
    ]  # fmt: skip
    outputs = [helper.make_tensor_value_info(n, TensorProto.FLOAT, [3, 4]) for n in "ghij"]
    outputs.append(helper.make_tensor_value_info("a", TensorProto.FLOAT, [2, 6]))
    outputs.append(helper.make_tensor_value_info("f", TensorProto.DOUBLE, [3, 4]))
    entry = helper.make_tensor_value_info("x", TensorProto.FLOAT, [12])
    graph = helper.make_graph(nodes, "alike", [entry], outputs, [*two, weight])
    run = evaluate_model(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), Options())
    assert list(distinct_cases(run)) == [
        "Reshape_12", "Reshape_12_2", "Add_3x4_3x4", "Add_3x4_3x4_2", "Cast_3x4_to11", "Add_3x4-float64_3x4-float64",
        "Softmax_3x4_axis0", "Softmax_3x4_axis1", "Softmax_3x4",
    ]  # fmt: skip


def test_prefixes_start_at_the_inputs_of_the_model(run: ModelValues) -> None:
    for index, node in run.nodes():
        case = prefix_case(run, index)
        onnx.checker.check_model(case.model, full_check=True)
        assert list(case.inputs) == ["x"]
        np.testing.assert_allclose(_run_again(case.model, case.inputs)[0], case.outputs[node.output[0]], rtol=1e-6)
    assert len(prefix_case(run, 2).model.graph.node) == 3


def test_folders_have_the_layout_of_backend_tests(run: ModelValues, tmp_path: Path) -> None:
    folders = write_unit_tests(run, tmp_path)
    assert [folder.name for folder in folders] == NAMES and find_case_folders(tmp_path) == sorted(folders)
    gemm = folders[0]
    assert sorted(str(path.relative_to(gemm)) for path in gemm.rglob("*") if path.is_file()) == [
        "node.onnx", "test_data_set_0/input_0.pb", "test_data_set_0/output_0.pb",
    ]  # fmt: skip
    tensor = onnx.TensorProto()
    tensor.ParseFromString((gemm / "test_data_set_0" / "input_0.pb").read_bytes())
    assert tensor.name == "x"
    np.testing.assert_array_equal(numpy_helper.to_array(tensor), run.values["x"])
    for folder, case in zip(folders, distinct_cases(run).values(), strict=True):
        (again,) = read_cases(folder)
        assert again.model == case.model and list(again.outputs) == list(case.outputs)
        for name, array in {**case.inputs, **case.outputs}.items():
            np.testing.assert_array_equal({**again.inputs, **again.outputs}[name], array)


def test_writing_again_leaves_nothing_old(run: ModelValues, tmp_path: Path) -> None:
    case = node_case(run, run.model.graph.node[0])
    old = tmp_path / case.name / "test_data_set_0" / "input_7.pb"
    write_case(tmp_path, case)
    old.write_bytes(b"old")
    write_case(tmp_path, case)
    assert not old.exists()


def test_given_inputs_are_used() -> None:
    x = np.full((6, 5), 0.5, np.float32)
    run = evaluate_model(network(), Options(), {"x": x})
    np.testing.assert_array_equal(run.values["x"], x)
    for given, message in (({"z": x}, "no input 'z'"), ({"x": x[:2]}, r"shape \[2, 5\], the model takes \[6, 5\]")):
        with pytest.raises(CompileError, match=message):
            evaluate_model(network(), Options(), given)
