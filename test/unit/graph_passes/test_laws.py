"""Pairs and triples of operations on exactly the numbers that break laws: infinities, NaN, zeros of both signs.

Many independent chains in one function, drawn from all combinations, so that rare ones are met as well.
"""

import itertools

import numpy as np
import pytest

from mnc.core.bindings import func, ir
from mnc.core.context import make_context
from mnc.dialects import graph
from mnc.passes.graph.evaluate import evaluate

from .random_graphs import run_passes

UNARY = ("neg", "abs", "sign", "exp", "log", "sqrt", "reciprocal", "floor", "relu", "sigmoid", "tanh", "clip", "square")
CONSTANTS = (-1.0, 0.0, -0.0, 0.5, 1.0, 2.0, 3.0, -0.5)
STEPS = [
    *((kind, None, None) for kind in UNARY),
    *itertools.product(("add", "sub", "mul", "div", "max", "min", "pow"), CONSTANTS, (False, True)),
    *itertools.product(("x_add", "x_sub", "x_mul", "x_max"), (None,), (False, True)),
]
"""Kind, constant operand, whether the operands are exchanged; ``x_`` kinds take the input as other operand."""
X = np.array([np.inf, -np.inf, np.nan, 0.0, -0.0, 1.5, -2.5, 0.25, -0.5, 100.0, -100.0], np.float32)


def _step(step, value, x):
    kind, number, exchanged = step
    operations = graph.OPERATIONS
    if kind == "clip":
        return graph.Clip.build(value, min=-1.0, max=2.0).operation.results[0]
    if kind == "square":
        return graph.Mul.build(value, value).operation.results[0]
    if kind in UNARY:
        return operations[f"graph.{kind}"].build(value).operation.results[0]
    if number is None:
        pair = [value, x]
    else:
        pair = [value, graph.Constant.build(value=graph.dense(np.array(number, np.float32))).operation.results[0]]
    return (
        operations[f"graph.{kind.removeprefix('x_')}"].build(*(pair[::-1] if exchanged else pair)).operation.results[0]
    )


def _chains(chains):
    with make_context(["graph"]), ir.Location.unknown():
        module = ir.Module.create()
        type_ = graph.tensor(X.shape, ir.F32Type.get())
        with ir.InsertionPoint(module.body):
            function = func.FuncOp("main", ([type_], []))
        with ir.InsertionPoint(function.add_entry_block()):
            x = function.arguments[0]
            results = []
            for chain in chains:
                value = x
                for step in chain:
                    value = _step(step, value, x)
                results.append(value)
            func.ReturnOp(results)
        signature = ir.FunctionType.get([type_], [type_] * len(results))
        function.operation.attributes["function_type"] = ir.TypeAttr.get(signature)
        assert module.operation.verify()
    return module


def _check(chains, pipeline):
    module = _chains(chains)
    with module.context:
        before = evaluate(module, [X], wide=True)
        run_passes(module, pipeline)
        after = evaluate(module, [X], wide=True)
    for chain, got, want in zip(chains, after, before, strict=True):
        np.testing.assert_allclose(got, want, rtol=2e-6, atol=1e-6, err_msg=f"{chain} of {X}")


@pytest.mark.parametrize("last", [(), (("reciprocal", None, None),), (("div", 1.0, True),)])
def test_pairs(last) -> None:
    """Ordered pairs; then divided by, which shows the signs of zeros."""
    rng = np.random.default_rng(len(last))
    pairs = list(itertools.product(STEPS, STEPS))
    chosen = [(*pairs[i], *last) for i in rng.choice(len(pairs), 1500, replace=False)]
    _check(chosen, "simplify-algebra")


def test_triples() -> None:
    """Without decompose, whose products for quotients are rounded: a power of -1/2 jumps at integers."""
    rng = np.random.default_rng(3)
    chosen = [tuple(STEPS[i] for i in rng.integers(0, len(STEPS), 3)) for _ in range(800)]
    _check(chosen, "cse,simplify-algebra")


@pytest.mark.parametrize("permutation", list(itertools.permutations(range(3))))
@pytest.mark.parametrize("shape", [(2, 3, 4), (3, 1), (4,), (2, 1, 4), ()])
def test_constants_of_transposed(permutation, shape) -> None:
    """A constant that meets a transposed tensor is turned the other way."""
    x = np.arange(24, dtype=np.float32)
    source = np.empty(3, int)
    source[list(permutation)] = (2, 3, 4)
    with make_context(["graph"]), ir.Location.unknown():
        module = ir.Module.create()
        type_ = graph.tensor(source.tolist(), ir.F32Type.get())
        with ir.InsertionPoint(module.body):
            function = func.FuncOp("main", ([type_], []))
        with ir.InsertionPoint(function.add_entry_block()):
            turned = graph.Transpose.build(function.arguments[0], permutation=list(permutation))
            array = np.arange(int(np.prod(shape)), dtype=np.float32).reshape(shape) * 100
            result = graph.Sub.build(graph.Constant.build(value=graph.dense(array)), turned)
            func.ReturnOp([result.operation.results[0]])
        signature = ir.FunctionType.get([type_], [result.operation.results[0].type])
        function.operation.attributes["function_type"] = ir.TypeAttr.get(signature)
        (before,) = evaluate(module, [x.reshape(source)])
        run_passes(module, "simplify-tensors")
        (after,) = evaluate(module, [x.reshape(source)])
    np.testing.assert_array_equal(after, before)
