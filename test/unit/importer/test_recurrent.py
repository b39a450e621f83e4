"""LSTM and GRU with what the node tests leave out: lengths of sequences, clipping, coupled gates, both directions."""

import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from mnc.core.context import make_context
from mnc.core.diagnostics import CompileError
from mnc.lowering.onnx_to_graph import import_model

sys.path.insert(0, str(Path(__file__).parent))
from numpy_graph import evaluate

LENGTH, BATCH, INPUT, HIDDEN = 5, 3, 4, 2


def _model(op_type: str, weights: dict[str, np.ndarray], outputs: int, **attributes: Any) -> onnx.ModelProto:
    names = ["x", "w", "r", "b", "lengths"]
    results = [f"y{i}" for i in range(outputs)]
    node = helper.make_node(op_type, names, results, hidden_size=HIDDEN, **attributes)
    entries = [helper.make_tensor_value_info("x", TensorProto.FLOAT, [LENGTH, BATCH, INPUT]),
               helper.make_tensor_value_info("lengths", TensorProto.INT32, [BATCH])]  # fmt: skip
    ranks = [4, 3, 3]
    infos = [
        helper.make_tensor_value_info(n, TensorProto.FLOAT, [None] * r) for n, r in zip(results, ranks, strict=False)
    ]
    stored = [numpy_helper.from_array(value, name) for name, value in weights.items()]
    graph = helper.make_graph([node], "recurrent", entries, infos, stored)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 22)], ir_version=10)


def _weights(directions: int, gates: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(gates)
    shapes = {"w": (gates * HIDDEN, INPUT), "r": (gates * HIDDEN, HIDDEN), "b": (2 * gates * HIDDEN,)}
    return {name: rng.standard_normal((directions, *shape)).astype(np.float32) for name, shape in shapes.items()}


def _sigmoid(v: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-v))


def _lstm(
    x: np.ndarray, w: np.ndarray, r: np.ndarray, b: np.ndarray, clip: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """One sequence of one sample; the forget gate is one minus the input gate."""
    h, c, rows = np.zeros(HIDDEN), np.zeros(HIDDEN), []
    for step in x:
        i, o, _, g = np.split(np.clip(w @ step + r @ h + b[: 4 * HIDDEN] + b[4 * HIDDEN :], -clip, clip), 4)
        c = (1 - _sigmoid(i)) * c + _sigmoid(i) * np.tanh(g)
        h = _sigmoid(o) * np.tanh(np.clip(c, -clip, clip))
        rows.append(h)
    return np.array(rows).reshape(-1, HIDDEN), h, c


def test_lstm_of_sequences_of_different_lengths_in_both_directions() -> None:
    weights = _weights(2, 4)
    x = np.random.default_rng(0).standard_normal((LENGTH, BATCH, INPUT)).astype(np.float32) * 2
    lengths = np.array([5, 0, 3], np.int32)
    model = _model("LSTM", weights, 3, direction="bidirectional", clip=0.75, input_forget=1)
    y, last, cell = evaluate(import_model(model, make_context(["graph"])), {"x": x, "lengths": lengths})
    for sample, length in enumerate(lengths):
        for direction in range(2):
            w, r, b = (weights[name][direction].astype(np.float64) for name in "wrb")
            sequence = x[:length, sample][:: -1 if direction else 1].astype(np.float64)
            rows, h, c = _lstm(sequence, w, r, b, 0.75)
            rows = rows[:: -1 if direction else 1]
            np.testing.assert_allclose(y[:length, direction, sample], rows, rtol=1e-5, atol=1e-6)
            assert (y[length:, direction, sample] == 0).all()
            np.testing.assert_allclose(last[direction, sample], h, rtol=1e-5, atol=1e-6)
            np.testing.assert_allclose(cell[direction, sample], c, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("before_reset", [0, 1])
def test_gru_with_both_places_of_the_reset(before_reset: int) -> None:
    weights = _weights(1, 3)
    x = np.random.default_rng(0).standard_normal((LENGTH, BATCH, INPUT)).astype(np.float32)
    model = _model("GRU", weights, 2, linear_before_reset=before_reset)
    y, last = evaluate(
        import_model(model, make_context(["graph"])), {"x": x, "lengths": np.full(BATCH, LENGTH, np.int32)}
    )
    w, r, b = (weights[name][0].astype(np.float64) for name in "wrb")
    wz, wr, wh, rz, rr, rh = (m for whole in (w, r) for m in np.split(whole, 3))
    bwz, bwr, bwh, brz, brr, brh = np.split(b, 6)
    h = np.zeros((BATCH, HIDDEN))
    for t in range(LENGTH):
        z = _sigmoid(x[t] @ wz.T + h @ rz.T + bwz + brz)
        reset = _sigmoid(x[t] @ wr.T + h @ rr.T + bwr + brr)
        inner = reset * (h @ rh.T + brh) if before_reset else (reset * h) @ rh.T + brh
        h = (1 - z) * np.tanh(x[t] @ wh.T + inner + bwh) + z * h
        np.testing.assert_allclose(y[t, 0], h, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(last[0], h, rtol=1e-5, atol=1e-6)


def test_unknown_activation_is_refused() -> None:
    model = _model("GRU", _weights(1, 3), 2, activations=["Affine", "Tanh"], activation_alpha=[2.0])
    with pytest.raises(CompileError, match="activation 'Affine'"):
        import_model(model, make_context(["graph"]))
