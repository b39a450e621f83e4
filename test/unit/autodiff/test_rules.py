"""Every rule against central differences in double precision, and what is refused."""

from typing import Any

import numpy as np
import pytest

from mnc.core.diagnostics import CompileError
from mnc.dialects import graph
from mnc.passes.autodiff.graph_autodiff import GraphAutodiff
from mnc.passes.autodiff.rules import RULES
from mnc.passes.graph.evaluate import evaluate

from .cases import CASES, CUBE, X, pool, reduce, through_f32, unary
from .harness import check_gradients, operations, weighted_sum


@pytest.mark.parametrize(("build", "arrays"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_rule(build, arrays) -> None:
    check_gradients(build, arrays)


def test_cast_to_another_float_type() -> None:
    """Rounding to single hides a small difference, so it is compared with 1."""
    module = weighted_sum(through_f32, [X])
    GraphAutodiff(parameters=("x0",)).run(module)
    weights = np.random.default_rng(100).standard_normal(X.shape)
    np.testing.assert_allclose(evaluate(module, [X])[1], weights, rtol=1e-7)


def test_no_gradient_through_a_condition() -> None:
    def build(x, a):
        return graph.Where.build(graph.Greater.build(x, a).result, a, graph.Exp.build(a).result)

    with pytest.raises(CompileError, match="the loss does not depend on 'x0'"):
        GraphAutodiff(parameters=("x0",)).run(weighted_sum(build, [X, X + 1]))


def test_every_rule_has_a_case() -> None:
    used = set().union(*(operations(weighted_sum(build, arrays)) for _, build, arrays in CASES))
    assert set(RULES) - {"graph.cast"} <= used


def test_equal_extremes_share_the_gradient() -> None:
    """Of equal elements of a maximum each gets its share; of a window the first takes all."""
    ones = np.ones((1, 1, 2, 2))
    first = [[1, 0], [0, 0]]
    windows = [(pool("max", [2, 2], strides=[stride] * 2), first) for stride in (1, 2)]
    for build, want in ((reduce("max", [2, 3]), np.full((2, 2), 0.25)), *windows):
        module = weighted_sum(build, [ones])
        GraphAutodiff.parse("parameters=x0").run(module)
        weight = np.random.default_rng(100).standard_normal(1)[0]
        np.testing.assert_allclose(evaluate(module, [ones])[1][0, 0], weight * np.array(want), rtol=1e-12)


REFUSED = [
    (reduce("prod", [0]), [X], "reduction of kind prod has no rule"),
    (unary(graph.Pad, low=[1, 0], high=[0, 0], value=0.0, mode="edge"), [X], "padding of mode edge has no rule"),
    (unary(graph.Pool, kind="lp", p=2, kernel=[2], strides=[1], pads=[0, 0], dilations=[1], ceil_mode=False,
           count_include_pad=False), [CUBE], "pooling of kind lp has no rule"),
]  # fmt: skip


@pytest.mark.parametrize(("build", "arrays", "message"), REFUSED)
def test_refused(build, arrays, message: str) -> None:
    with pytest.raises(CompileError, match=message) as caught:
        GraphAutodiff(parameters=("x0",)).run(weighted_sum(build, arrays))
    assert caught.value.hint


def test_no_conversion_that_changes_nothing() -> None:
    for name, build, arrays in CASES:
        module = weighted_sum(build, arrays)
        before = _idle(module)
        floats = tuple(f"x{i}" for i, array in enumerate(arrays) if array.dtype.kind == "f")
        GraphAutodiff(parameters=floats).run(module)
        assert _idle(module) == before, name


def _idle(module: Any) -> int:
    """Conversions and changes of shape whose result has the type of their operand."""
    block = module.body.operations[0].body.blocks[0]
    found = [op.operation for op in block.operations if op.operation.name in IDLE_WHERE_TYPES_AGREE]
    return sum(op.operands[0].type == op.results[0].type for op in found)


IDLE_WHERE_TYPES_AGREE = ("graph.cast", "graph.reshape", "graph.broadcast_to")
