"""A classifier of handwritten digits: 1,797 real images of 8x8 pixels that come with scikit-learn, trained here."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from mnc.core.diagnostics import CompileError

PIXEL_MAXIMUM = 16.0


@dataclass(frozen=True)
class Digits:
    """Images [n, 64] in 0..1 and labels [n], split once by a seed."""

    train_images: np.ndarray
    train_labels: np.ndarray
    test_images: np.ndarray
    test_labels: np.ndarray


def load_digits(seed: int = 0, test_share: float = 0.2) -> Digits:
    """The data set, shuffled and split; raises CompileError without scikit-learn."""
    try:
        from sklearn import datasets
    except ImportError:
        raise CompileError("the digits need scikit-learn", hint="pip install 'mnc[demo]'") from None
    data: Any = datasets.load_digits()
    order = np.random.default_rng(seed).permutation(len(data.target))
    images = (data.data[order] / PIXEL_MAXIMUM).astype(np.float32)
    labels = data.target[order].astype(np.int64)
    cut = int(len(labels) * (1 - test_share))
    return Digits(images[:cut], labels[:cut], images[cut:], labels[cut:])


def train_classifier(
    digits: Digits, hidden: int, epochs: int, seed: int = 0
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Train a multilayer perceptron with one hidden layer; (weight [in, out], bias [out]) of its two layers."""
    from sklearn.neural_network import MLPClassifier

    model = MLPClassifier((hidden,), learning_rate_init=0.005, random_state=seed)
    for _ in range(epochs):
        model.partial_fit(digits.train_images, digits.train_labels, classes=np.arange(10))
    return [
        (w.astype(np.float32), b.astype(np.float32)) for w, b in zip(model.coefs_, model.intercepts_, strict=True)
    ]


def to_onnx(layers: list[tuple[np.ndarray, np.ndarray]], batch: int) -> onnx.ModelProto:
    """The classifier as an ONNX model: images [batch, in] to logits [batch, 10]."""
    nodes, initializers, current = [], [], "image"
    for i, (weight, bias) in enumerate(layers):
        initializers += [numpy_helper.from_array(weight, f"weight{i}"), numpy_helper.from_array(bias, f"bias{i}")]
        last = i == len(layers) - 1
        result = "logits" if last else f"hidden{i}"
        nodes.append(helper.make_node("Gemm", [current, f"weight{i}", f"bias{i}"], [result], name=f"layer{i}"))
        if not last:
            nodes.append(helper.make_node("Relu", [result], [f"active{i}"], name=f"relu{i}"))
        current = f"active{i}"
    shapes = ("image", [batch, layers[0][0].shape[0]]), ("logits", [batch, layers[-1][0].shape[1]])
    entry, result = (helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in shapes)
    graph = helper.make_graph(nodes, "digits", [entry], [result], initializers)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    onnx.checker.check_model(model)
    return model
