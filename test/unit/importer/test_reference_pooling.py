"""The corrected operators of the reference: pooling against windows walked one by one, the others against a formula."""

import itertools
import sys
import types
from typing import Any

import ml_dtypes
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from mnc.accuracy.probable import Allowance
from mnc.lowering.onnx_to_graph.evaluator import corrected_operators, evaluator
from mnc.reference import judge


def _model(op_type: str, ranks: list[int], constants: dict[str, np.ndarray] | None = None, outputs: int = 1,
           **attributes: Any) -> onnx.ModelProto:  # fmt: skip
    names = [f"x{i}" for i in range(len(ranks))]
    results = ["y", "where"][:outputs]
    node = helper.make_node(op_type, [*names, *(constants or {})], results, **attributes)
    entries = [
        helper.make_tensor_value_info(name, TensorProto.FLOAT, [f"{name}_{i}" for i in range(rank)])
        for name, rank in zip(names, ranks, strict=True)
    ]
    ends = [helper.make_tensor_value_info(name, kind, None) for name, kind in zip(results, (1, 7), strict=False)]
    weights = [numpy_helper.from_array(value, name) for name, value in (constants or {}).items()]
    graph = helper.make_graph([node], "test", entries, ends, weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 19)], ir_version=9)


def _run(model: onnx.ModelProto, *arrays: np.ndarray) -> list[np.ndarray]:
    results: Any = evaluator(model).run(None, {f"x{i}": array for i, array in enumerate(arrays)})
    return [np.asarray(result) for result in results]


