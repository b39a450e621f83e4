"""hoist-scales on graphs that share operands and constants: every value stays what it was."""

import numpy as np
from hypothesis import example, given, settings
from hypothesis import strategies as st

from mnc.core.bindings import func, ir
from mnc.core.context import make_context
from mnc.dialects import graph
from mnc.passes.graph.evaluate import evaluate

from .random_graphs import run_passes

SIDE = 3
KINDS = ("matmul", "matmul", "scale", "scale", "add", "sub", "mul", "transpose", "neg", "where", "tanh")
STEP = st.tuples(st.sampled_from(KINDS), st.integers(0, 30), st.integers(0, 30), st.integers(0, 2))
FACTORS = (0.5, -0.5, 3.0)


def _module(steps, results):
    with make_context(["graph"]), ir.Location.unknown():
        module = ir.Module.create()
        type_ = graph.tensor([SIDE, SIDE], ir.F32Type.get())
        with ir.InsertionPoint(module.body):
            function = func.FuncOp("main", ([type_] * 2, []))
        with ir.InsertionPoint(function.add_entry_block()):
            values = list(function.arguments)
            factors = [_constant(np.float32(f)) for f in FACTORS]
            zero, mask = _constant(np.float32(0)), _constant(np.eye(SIDE, dtype=bool))
            for kind, i, j, f in steps:
                a, b = values[i % len(values)], values[j % len(values)]
                values.append(_step(kind, a, b, factors[f], zero, mask))
            chosen = [values[r % len(values)] for r in results]
            func.ReturnOp(chosen)
        signature = ir.FunctionType.get([type_] * 2, [type_] * len(chosen))
        function.operation.attributes["function_type"] = ir.TypeAttr.get(signature)
        assert module.operation.verify()
    return module


def _constant(array):
    return graph.Constant.build(value=graph.dense(np.asarray(array))).operation.results[0]


def _step(kind, a, b, factor, zero, mask):
    build = graph.OPERATIONS
    if kind == "scale":
        made = build["graph.mul"].build(a, factor)
    elif kind == "transpose":
        made = build["graph.transpose"].build(a, permutation=[1, 0])
    elif kind in ("neg", "tanh"):
        made = build[f"graph.{kind}"].build(a)
    elif kind == "where":
        made = build["graph.where"].build(mask, a, zero)
    else:
        made = build[f"graph.{kind}"].build(a, b)
    return made.operation.results[0]


@settings(max_examples=300, deadline=None)
@example([("scale", 0, 0, 0), ("scale", 2, 0, 2), ("scale", 3, 0, 2)], [0])  # a multiple of a multiple of a multiple
@given(st.lists(STEP, min_size=2, max_size=9), st.lists(st.integers(0, 30), min_size=1, max_size=3))
def test_values_stay(steps, results) -> None:
    module = _module(steps, [-1 - r % 3 for r in results])
    rng = np.random.default_rng(0)
    inputs = [rng.standard_normal((SIDE, SIDE)).astype(np.float32) for _ in range(2)]
    with module.context:
        before = evaluate(module, inputs, wide=True)
        run_passes(module, "cse,hoist-scales,canonicalize,cse")
        after = evaluate(module, inputs, wide=True)
    for got, want in zip(after, before, strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6 * max(1.0, float(np.abs(want).max())))
