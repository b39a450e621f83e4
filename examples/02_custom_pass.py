"""A pass of one's own in the default pipeline: count operations, and refuse what a site does not allow.

Run it with `.venv/bin/python examples/02_custom_pass.py`.
"""

from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np
from onnx import TensorProto, helper

import mnc
from mnc.core.context import error_at


@dataclass(frozen=True)
class ForbidOperations(mnc.Pass):
    """Refuse models that use some graph operations; changes nothing."""

    name = "forbid-operations"
    operations: tuple[str, ...] = ("graph.tanh",)

    def run(self, module: Any) -> None:
        """Raises CompileError at the first operation of the list."""
        seen: Counter[str] = Counter()
        for function in module.body.operations:
            for op in function.operation.regions[0].blocks[0].operations:
                seen[op.operation.name] += 1
                if op.operation.name in self.operations:
                    raise error_at(op, "is not allowed here", hint="use graph.relu")
        print(dict(seen))


def model(activation: str) -> Any:
    """y = activation(x) of 8 elements."""
    ends = [[helper.make_tensor_value_info(name, TensorProto.FLOAT, [8])] for name in "xy"]
    graph = helper.make_graph([helper.make_node(activation, ["x"], ["y"], name="last")], "example", *ends)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])


pipeline = mnc.default_pipeline()
pipeline = pipeline.insert_before("graph-to-linalg", ForbidOperations())
print(str(pipeline).split("graph-to-linalg")[0], "...")
program = mnc.compile(model("Relu"), pipeline=pipeline)
print(program.run({"x": np.arange(-4, 4, dtype=np.float32)})["y"])
try:
    mnc.compile(model("Tanh"), pipeline=pipeline)
except mnc.CompileError as error:
    print(error)