def _walked(x: np.ndarray, kernel: list[int], strides: list[int], pads: list[int], dilations: list[int],
            ceil: bool) -> list[tuple[tuple[int, ...], list[tuple[int, ...]]]]:  # fmt: skip
    """Every window of a channel: where its result goes, and the places that it covers."""
    rank, found = len(kernel), []
    counts = []
    for i in range(rank):
        room = x.shape[2 + i] + pads[i] + pads[rank + i] - dilations[i] * (kernel[i] - 1) - 1
        count = (-(-room // strides[i]) if ceil else room // strides[i]) + 1
        counts.append(count - (ceil and (count - 1) * strides[i] >= x.shape[2 + i] + pads[i]))
    for place in itertools.product(*map(range, counts)):
        taps = itertools.product(*map(range, kernel))
        covered = [tuple(place[i] * strides[i] - pads[i] + tap[i] * dilations[i] for i in range(rank)) for tap in taps]
        found.append((place, covered))
    return found


POOLS = [
    ([3, 3], [1, 1], [1, 0, 0, 1], [1, 1], 0),
    ([3, 2], [2, 3], [0, 1, 2, 0], [1, 1], 1),
    ([2, 2], [2, 1], [1, 1, 0, 0], [2, 1], 1),
    ([3], [2], [2, 0], [1], 0),
    ([2, 1, 2], [1, 2, 2], [0, 0, 1, 1, 0, 0], [1, 1, 2], 1),
]


@pytest.mark.parametrize("include", [0, 1])
@pytest.mark.parametrize(("kernel", "strides", "pads", "dilations", "ceil"), POOLS)
def test_pooling(kernel: Any, strides: Any, pads: Any, dilations: Any, ceil: int, include: int) -> None:
    rng = np.random.default_rng(len(kernel))
    x = rng.standard_normal((2, 3, *rng.integers(5, 8, len(kernel)))).astype(np.float32)
    window = {"kernel_shape": kernel, "strides": strides, "pads": pads, "dilations": dilations, "ceil_mode": ceil}
    largest, where = _run(_model("MaxPool", [x.ndim], outputs=2, **window), x)
    (mean,) = _run(_model("AveragePool", [x.ndim], count_include_pad=include, **window), x)
    (norm,) = _run(_model("LpPool", [x.ndim], p=3, **window), x)
    high = pads[len(kernel) :]
    windows = _walked(x, kernel, strides, pads, dilations, bool(ceil))
    assert mean[0, 0].size == len(windows)
    for (n, c), (place, covered) in itertools.product(itertools.product(range(2), range(3)), windows):
        here = [p for p in covered if all(0 <= q < e for q, e in zip(p, x.shape[2:], strict=True))]
        padded = [p for p in covered if all(q < e + h for q, e, h in zip(p, x.shape[2:], high, strict=True))]
        values = np.array([x[(n, c, *p)] for p in here])
        assert largest[(n, c, *place)] == values.max()
        assert x.reshape(-1)[where[(n, c, *place)]] == values.max()
        np.testing.assert_allclose(mean[(n, c, *place)], values.sum() / len(padded if include else here), atol=1e-6)
        np.testing.assert_allclose(norm[(n, c, *place)], (np.abs(values) ** 3).sum() ** (1 / 3), rtol=1e-5)


@pytest.mark.parametrize(("auto", "want"), [("SAME_LOWER", [0, 1, 2]), ("SAME_UPPER", [1, 2, 2])])
def test_padding_to_the_same_size(auto: str, want: list[int]) -> None:
    x = np.arange(3, dtype=np.float32).reshape(1, 1, 3)
    (result,) = _run(_model("MaxPool", [3], kernel_shape=[2], auto_pad=auto), x)
    assert result.reshape(-1).tolist() == want


def test_maximum_of_bfloat16() -> None:
    x = np.array([[[3, -1, -2, -5]]], ml_dtypes.bfloat16)
    (result,) = _run(_model("MaxPool", [3], kernel_shape=[3], pads=[1, 1]), x)
    assert result.dtype == x.dtype and result.tolist() == [[[3, 3, -1, -2]]]


@pytest.mark.parametrize("shape", [(2, 3, 5), (2, 3, 4, 5), (1, 2, 3, 4, 5)])
def test_global_maximum(shape: tuple[int, ...]) -> None:
    x = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
    (result,) = _run(_model("GlobalMaxPool", [x.ndim]), x)
    np.testing.assert_array_equal(result.reshape(shape[:2]), x.reshape(*shape[:2], -1).max(-1))


def test_norm_of_order_1() -> None:
    x = np.array([[1, -3], [0, 0]], np.float32)
    (result,) = _run(_model("LpNormalization", [2], p=1, axis=1), x)
    np.testing.assert_array_equal(result, np.array([[0.25, -0.75], [0, 0]], np.float32))


def test_mean_of_operands_that_broadcast() -> None:
    x, y = np.ones(3, np.float32), np.full((2, 3), 3, np.float32)
    (result,) = _run(_model("Mean", [1, 2]), x, y)
    np.testing.assert_array_equal(result, np.full((2, 3), 2, np.float32))


def test_pads_that_cut() -> None:
    x = np.arange(12, dtype=np.float32).reshape(3, 4)
    (result,) = _run(_model("Pad", [2], {"pads": np.array([-1, 1, 0, -2])}), x)
    np.testing.assert_array_equal(result, np.pad(x[1:, :2], ((0, 0), (1, 0))))


def test_who_judged(monkeypatch: pytest.MonkeyPatch) -> None:
    """ONNX Runtime where it is there and runs the model, else the evaluator with what is corrected."""
    model = _model("GlobalMaxPool", [3])
    x = np.ones((1, 2, 3), np.float32)
    values = {"x0": x}
    monkeypatch.setattr("mnc.reference.allowances", lambda *_: {"y": Allowance(0.0, np.zeros((1, 2, 1), bool))})
    assert corrected_operators(model) == ["GlobalMaxPool"]
    name, (row,) = judge(model, {"y": np.ones((1, 2, 1), np.float32)}, values, "single")
    assert row.passed and (name.endswith("GlobalMaxPool corrected") or name.startswith("ONNX Runtime"))
    level = types.SimpleNamespace(ORT_DISABLE_ALL=0)
    other = types.SimpleNamespace(
        __version__="0", SessionOptions=types.SimpleNamespace, GraphOptimizationLevel=level,
        InferenceSession=lambda *_, **__: types.SimpleNamespace(
            get_inputs=lambda: [types.SimpleNamespace(name="x0")], run=lambda names, given: [given["x0"][..., :1] * 5]),
    )  # fmt: skip
    monkeypatch.setitem(sys.modules, "onnxruntime", other)  # pyright: ignore[reportArgumentType]
    monkeypatch.setattr("importlib.util.find_spec", lambda _: other)
    name, (row,) = judge(model, {"y": np.ones((1, 2, 1), np.float32)}, values, "single")
    assert name == "ONNX Runtime 0" and not row.passed
