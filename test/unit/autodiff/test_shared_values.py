"""Gradients of random graphs that use values several times, beside differences along random directions."""

from typing import Any

import numpy as np
from graph_passes.graph_builder import kind_of
from graph_passes.noise import OutOfRangeError, run
from graph_passes.shared_graphs import RESULTS, argument_types, grown, steps
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from mnc.core.bindings import ir
from mnc.core.diagnostics import CompileError
from mnc.dialects import graph
from mnc.passes.autodiff.graph_autodiff import GraphAutodiff
from mnc.passes.graph.evaluate import evaluate
from mnc.passes.graph.matching import size_of

from .harness import weighted_sum

SIZE = (3, 2)
STEPS = (1e-6, -1e-6, 1e-5, -1e-5)


def _arguments(seed: int) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    made = {"float64": rng.standard_normal, "bool": lambda shape: rng.random(shape) > 0.5,
            "int64": lambda shape: rng.integers(-3, 4, shape)}  # fmt: skip
    return [np.asarray(made[kind](shape)) for shape, kind in argument_types(SIZE, "float64")]


def _all_of(arguments: tuple[ir.Value, ...], program: Any, results: list[int]) -> ir.Value:
    """The chosen results, and all float arguments, one behind the other."""
    builder = grown(arguments, "float64", program)
    floats = [value for value in builder.values if kind_of(value) == "f"]
    chosen = [floats[-1 - r % len(floats)] for r in results] + [v for v in arguments if kind_of(v) == "f"]
    flat = [graph.Reshape.build(v, result_type=builder.typed([size_of(v)], v)).operation.results[0] for v in chosen]
    total = flat[0]
    for value in flat[1:]:
        total = graph.Concat.build(total, value, axis=0).operation.results[0]
    return total


def _slope(module: Any, arrays: list[np.ndarray], index: int, direction: np.ndarray) -> float | None:
    """Derivative along a direction; None at a corner, or where differences are too coarse."""
    loss = lambda values: float(evaluate(module, values, wide=True)[0])  # noqa: E731
    base = loss(arrays)
    ends = [loss([a + step * direction if i == index else a for i, a in enumerate(arrays)]) for step in STEPS]
    right, left = (ends[0] - base) / STEPS[0], (base - ends[1]) / STEPS[0]
    near, far = (right + left) / 2, (ends[2] - ends[3]) / (2 * STEPS[2])
    size = max(1.0, abs(near))
    smooth = np.isfinite(ends).all() and abs(right - left) < 1e-3 * size and abs(near - far) < 1e-4 * size
    return far if smooth else None


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow])
@given(steps(), RESULTS, st.integers(0, 9))
def test_gradients(program, results, seed) -> None:
    arrays = _arguments(seed)
    module = weighted_sum(lambda *arguments: _all_of(arguments, program, results), arrays, seed)
    text = str(module)
    try:
        loss = float(run(module, arrays)[0])
    except OutOfRangeError:
        return
    assume(np.isfinite(loss) and abs(loss) < 1e6)
    rng = np.random.default_rng(seed)
    directions = {i: rng.standard_normal(a.shape) for i, a in enumerate(arrays) if a.dtype.kind == "f"}
    wanted = {i: _slope(module, arrays, i, direction) for i, direction in directions.items()}
    try:
        GraphAutodiff(parameters=tuple(f"x{i}" for i in directions)).run(module)
    except CompileError:  # an operator without a rule
        return
    assert module.operation.verify()
    gradients = evaluate(module, arrays, wide=True)[1:]
    for (i, want), got in zip(wanted.items(), gradients, strict=True):
        assert got.shape == arrays[i].shape
        if want is not None:
            allowed = 2e-3 * max(1.0, abs(want), abs(loss))
            assert abs(float(np.sum(got * directions[i])) - want) <= allowed, f"x{i}\n{text}\n{module}"
