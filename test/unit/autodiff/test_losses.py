"""Losses and their gradients, and the optimizers of the training domain, against their definitions."""

from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper
from onnx.reference import ReferenceEvaluator

from mnc.core.context import make_context
from mnc.core.diagnostics import CompileError
from mnc.lowering.onnx_to_graph import import_model
from mnc.passes.autodiff.graph_autodiff import GraphAutodiff
from mnc.passes.graph.evaluate import evaluate

TRAINING = "ai.onnx.preview.training"
CASES = [
    ("Momentum", 1, {"alpha": 0.95, "beta": 0.85, "norm_coefficient": 0.001, "mode": "standard"}),
    ("Momentum", 1, {"alpha": 0.95, "beta": 1.0, "norm_coefficient": 0.01, "mode": "nesterov"}),
    ("Adagrad", 1, {"norm_coefficient": 0.001, "epsilon": 1e-5, "decay_factor": 0.1}),
    ("Adam", 2, {"norm_coefficient": 0.001, "alpha": 0.95, "beta": 0.85, "epsilon": 1e-2}),
    ("Adam", 2, {"norm_coefficient_post": 0.1, "alpha": 0.5, "beta": 0.75}),
]


@pytest.mark.parametrize("steps", [0, 3])
@pytest.mark.parametrize("tensors", [1, 2])
@pytest.mark.parametrize(("operator", "states", "attributes"), CASES)
def test_training_operators(operator: str, states: int, attributes: dict[str, Any], tensors: int, steps: int) -> None:
    """Against the reference implementation, in the first step and later, with one tensor and several."""
    rng = np.random.default_rng(7)
    feeds = {"r": np.float32(0.1), "t": np.int64(steps)}
    for group in ("x", "g", "v", "h")[: 2 + states]:
        for i in range(tensors):
            feeds[f"{group}{i}"] = np.abs(rng.standard_normal((2, 3 + i))).astype(np.float32)
    outputs = [f"{group}{i}_new" for group in ("x", "v", "h")[: 1 + states] for i in range(tensors)]
    node = helper.make_node(operator, list(feeds), outputs, domain=TRAINING, **attributes)
    values = [helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(v.dtype), v.shape)
              for n, v in feeds.items()]  # fmt: skip
    results = [helper.make_tensor_value_info(n, 1, [2, 3 + int(n[1])]) for n in outputs]
    graph = helper.make_graph([node], "update", values, results)
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid(TRAINING, 1)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=9)
    found = evaluate(import_model(model, make_context(["graph"])), {n: np.asarray(v) for n, v in feeds.items()})
    wanted: Any = ReferenceEvaluator(model).run(None, feeds)
    for name, got, want in zip(outputs, found, wanted, strict=True):
        np.testing.assert_allclose(got, want, rtol=2e-6, err_msg=name)


def _loss_model(shape: list[int], **attributes: Any) -> onnx.ModelProto:
    weighted = attributes.pop("weighted")
    labels = [shape[0], *shape[2:]]
    inputs = [helper.make_tensor_value_info("x", 11, shape), helper.make_tensor_value_info("t", 6, labels)]
    names = ["x", "t"]
    if weighted:
        inputs.append(helper.make_tensor_value_info("w", 11, [shape[1]]))
        names.append("w")
    node = helper.make_node("SoftmaxCrossEntropyLoss", names, ["l"], **attributes)
    graph = helper.make_graph([node], "loss", inputs, [helper.make_tensor_value_info("l", 11, [])])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("ignore", [None, 2, -1, 9])
@pytest.mark.parametrize("reduction", ["mean", "sum"])
@pytest.mark.parametrize("shape", [[5, 4], [2, 3, 2, 2]])
def test_loss_and_gradient(shape: list[int], reduction: str, ignore: int | None, weighted: bool) -> None:
    """Value against the reference, gradient against central differences of the reference."""
    attributes = {"reduction": reduction, **({} if ignore is None else {"ignore_index": ignore})}
    model = _loss_model(shape, weighted=weighted, **attributes)
    rng = np.random.default_rng(3)
    labels = rng.integers(0, shape[1], [shape[0], *shape[2:]]).astype(np.int32)
    if ignore is not None:
        labels.reshape(-1)[0] = ignore
    x = rng.standard_normal(shape)
    feeds = {"x": x, "t": labels, **({"w": rng.uniform(0.5, 2, shape[1])} if weighted else {})}

    def reference(x: np.ndarray) -> float:
        return float(_reference_loss(x, labels, feeds.get("w"), ignore, reduction))

    module = import_model(model, make_context(["graph"]))
    GraphAutodiff(parameters=("x",)).run(module)
    loss, gradient = evaluate(module, feeds)
    np.testing.assert_allclose(loss, reference(x), rtol=1e-12)
    for place in np.ndindex(*shape):
        step = np.zeros(shape)
        step[place] = 1e-6
        difference = (reference(x + step) - reference(x - step)) / 2e-6
        assert abs(difference - gradient[place]) < 1e-7


def _reference_loss(x, labels, weights, ignore, reduction):
    total = mass = 0.0
    for place in np.ndindex(labels.shape):
        label = labels[place]
        if label == ignore:
            continue
        scores = x[(place[0], slice(None), *place[1:])]
        weight = 1.0 if weights is None else weights[label]
        total -= weight * (scores[label] - np.log(np.exp(scores).sum()))
        mass += weight
    return total / mass if reduction == "mean" else total


def test_labels_that_do_not_fit() -> None:
    model = _loss_model([5, 4], weighted=False)
    del model.graph.input[1].type.tensor_type.shape.dim[:]
    model.graph.input[1].type.tensor_type.shape.dim.add().dim_value = 6
    with pytest.raises(CompileError):
        import_model(model, make_context(["graph"]))


def test_reference_agrees() -> None:
    """The loss above is that of ONNX."""
    model = _loss_model([5, 4], weighted=True, reduction="mean")
    rng = np.random.default_rng(0)
    x, t, w = rng.standard_normal((5, 4)), rng.integers(0, 4, 5).astype(np.int32), rng.uniform(0.5, 2, 4)
    outputs: Any = ReferenceEvaluator(model).run(None, {"x": x, "t": t, "w": w})
    np.testing.assert_allclose(_reference_loss(x, t, w, None, "mean"), outputs[0], rtol=1e-12)
