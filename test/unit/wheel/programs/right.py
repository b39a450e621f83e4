"""What a user writes: every line is right, for type checkers and when it runs."""

from pathlib import Path

import numpy as np
from onnx import ModelProto, TensorProto, helper

import mnc


def relu() -> ModelProto:
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 8])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 8])
    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"], name="act")], "g", [x], [y])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


program: mnc.Executable = mnc.compile(relu(), {"precision": "single"}, shapes={"n": 4})
inputs = program.random_inputs(seed=1)
outputs = program.run(inputs, mode="vendor", intermediates=False)
largest: float = float(outputs["y"].max())
if not np.array_equal(outputs["y"], np.maximum(inputs["x"], 0)):
    raise SystemExit("the result is wrong")
cycles: int = program.report.cycles
rows: list[dict[str, object]] = program.report.rows()
mnc.save(program, Path("out"))
again = mnc.load("out").run(inputs)
pipeline: mnc.Pipeline = mnc.default_pipeline().remove("verify-schedule")
try:
    mnc.compile(relu(), mnc.Options(precision="single"), pipeline=str(pipeline))
except mnc.CompileError as error:
    hint: str | None = error.hint
print(mnc.__version__, mnc.__file__, cycles, largest)
