"""Models to train that need no file: perceptrons and a small convolutional network, as ONNX with seeded weights."""

import itertools
import re
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from mnc.core.diagnostics import CompileError
from mnc.input_checks import check_seed

OPSET = 17
CHANNELS = (8, 16)
_FORMS = "mlp:64-32-10, cnn, or the path of an ONNX file"


def _uniform(rng: np.random.Generator, fan_in: int, *shape: int) -> np.ndarray:
    """Uniform in +-1 / sqrt(fan_in)."""
    bound = fan_in**-0.5
    return rng.uniform(-bound, bound, shape).astype(np.float32)


class _Builder:
    """Collects nodes and initializers; every method returns the name of its result."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.nodes: list[onnx.NodeProto] = []
        self.initializers: list[onnx.TensorProto] = []

    def node(self, op_type: str, inputs: list[str], name: str, **attributes: Any) -> str:
        self.nodes.append(helper.make_node(op_type, inputs, [f"{name}_out"], name=name, **attributes))
        return f"{name}_out"

    def weights(self, layer: str, fan_in: int, shape: tuple[int, ...]) -> list[str]:
        """Weight and bias of a layer; the first extent of the weight is the number of outputs."""
        values = {"weight": _uniform(self.rng, fan_in, *shape), "bias": _uniform(self.rng, fan_in, shape[0])}
        self.initializers += [numpy_helper.from_array(value, f"{layer}.{key}") for key, value in values.items()]
        return [f"{layer}.{key}" for key in values]

    def dense(self, value: str, layer: str, inputs: int, outputs: int) -> str:
        return self.node("Gemm", [value, *self.weights(layer, inputs, (outputs, inputs))], layer, transB=1)

    def model(self, shape: list[int], result: str, classes: int) -> onnx.ModelProto:
        entry = helper.make_tensor_value_info("image", TensorProto.FLOAT, ["batch", *shape])
        self.nodes[-1].output[0] = "logits"
        logits = helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["batch", classes])
        graph = helper.make_graph(self.nodes, "network", [entry], [logits], self.initializers)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=9)
        onnx.checker.check_model(model)
        return model


def perceptron(widths: list[int], seed: int = 0) -> onnx.ModelProto:
    """Gemm layers of these widths with ReLU between them: image [batch, widths[0]] to logits [batch, widths[-1]]."""
    builder, current = _Builder(seed), "image"
    for i, (inputs, outputs) in enumerate(itertools.pairwise(widths)):
        current = builder.dense(current, f"layer{i}", inputs, outputs)
        if i < len(widths) - 2:
            current = builder.node("Relu", [current], f"relu{i}")
    return builder.model([widths[0]], current, widths[-1])


def convolutional(side: int, classes: int = 10, seed: int = 0) -> onnx.ModelProto:
    """Two times 3x3 convolution, ReLU and 2x2 max pooling, then a dense layer: image [batch, 1, side, side]."""
    if side < 4:
        raise CompileError(f"the network 'cnn' needs images of at least 4x4 pixels, not {side}x{side}")
    builder, current, before, extent = _Builder(seed), "image", 1, side
    for i, channels in enumerate(CHANNELS):
        names = builder.weights(f"conv{i}", 9 * before, (channels, before, 3, 3))
        current = builder.node("Conv", [current, *names], f"conv{i}", kernel_shape=[3, 3], pads=[1, 1, 1, 1])
        current = builder.node("Relu", [current], f"relu{i}")
        current = builder.node("MaxPool", [current], f"pool{i}", kernel_shape=[2, 2], strides=[2, 2])
        before, extent = channels, extent // 2
    current = builder.node("Flatten", [current], "flatten", axis=1)
    current = builder.dense(current, "dense", before * extent * extent, classes)
    return builder.model([1, side, side], current, classes)


def widths_of(text: str) -> list[int] | None:
    """Widths of ``mlp:64-32-10``; None for another form.

    Raises:
        CompileError: the text starts with ``mlp:`` but names no widths.
    """
    if not text.startswith("mlp:"):
        return None
    if not re.fullmatch(r"[1-9]\d*(-[1-9]\d*)+", text[4:]):
        raise CompileError(f"'{text}' is no perceptron", hint="write the widths, for example mlp:64-32-10")
    return [int(width) for width in text[4:].split("-")]


def make_model(text: str, side: int, classes: int = 10, seed: int = 0) -> onnx.ModelProto:
    """The model that ``mlp:...``, ``cnn`` or a path names.

    Raises:
        CompileError: neither a known form nor a readable ONNX file.
    """
    if not isinstance(text, str):
        raise CompileError(f"the model is a value of type {type(text).__name__}", hint=f"give {_FORMS}")
    check_seed(seed)
    widths = widths_of(text)
    if widths is not None:
        return perceptron(widths, seed)
    if text == "cnn":
        return convolutional(side, classes, seed)
    from mnc.lowering.onnx_to_graph.onnx_file import read_proto

    if not Path(text).exists():
        raise CompileError(f"there is no model '{text}'", hint=f"give {_FORMS}")
    return read_proto(text)
