"""Random graphs for the tests of graph passes, and their values before and after a pass."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
from hypothesis import strategies as st

from mnc.core.bindings import func, ir
from mnc.core.context import make_context
from mnc.dialects import graph
from mnc.passes.graph.evaluate import evaluate
from mnc.registry import parse_pipeline

UNARY = ("neg", "abs", "sign", "exp", "log", "sqrt", "reciprocal", "floor", "relu", "sigmoid", "tanh", "round")
BINARY = ("add", "sub", "mul", "div", "max", "min", "add", "mul")
EXACT = (-2.0, -1.0, -0.5, 0.0, 0.5, 1.0, 2.0, 3.0, 4.0, 0.25)
"""Constants whose sums and products are exact in single precision, so that folding rounds nothing."""
SPECIAL = (np.inf, -np.inf, np.nan, 0.0, -0.0)


@dataclass
class Choices:
    """Reads decisions from hypothesis, and builds operations."""

    draw: Any
    values: list[ir.Value]

    def pick(self, items: Sequence[Any]) -> Any:
        return self.draw(st.sampled_from(list(items)))

    def operand(self) -> ir.Value:
        return self.pick(self.values[-4:] + self.values[:2])

    def add(self, op: Any) -> None:
        self.values.extend(op.operation.results)


def constant(choices: Choices, shape: Sequence[int]) -> ir.Value:
    count = int(np.prod(shape, dtype=int))
    numbers = (
        [choices.pick(EXACT)] * count if choices.draw(st.booleans()) else [choices.pick(EXACT) for _ in range(count)]
    )
    array = np.array(numbers, np.float32).reshape(tuple(shape))
    return graph.Constant.build(value=graph.dense(array)).operation.results[0]


def _elementwise(choices: Choices) -> None:
    x = choices.operand()
    shape = list(ir.RankedTensorType(x.type).shape)
    kind = choices.pick(("unary", "binary", "constant", "constant", "clip", "pow", "where", "double"))
    op = graph.OPERATIONS
    if kind == "unary":
        choices.add(op[f"graph.{choices.pick(UNARY)}"].build(x))
    elif kind == "double":
        y = op[f"graph.{choices.pick(('neg', 'relu', 'exp', 'log', 'sqrt', 'abs'))}"].build(x)
        choices.add(op[f"graph.{choices.pick(('neg', 'relu', 'exp', 'log', 'abs', 'sqrt'))}"].build(y))
    elif kind == "binary":
        others = [v for v in choices.values if ir.RankedTensorType(v.type).shape == shape]
        choices.add(op[f"graph.{choices.pick(BINARY)}"].build(x, choices.pick(others)))
    elif kind == "constant":
        own = choices.pick(([], shape, [1] * len(shape), shape[-1:]))
        pair = [x, constant(choices, own)]
        choices.add(op[f"graph.{choices.pick(BINARY)}"].build(*(pair if choices.draw(st.booleans()) else pair[::-1])))
    elif kind == "clip":
        low = choices.pick((None, -1.0, 0.0, 0.5))
        choices.add(graph.Clip.build(x, min=low, max=choices.pick((None, 0.5, 1.0, 2.0))))
    elif kind == "pow":
        exponent = np.array(choices.pick((0, 1, 2, 3, 4, -1, 0.5, -0.5, 1.5)), np.float32)
        choices.add(graph.Pow.build(x, graph.Constant.build(value=graph.dense(exponent))))
    else:
        others = [v for v in choices.values if ir.RankedTensorType(v.type).shape == shape]
        compare = op[f"graph.{choices.pick(('less', 'greater', 'equal', 'less_or_equal'))}"].build(
            x, choices.pick(others)
        )
        condition = graph.Not.build(compare) if choices.draw(st.booleans()) else compare
        choices.add(graph.Where.build(condition, x, choices.pick(others)))


def _structural(choices: Choices) -> None:
    x = choices.operand()
    shape = list(ir.RankedTensorType(x.type).shape)
    kind = choices.pick(
        ("transpose", "transpose", "reshape", "slice", "concat", "pad", "pieces", "broadcast", "reduce", "gather")
    )
    axis = choices.draw(st.integers(0, len(shape) - 1))
    if kind == "transpose":
        choices.add(graph.Transpose.build(x, permutation=choices.draw(st.permutations(range(len(shape))))))
    elif kind == "reshape":
        count = int(np.prod(shape))
        target = choices.pick(([count], [1, count], shape[::-1], [*shape, 1]))
        choices.add(graph.Reshape.build(x, result_type=graph.tensor(target, ir.F32Type.get())))
    elif kind == "slice":
        steps = [choices.pick((1, 1, 1, 2)) for _ in shape]
        starts = [choices.draw(st.integers(0, extent - 1)) for extent in shape]
        limits = [choices.draw(st.integers(s + 1, extent)) for s, extent in zip(starts, shape, strict=True)]
        choices.add(graph.Slice.build(x, starts=starts, limits=limits, steps=steps))
    elif kind == "concat":
        others = [v for v in choices.values if ir.RankedTensorType(v.type).shape == shape]
        choices.add(graph.Concat.build(x, choices.pick(others), axis=axis))
    elif kind == "pad":
        low, high = ([choices.draw(st.integers(0, 1)) for _ in shape] for _ in range(2))
        choices.add(graph.Pad.build(x, low=low, high=high, value=choices.pick((0.0, 1.0)), mode="constant"))
    elif kind == "pieces":
        _pieces(choices, shape, axis)
    elif kind == "broadcast":
        choices.add(graph.BroadcastTo.build(x, result_type=graph.tensor([2, *shape], ir.F32Type.get())))
    elif kind == "reduce":
        what = choices.pick(("sum", "max", "mean", "sum_square"))
        choices.add(graph.Reduce.build(x, kind=what, axes=[axis], keepdims=choices.draw(st.booleans())))
    else:
        indices = np.array([choices.draw(st.integers(0, shape[axis] - 1)) for _ in range(2)])
        choices.add(graph.Gather.build(x, graph.Constant.build(value=graph.dense(indices)), axis=axis))


def _pieces(choices: Choices, shape: list[int], axis: int) -> None:
    """A sum of tensors that zeros surround along an axis, apart from each other or not."""
    others = [v for v in choices.values if ir.RankedTensorType(v.type).shape == shape]
    room, terms = 2 * shape[axis] + 1, []
    for _ in range(choices.draw(st.integers(2, 3))):
        first = choices.pick((0, shape[axis], 2 * shape[axis], 1))
        low, high = ([n if i == axis else 0 for i in range(len(shape))] for n in (first, room - first))
        terms.append(graph.Pad.build(choices.pick(others), low=low, high=high, value=0.0, mode="constant").result)
    choices.values.append(reduce(lambda total, term: graph.Add.build(total, term).result, terms))


def _contraction(choices: Choices) -> None:
    x = choices.operand()
    shape = list(ir.RankedTensorType(x.type).shape)
    if len(shape) < 2:
        return
    others = [v for v in choices.values if len(ir.RankedTensorType(v.type).shape) == 2]
    fitting = [v for v in others if ir.RankedTensorType(v.type).shape[0] == shape[-1]]
    weight = choices.pick(fitting) if fitting and choices.draw(st.booleans()) else constant(choices, [shape[-1], 2])
    choices.add(graph.MatMul.build(x, weight))


FAMILIES = {"elementwise": _elementwise, "structural": _structural, "contraction": _contraction}


@st.composite
def modules(draw: Any, families: Sequence[str], size: int = 8) -> ir.Module:
    """A module whose function `main` takes two tensors and returns the last values that it computes."""
    context = make_context(["graph"])
    with context, ir.Location.unknown():
        module = ir.Module.create()
        shape = [draw(st.integers(1, 3)) for _ in range(draw(st.integers(1, 3)))]
        types = [graph.tensor(shape, ir.F32Type.get())] * 2
        with ir.InsertionPoint(module.body):
            function = func.FuncOp("main", (types, []))
        with ir.InsertionPoint(function.add_entry_block()):
            choices = Choices(draw, list(function.arguments))
            for _ in range(draw(st.integers(2, size))):
                values = [v for v in choices.values if len(ir.RankedTensorType(v.type).shape) in (1, 2, 3, 4)]
                choices.values = [v for v in values if np.prod(ir.RankedTensorType(v.type).shape) <= 64]
                FAMILIES[choices.pick(families)](choices)
            results = choices.values[-2:]
            func.ReturnOp(results)
        signature = ir.FunctionType.get(types, [result.type for result in results])
        function.operation.attributes["function_type"] = ir.TypeAttr.get(signature)
        assert module.operation.verify()
    return module


def inputs_of(module: ir.Module, seed: int, special: bool) -> list[np.ndarray]:
    """Small dyadic numbers, a quarter of them infinities, NaN and zeros where `special`."""
    rng = np.random.default_rng(seed)
    arrays = []
    for argument in module.body.operations[0].operation.regions[0].blocks[0].arguments:
        shape = tuple(ir.RankedTensorType(argument.type).shape)
        array = rng.integers(-8, 9, shape).astype(np.float32) / 4
        if special:
            array = np.where(rng.random(shape) < 0.25, rng.choice(np.array(SPECIAL, np.float32), shape), array)
        arrays.append(array)
    return arrays


def run_passes(module: ir.Module, pipeline: str) -> None:
    """Run pipeline text on the module."""
    parse_pipeline(f"builtin.module({pipeline})").run(module, reproducer=False)


def check_unchanged(module: ir.Module, pipeline: str, seed: int, special: bool, rtol: float, atol: float) -> None:
    """The results in double precision are the same before and after `pipeline`: NaN where NaN, the same infinities."""
    before_text = str(module)
    inputs = inputs_of(module, seed, special)
    with module.context:
        before = evaluate(module, inputs, wide=True)
        run_passes(module, pipeline)
        assert module.operation.verify()
        after = evaluate(module, inputs, wide=True)
    for got, wanted in zip(after, before, strict=True):
        assert got.shape == wanted.shape
        np.testing.assert_allclose(got, wanted, rtol, atol, err_msg=f"{inputs}\n{before_text}\n{module}")
