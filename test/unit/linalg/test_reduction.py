"""graph-to-linalg, reductions, pooling and composites: numbers equal the ONNX reference for random shapes."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mnc.core.bindings import ir
from mnc.dialects import graph as g
from mnc.dialects.graph.reduction import REDUCE_KINDS

from .harness import Program, normal

FEW = settings(max_examples=5, deadline=None)
SHAPES = st.lists(st.integers(1, 6), min_size=1, max_size=4).map(tuple)
ONNX_NAMES = {
    "sum": "ReduceSum", "max": "ReduceMax", "min": "ReduceMin", "mean": "ReduceMean", "prod": "ReduceProd",
    "l1": "ReduceL1", "l2": "ReduceL2", "log_sum": "ReduceLogSum", "log_sum_exp": "ReduceLogSumExp",
    "sum_square": "ReduceSumSquare",
}  # fmt: skip


@FEW
@given(shape=SHAPES, data=st.data())
def test_reduce(shape: tuple[int, ...], data: st.DataObject) -> None:
    axes = sorted(data.draw(st.sets(st.integers(0, len(shape) - 1), min_size=1)))
    keepdims = data.draw(st.booleans())
    program = Program({"x": normal(7, *shape), "positive": np.abs(normal(8, *shape)) + np.float32(0.1)})
    for kind in REDUCE_KINDS:
        program.add(
            lambda v, k=kind: g.Reduce.build(v, kind=k, axes=axes, keepdims=keepdims),
            ONNX_NAMES[kind],
            ["positive" if kind.startswith("log") else "x"],
            [np.array(axes)],
            keepdims=int(keepdims),
        )
    program.check(rtol=1e-5)


@pytest.mark.parametrize("dtype", ["int32", "int64", "uint8"])
def test_reduce_integers(dtype: str) -> None:
    x = np.random.default_rng(1).integers(0 if dtype == "uint8" else -9, 9, (3, 4, 5)).astype(dtype)
    program = Program({"x": x})
    for kind in ("max", "min") if dtype == "uint8" else ("sum", "max", "min", "prod", "l1", "sum_square"):
        program.add(
            lambda v, k=kind: g.Reduce.build(v, kind=k, axes=[0, 2], keepdims=False),
            ONNX_NAMES[kind], ["x"], [np.array([0, 2])], keepdims=0,
        )  # fmt: skip
    program.check()


def test_log_sum_exp_does_not_overflow() -> None:
    x = np.array([[1000.0, 999.0], [-1000.0, -1001.0], [-np.inf, -np.inf]], np.float32)
    program = Program({"x": x})
    program.add(lambda v: g.Reduce.build(v, kind="log_sum_exp", axes=[1], keepdims=False), "Identity", ["x"])
    with np.errstate(divide="ignore"):
        expected = np.logaddexp(x[:, 0], x[:, 1])
    np.testing.assert_allclose(program.actual()[0], expected, rtol=1e-6)


@FEW
@given(shape=SHAPES, data=st.data())
def test_arg_reduce(shape: tuple[int, ...], data: st.DataObject) -> None:
    axis = data.draw(st.integers(0, len(shape) - 1))
    x = np.random.default_rng(2).integers(0, 3, shape).astype(np.float32)
    program = Program({"x": x})
    for kind in ("max", "min"):
        for last in (False, True):
            for keepdims in (False, True):
                program.add(
                    lambda v, k=kind, la=last, ke=keepdims: g.ArgReduce.build(
                        v, kind=k, axis=axis, keepdims=ke, select_last=la
                    ),
                    "ArgMax" if kind == "max" else "ArgMin",
                    ["x"], axis=axis, keepdims=int(keepdims), select_last_index=int(last),
                )  # fmt: skip
    program.check()


def test_arg_reduce_of_nan_stays_in_range() -> None:
    program = Program({"x": np.full((2, 3), np.nan, np.float32)})
    program.add(lambda v: g.ArgReduce.build(v, kind="max", axis=1, keepdims=False, select_last=False), "ArgMax", ["x"])
    assert set(program.actual()[0].ravel()) <= {0, 1, 2}


@FEW
@given(shape=SHAPES, data=st.data())
def test_cum_sum(shape: tuple[int, ...], data: st.DataObject) -> None:
    axis = data.draw(st.integers(0, len(shape) - 1))
    program = Program({"x": normal(4, *shape)})
    for exclusive in (False, True):
        for reverse in (False, True):
            program.add(
                lambda v, e=exclusive, r=reverse: g.CumSum.build(v, axis=axis, exclusive=e, reverse=r),
                "CumSum", ["x"], [np.array(axis)], exclusive=int(exclusive), reverse=int(reverse),
            )  # fmt: skip
    program.check(rtol=1e-5)


@FEW
@given(shape=SHAPES, data=st.data())
def test_softmax(shape: tuple[int, ...], data: st.DataObject) -> None:
    axis = data.draw(st.integers(0, len(shape) - 1))
    # Beyond this the reference, which takes the logarithm of the softmax, loses digits.
    program = Program({"x": normal(4, *shape) * 4})
    program.add(lambda v: g.Softmax.build(v, axis=axis), "Softmax", ["x"], axis=axis)
    program.add(lambda v: g.LogSoftmax.build(v, axis=axis), "LogSoftmax", ["x"], axis=axis)
    program.check(rtol=1e-5)


@FEW
@given(shape=SHAPES, data=st.data())
def test_layer_norm(shape: tuple[int, ...], data: st.DataObject) -> None:
    axis = data.draw(st.integers(0, len(shape) - 1))
    program = Program({"x": normal(4, *shape), "s": normal(5, *shape[axis:]), "b": normal(6, *shape[axis:])})
    for names in (["x", "s"], ["x", "s", "b"]):
        program.add(
            lambda *v: g.LayerNorm.build(*v, axis=axis, epsilon=1e-3),
            "LayerNormalization", names, axis=axis, epsilon=1e-3,
        )  # fmt: skip
    program.check(rtol=1e-4, atol=1e-5)


def test_batch_norm() -> None:
    x, channel = normal(4, 2, 3, 4, 5), {name: normal(i, 3) for i, name in enumerate("sbm")}
    program = Program({"x": x, **channel, "v": np.abs(normal(9, 3)) + np.float32(0.1)})
    program.add(
        lambda *v: g.BatchNorm.build(*v, epsilon=1e-5), "BatchNormalization", ["x", "s", "b", "m", "v"], epsilon=1e-5
    )
    program.check(rtol=1e-5, atol=1e-5)


def _pool_reference(x: np.ndarray, kind: str, outputs: list[int], window: dict[str, list[int]], include: bool) -> Any:
    """Every window element by element, in float64; the ONNX reference drops windows when pads differ."""
    rank, extents = x.ndim - 2, x.shape[2:]
    pads = window["pads"]
    out = np.empty((*x.shape[:2], *outputs))
    for place in np.ndindex(*outputs):
        values, count = [], 0
        for offset in np.ndindex(*window["kernel"]):
            position = [p * s + o * d - pads[i] for i, (p, s, o, d) in enumerate(
                zip(place, window["strides"], offset, window["dilations"], strict=True))]  # fmt: skip
            inside = all(0 <= p < e for p, e in zip(position, extents, strict=True))
            if inside:
                values.append(x[(slice(None), slice(None), *position)].astype(np.float64))
            padded = all(p < e + pads[rank + i] for i, (p, e) in enumerate(zip(position, extents, strict=True)))
            count += inside or (include and padded)
        if kind == "max":
            out[(slice(None), slice(None), *place)] = np.max(values, axis=0) if values else -np.inf
        else:
            out[(slice(None), slice(None), *place)] = np.sum(values, axis=0) / max(count, 1)
    return out


@settings(max_examples=12, deadline=None)
@given(rank=st.integers(1, 2), ceil_mode=st.booleans(), data=st.data())
def test_pool(rank: int, ceil_mode: bool, data: st.DataObject) -> None:
    def draw(low: int, high: int) -> list[int]:
        return [data.draw(st.integers(low, high)) for _ in range(rank)]

    kernel, strides, dilations = draw(1, 3), draw(1, 3), draw(1, 2)
    pads = [data.draw(st.integers(0, k - 1)) for k in kernel * 2]
    x = normal(3, 2, 3, *(e + d * (k - 1) for e, k, d in zip(draw(1, 5), kernel, dilations, strict=True)))
    window = {"kernel": kernel, "strides": strides, "pads": pads, "dilations": dilations}
    cases = [("max", False), ("average", False), ("average", True)]
    program = Program({"x": x})
    for kind, include in cases:
        program.add(
            lambda v, k=kind, i=include: g.Pool.build(
                v, kind=k, count_include_pad=i, ceil_mode=ceil_mode, **window
            ),
            "Identity", ["x"],
        )  # fmt: skip
    for (kind, include), got in zip(cases, program.actual(), strict=True):
        expected = _pool_reference(x, kind, list(got.shape[2:]), window, include)
        np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-6, err_msg=f"{kind} {include}")


@pytest.mark.parametrize("p", [1, 2, 3])
def test_lp_pool(p: int) -> None:
    x = normal(3, 1, 2, 5, 6)
    program = Program({"x": x})
    program.add(
        lambda v: g.Pool.build(
            v, kind="lp", kernel=[2, 3], strides=[1, 2], pads=[0, 1, 1, 0], dilations=[1, 1],
            ceil_mode=False, count_include_pad=False, p=p,
        ),
        "Identity", ["x"],
    )  # fmt: skip
    wide = np.pad(np.abs(x.astype(np.float64)) ** p, [(0, 0), (0, 0), (0, 1), (1, 0)])
    windows = np.lib.stride_tricks.sliding_window_view(wide, (2, 3), axis=(2, 3))[:, :, ::1, ::2]
    np.testing.assert_allclose(program.actual()[0], windows.sum(axis=(-1, -2)) ** (1 / p), rtol=1e-5)


def test_every_graph_operation_has_a_lowering() -> None:
    from mnc.lowering.graph_to_linalg.convert import handlers

    with ir.Context():
        assert set(g.OPERATIONS) - set(handlers()) == set()
