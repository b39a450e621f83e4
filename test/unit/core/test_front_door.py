"""The Python interface as a user sees it."""

import re

import onnx
from onnx import TensorProto, helper

import mnc


def relu_model() -> onnx.ModelProto:
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [4, 8]) for name in "xy")
    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"], name="act")], "g", [x], [y])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


def test_default_pipeline_can_be_edited_and_printed(tmp_path) -> None:  # pyright: ignore[reportMissingParameterType]
    pipeline = mnc.Pipeline.default().remove("verify-schedule").dump_after("distribute", tmp_path / "spmd.mlir")
    assert "verify-schedule" not in str(pipeline)
    assert str(mnc.Pipeline.parse(str(pipeline))) == str(pipeline)
    program = mnc.compile(relu_model(), pipeline=pipeline)
    assert "affine.for" in (tmp_path / "spmd.mlir").read_text()
    assert program.text


def test_report_names_the_node() -> None:
    text = mnc.compile(relu_model()).report()
    assert re.match(r"\d+ steps, \d+ cycles, \d+ MV transfers", text)
    assert "act" in text
