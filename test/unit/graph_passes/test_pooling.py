"""decompose of poolings: windows that touch every g-th element, maxima and averages over one dimension after the
other."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mnc.core.bindings import ir
from mnc.core.context import make_context
from mnc.dialects.graph.shapes import window
from mnc.passes.graph.evaluate import evaluate

from .random_graphs import run_passes


@st.composite
def poolings(draw: Any) -> tuple[tuple[int, ...], str]:
    """Shape of the data, and a pooling of it as text."""
    rank = draw(st.integers(1, 3))
    dims = []
    for _ in range(rank):
        kernel, dilation = draw(st.integers(1, 4 if rank == 3 else 9)), draw(st.sampled_from((1, 1, 2, 3, 4)))
        reach = (kernel - 1) * dilation + 1
        low, high = (draw(st.integers(0, min(kernel - 1, 2))) for _ in range(2))
        extent = draw(st.integers(max(reach - low - high, 1), reach + 7))
        dims.append((extent, kernel, draw(st.sampled_from((1, 2, 3, 4, 6))), dilation, low, high))
    extents, kernel, strides, dilations, low, high = (list(column) for column in zip(*dims, strict=True))
    ceil_mode, include, kind = draw(st.booleans()), draw(st.booleans()), draw(st.sampled_from(("max", "average", "lp")))
    shape = (1, 2, *extents)
    counts = window(extents, kernel, strides, low + high, dilations, ceil_mode)
    source, target = (f"tensor<{'x'.join(map(str, s))}xf32>" for s in (shape, (1, 2, *counts)))
    arrays = {"kernel": kernel, "strides": strides, "dilations": dilations, "pads": low + high}
    given = ", ".join(f"{k} = array<i64: {', '.join(map(str, v))}>" for k, v in arrays.items())
    flags = f"ceil_mode = {str(ceil_mode).lower()}, count_include_pad = {str(include).lower()}, p = 2 : i64"
    operation = f'"graph.pool"(%x) {{kind = "{kind}", {given}, {flags}}} : ({source}) -> {target}'
    return shape, f"func.func @main(%x: {source}) -> {target} {{ %0 = {operation} return %0 : {target} }}"


@settings(max_examples=200, deadline=None)
@given(poolings())
def test_values_stay(case: tuple[tuple[int, ...], str]) -> None:
    shape, text = case
    x = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
    with make_context(["graph"]):
        module = ir.Module.parse(text)
        (wanted,) = evaluate(module, [x])
        run_passes(module, "decompose")
        (got,) = evaluate(module, [x])
    np.testing.assert_allclose(got, wanted, rtol=1e-6, atol=1e-6)  # averages of averages are near 0 where many cancel


def _pooling(shape: list[int], kernel: list[int], kind: str, **more: list[int] | bool | int) -> tuple[Any, ...]:
    """Text of one pooling without padding but for what is given, and data for it."""
    rank = len(kernel)
    given = {"strides": [1] * rank, "pads": [0] * 2 * rank, "dilations": [1] * rank, "ceil_mode": False, "p": 2, **more}
    counts = window(shape, kernel, given["strides"], given["pads"], given["dilations"], given["ceil_mode"])
    arrays = {"kernel": kernel} | {k: given[k] for k in ("strides", "pads", "dilations")}
    written = ", ".join(f"{k} = array<i64: {', '.join(map(str, v))}>" for k, v in arrays.items())
    include = str(given.get("count_include_pad", False)).lower()
    flags = f"ceil_mode = {str(given['ceil_mode']).lower()}, count_include_pad = {include}, p = {given['p']} : i64"
    source, target = (f"tensor<{'x'.join(map(str, (2, 3, *s)))}xf32>" for s in (shape, counts))
    operation = f'"graph.pool"(%x) {{kind = "{kind}", {written}, {flags}}} : ({source}) -> {target}'
    text = f"func.func @main(%x: {source}) -> {target} {{ %0 = {operation} return %0 : {target} }}"
    return text, np.random.default_rng(0).standard_normal((2, 3, *shape)).astype(np.float32)


def _run(text: str, x: np.ndarray) -> tuple[str, np.ndarray, np.ndarray]:
    with make_context(["graph"]):
        module = ir.Module.parse(text)
        (wanted,) = evaluate(module, [x])
        run_passes(module, "decompose")
        (got,) = evaluate(module, [x])
        return str(module), wanted, got


@pytest.mark.parametrize(("kind", "p"), [("max", 2), ("average", 2), ("lp", 1), ("lp", 2)])
@pytest.mark.parametrize(
    ("shape", "kernel", "pads"),
    [
        ([7, 7], [7, 7], [0, 0, 0, 0]),
        ([5], [5], [0, 0]),
        ([4, 6], [4, 1], [0, 0, 0, 0]),
        ([3, 2, 4], [3, 1, 4], [0] * 6),
        ([6, 5], [7, 7], [0, 1, 1, 1]),
    ],
)
def test_a_window_over_everything_is_a_reduction(
    shape: list[int], kernel: list[int], pads: list[int], kind: str, p: int
) -> None:
    module, wanted, got = _run(*_pooling(shape, kernel, kind, p=p, pads=pads))
    assert "graph.reduce" in module and "graph.pool" not in module
    np.testing.assert_allclose(got, wanted, rtol=1e-6)


def test_nan_and_infinity_go_through_the_reduction_as_through_the_pooling() -> None:
    text, x = _pooling([2, 2], [2, 2], "max")
    x[0, 0, 0, 0], x[0, 1, 1, 1], x[1, 0] = np.nan, np.inf, -np.inf
    _, wanted, got = _run(text, x)
    np.testing.assert_array_equal(got, wanted)


@pytest.mark.parametrize(
    ("kernel", "kind", "more"),
    [
        ([7, 6], "average", {}),  # two windows
        ([8, 7], "average", {"pads": [1, 0, 0, 0], "count_include_pad": True}),  # an element of padding counts
        ([7, 7], "lp", {"p": 3}),  # no reduction does that
        ([4, 7], "max", {"dilations": [2, 1]}),  # every other element
    ],
)
def test_other_windows_are_no_reductions(kernel: list[int], kind: str, more: dict[str, Any]) -> None:
    module, wanted, got = _run(*_pooling([7, 7], kernel, kind, **more))
    assert "graph.reduce" not in module or "graph.pool" in module
    np.testing.assert_allclose(got, wanted, rtol=1e-6)


def _decomposed(kernel: int, stride: int, dilation: int, extent: int, result: int, kind: str = "max") -> str:
    square = {"kernel": kernel, "strides": stride, "dilations": dilation}
    given = ", ".join(f"{k} = array<i64: {v}, {v}>" for k, v in square.items())
    source, target = (f"tensor<1x1x{n}x{n}xf32>" for n in (extent, result))
    flags = f'kind = "{kind}", pads = array<i64: 0, 0, 0, 0>, ceil_mode = false, count_include_pad = false'
    text = f'%0 = "graph.pool"(%x) {{{given}, {flags}}} : ({source}) -> {target}'
    with make_context(["graph"]):
        module = ir.Module.parse(f"func.func @main(%x: {source}) -> {target} {{ {text} return %0 : {target} }}")
        run_passes(module, "decompose")
        return str(module)


def test_only_what_windows_touch_is_read() -> None:
    text = _decomposed(2, 4, 6, 19, 4)
    assert "steps = array<i64: 1, 1, 2, 2>" in text
    assert "dilations = array<i64: 3, 3>" in text


def test_large_windows_go_one_by_one_and_small_ones_do_not() -> None:
    for kind in ("max", "average"):
        assert _decomposed(9, 1, 1, 24, 16, kind).count("graph.pool") == 2
        assert _decomposed(3, 2, 1, 13, 6, kind).count("graph.pool") == 1


def test_the_rows_of_large_windows_are_folded_side_by_side() -> None:
    """Even where windows have no element in common: one place would have to hold all of each."""
    assert _decomposed(55, 55, 1, 112, 2, "average").count("graph.pool") == 2
