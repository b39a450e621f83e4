"""Gradients of graph functions in double precision, beside central differences of the function itself."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from mnc.core.bindings import func, ir
from mnc.core.context import make_context
from mnc.dialects import graph
from mnc.passes.autodiff.graph_autodiff import GraphAutodiff
from mnc.passes.graph.evaluate import evaluate

STEP = 1e-6
Build = Callable[..., Any]
"""From the argument values to one result."""


def weighted_sum(build: Build, arrays: Sequence[np.ndarray], seed: int = 0) -> Any:
    """A module whose @main returns the sum of the result times random weights; arguments are x0, x1 ..."""
    context = make_context(["graph"])
    with context, ir.Location.unknown():
        module = ir.Module.create()
        types = [graph.tensor(array.shape, graph.element_type(array.dtype)) for array in arrays]
        with ir.InsertionPoint(module.body):
            function = func.FuncOp("main", (types, []))
        with ir.InsertionPoint(function.add_entry_block()):
            value = build(*function.arguments)
            result = value if isinstance(value, ir.Value) else value.operation.results[0]
            shape = list(ir.RankedTensorType(result.type).shape)
            weights = np.random.default_rng(seed + 100).standard_normal(shape)
            weighted = graph.Mul.build(result, graph.Constant.build(value=weights)).result
            loss = graph.Reduce.build(weighted, kind="sum", axes=list(range(len(shape))), keepdims=False).result
            func.ReturnOp([loss])
        signature = ir.FunctionType.get(types, [loss.type])
        function.operation.attributes["function_type"] = ir.TypeAttr.get(signature)
        names = [ir.DictAttr.get({"onnx.name": ir.StringAttr.get(f"x{i}")}) for i in range(len(arrays))]
        function.operation.attributes["arg_attrs"] = ir.ArrayAttr.get(names)
        assert module.operation.verify()
    return module


def operations(module: Any) -> set[str]:
    """Names of the operations of @main."""
    return {op.operation.name for op in module.body.operations[0].body.blocks[0].operations}


def differences(module: Any, arrays: Sequence[np.ndarray], index: int) -> np.ndarray:
    """Central differences of the loss in argument `index`."""
    out = np.zeros(arrays[index].shape)
    for place in np.ndindex(out.shape):
        ends = []
        for step in (STEP, -STEP):
            moved = [array.copy() for array in arrays]
            moved[index][place] += step
            ends.append(float(evaluate(module, moved)[0]))
        out[place] = (ends[0] - ends[1]) / (2 * STEP)
    return out


def check_gradients(build: Build, arrays: Sequence[np.ndarray], tolerance: float = 2e-7) -> None:
    """Every float argument: rule against differences, relative to the largest gradient."""
    module = weighted_sum(build, arrays)
    wanted = {i: differences(module, arrays, i) for i, array in enumerate(arrays) if array.dtype.kind == "f"}
    GraphAutodiff(parameters=tuple(f"x{i}" for i in wanted)).run(module)
    assert module.operation.verify()
    found = evaluate(module, list(arrays))[1:]
    for (i, want), got in zip(wanted.items(), found, strict=True):
        assert got.shape == want.shape
        bound = tolerance * max(1, np.abs(want).max(initial=0))
        np.testing.assert_allclose(got, want, rtol=0, atol=bound, err_msg=f"x{i}")
        assert np.abs(want).max(initial=0) > 1e-3 or not want.size, f"the function does not depend on x{i}"
