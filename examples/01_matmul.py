"""A product and an activation, from numpy to the emulated chip and back.

Run it with `.venv/bin/python examples/01_matmul.py`.
"""

import numpy as np
from onnx import TensorProto, helper, numpy_helper

import mnc

rng = np.random.default_rng(0)
weight = rng.standard_normal((40, 24)).astype(np.float32)
model = helper.make_model(
    helper.make_graph(
        [
            helper.make_node("MatMul", ["x", "w"], ["h"], name="product"),
            helper.make_node("Relu", ["h"], ["y"], name="activation"),
        ],
        "example",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [100, 40])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [100, 24])],
        [numpy_helper.from_array(weight, "w")],
    ),
    opset_imports=[helper.make_opsetid("", 17)],
)

program = mnc.compile(model, mnc.Options(precision="single"))
x = rng.standard_normal((100, 40)).astype(np.float32)
result = program.run_with_statistics({"x": x})
error = np.abs(result.outputs["y"] - np.maximum(x @ weight, 0)).max()
print(f"{len(program.text.splitlines())} lines, {result.statistics.steps} steps, largest error {error:.2g}")
assert error < 1e-4
