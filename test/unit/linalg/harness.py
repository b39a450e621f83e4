"""Graph modules beside the ONNX nodes they stand for, run at several levels and compared."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx
from onnx import helper
from onnx.reference import ReferenceEvaluator

from mnc.core.bindings import func, ir
from mnc.core.context import make_context
from mnc.core.pipeline import Pipeline
from mnc.dialects.graph import element_type, tensor
from mnc.lowering.cpu import compile_for_cpu
from mnc.registry import parse_pipeline

OPSET = 22


@dataclass
class Program:
    """A module with one function `main`, and the ONNX nodes that give its results in the same order."""

    inputs: dict[str, np.ndarray]
    nodes: list[onnx.NodeProto] = field(default_factory=list)
    builders: list[Callable[..., Any]] = field(default_factory=list)

    def add(
        self,
        build: Callable[..., Any],
        op_type: str,
        names: Sequence[str],
        constants: Sequence[np.ndarray] = (),
        **attributes: Any,
    ) -> None:
        """One result: `build(*values of names)`, and an ONNX node on `names` and further constant inputs."""
        index = len(self.nodes)
        inputs = list(names)
        for position, array in enumerate(constants):
            name = f"constant{index}_{position}"
            value = onnx.numpy_helper.from_array(array)
            self.nodes.append(helper.make_node("Constant", [], [name], value=value))
            inputs.append(name)
        self.nodes.append(helper.make_node(op_type, inputs, [f"result{len(self.builders)}"], **attributes))
        self.builders.append(lambda values: build(*(values[name] for name in names)))

    def module(self) -> ir.Module:
        """The graph module; arguments are named ``arg0``, ``arg1`` ... in the order of `inputs`."""
        with make_context(["graph"]), ir.Location.unknown():
            module = ir.Module.create()
            types = [tensor(array.shape, element_type(array.dtype)) for array in self.inputs.values()]
            with ir.InsertionPoint(module.body):
                function = func.FuncOp("main", (types, []))
            with ir.InsertionPoint(function.add_entry_block()):
                values = dict(zip(self.inputs, function.arguments, strict=True))
                results = [build(values).operation.results[0] for build in self.builders]
                func.ReturnOp(results)
            signature = ir.FunctionType.get(types, [result.type for result in results])
            function.operation.attributes["function_type"] = ir.TypeAttr.get(signature)
            assert module.operation.verify()
            return module

    def expected(self) -> list[np.ndarray]:
        """Results of the ONNX reference evaluator."""
        graph = helper.make_graph(
            self.nodes,
            "test",
            [helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(a.dtype), a.shape)
             for n, a in self.inputs.items()],
            [helper.make_tensor_value_info(f"result{i}", 0, None) for i in range(len(self.builders))],
        )  # fmt: skip
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)])
        with np.errstate(all="ignore"):
            results: Any = ReferenceEvaluator(model).run(None, self.inputs)
            return list(results)

    def actual(self, pipeline: str = "graph-to-linalg") -> list[np.ndarray]:
        """Results on the CPU after `pipeline`."""
        module = self.module()
        entries: Pipeline = parse_pipeline(f"builtin.module({pipeline})")
        entries.run(module, reproducer=False)
        compiled = compile_for_cpu(module)
        return list(compiled({f"arg{i}": array for i, array in enumerate(self.inputs.values())}).values())

    def check(self, pipeline: str = "graph-to-linalg", rtol: float = 2e-6, atol: float = 1e-6) -> None:
        """Results after `pipeline` equal the reference: integers exactly, floats within the bounds."""
        for i, (got, want) in enumerate(zip(self.actual(pipeline), self.expected(), strict=True)):
            node = next(node for node in self.nodes if node.output[0] == f"result{i}")
            assert got.shape == want.shape, f"{node.op_type}: shape {got.shape} instead of {want.shape}"
            if want.dtype.kind in "fV":
                np.testing.assert_allclose(
                    got.astype(np.float64), want.astype(np.float64), rtol, atol, err_msg=str(node)
                )
            else:
                np.testing.assert_array_equal(got, want, err_msg=str(node))


def normal(seed: int, *shape: int) -> np.ndarray:
    """Standard normal float32 numbers."""
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)
