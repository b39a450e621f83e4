"""LSTM and GRU with what the node tests leave out: lengths of sequences, clipping, coupled gates, both directions."""

import re
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
from mnc.lowering.onnx_to_graph.evaluator import evaluator

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


@pytest.mark.parametrize(("op_type", "gates", "reset", "additions"), [
    ("RNN", 1, 0, 1), ("LSTM", 4, 0, 1), ("GRU", 3, 0, 1), ("GRU", 3, 1, 1 + LENGTH)])  # fmt: skip
def test_biases_are_added_for_all_steps_at_once_unless_a_reset_scales_one(
    op_type: str, gates: int, reset: int, additions: int
) -> None:
    attributes = {"linear_before_reset": 1} if reset else {}
    module = import_model(_model(op_type, _weights(1, gates), 2, **attributes), make_context(["graph"]))
    bias = rf"tensor<\d+x1x{HIDDEN}xf32>"
    found = re.findall(rf"graph\.add.*, {bias}\) -> (?!{bias})", module.operation.get_asm())
    assert len(found) == additions


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


FUNCTIONS = {
    "as they come": {},
    "of one number": {"names": ["LeakyRelu", "Elu", "ThresholdedRelu"], "activation_alpha": [0.3, 0.7, 0.2]},
    "of two numbers": {"names": ["HardSigmoid", "Affine", "ScaledTanh"], "activation_alpha": [0.3, 0.7, 0.6],
                       "activation_beta": [0.4, 0.1, 1.3]},
    "only the second number": {"names": ["HardSigmoid", "Softsign", "Relu"], "activation_beta": [0.25]},
}  # fmt: skip


@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
@pytest.mark.parametrize("which", FUNCTIONS)
@pytest.mark.parametrize(("op_type", "gates", "functions"), [("RNN", 1, 1), ("GRU", 3, 2), ("LSTM", 4, 3)])
def test_results_are_those_of_the_reference(
    op_type: str, gates: int, functions: int, which: str, direction: str
) -> None:
    """Both follow the definition: the importer with operations on tensors, the reference for one sequence alone."""
    attributes: dict[str, Any] = dict(FUNCTIONS[which])
    directions = 2 if direction == "bidirectional" else 1
    if names := attributes.pop("names", None):
        attributes["activations"] = names[:functions] * directions
    model = _model(op_type, _weights(directions, gates), 2, direction=direction, clip=1.5, **attributes)
    x = np.random.default_rng(0).standard_normal((LENGTH, BATCH, INPUT)).astype(np.float32)
    feeds = {"x": x, "lengths": np.array([5, 1, 3], np.int32)}
    wanted: Any = evaluator(model).run(None, feeds)
    found = evaluate(import_model(model, make_context(["graph"])), feeds)
    for value, want in zip(found, wanted, strict=True):
        np.testing.assert_allclose(value, want, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(("second", "together"), [("Sigmoid", True), ("Softsign", False)])
def test_directions_with_the_same_functions_run_together(second: str, together: bool) -> None:
    """One product for the input of all steps, and one for the state at every step: of both directions, or of each."""
    activations = ["Sigmoid", "Tanh", second, "Tanh"]
    model = _model("GRU", _weights(2, 3), 2, direction="bidirectional", linear_before_reset=1, activations=activations)
    module = import_model(model, make_context(["graph"]))
    assert str(module).count('"graph.matmul"') == (LENGTH + 1) * (1 if together else 2)
    x = np.random.default_rng(0).standard_normal((LENGTH, BATCH, INPUT)).astype(np.float32)
    feeds = {"x": x, "lengths": np.array([4, 5, 2], np.int32)}
    wanted: Any = evaluator(model).run(None, feeds)
    for value, want in zip(evaluate(module, feeds), wanted, strict=True):
        np.testing.assert_allclose(value, want, rtol=1e-5, atol=1e-6)


def test_a_hard_sigmoid_has_the_numbers_that_the_node_gives() -> None:
    model = _model("RNN", _weights(1, 1), 1, activations=["HardSigmoid"], activation_beta=[0.25])
    x = np.random.default_rng(0).standard_normal((LENGTH, BATCH, INPUT)).astype(np.float32)
    (y,) = evaluate(import_model(model, make_context(["graph"])), {"x": x, "lengths": np.full(BATCH, 1, np.int32)})
    w, b = (_weights(1, 1)[name][0] for name in "wb")
    np.testing.assert_allclose(y[0, 0], np.clip(0.2 * (x[0] @ w.T + b[:HIDDEN] + b[HIDDEN:]) + 0.25, 0, 1), rtol=1e-5)


@pytest.mark.parametrize(
    ("activations", "message"),
    [(["Gelu", "Tanh"], "activation 'Gelu' is not supported"), (["Tanh"], "1 activations are given, 2 are needed")],
)
def test_unknown_and_missing_activations_are_refused(activations: list[str], message: str) -> None:
    model = _model("GRU", _weights(1, 3), 2, activations=activations)
    with pytest.raises(CompileError, match=message):
        import_model(model, make_context(["graph"]))
