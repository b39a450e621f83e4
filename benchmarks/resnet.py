"""ResNet-18 (He et al. 2016) for images of 64 x 64 as an ONNX graph with seeded He-scaled weights."""

from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

BLOCKS = (2, 2, 2, 2)
WIDTH = 64
CLASSES = 1000


class _Graph:
    """Nodes and weights under construction; every method returns the name of what it made."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.nodes: list[onnx.NodeProto] = []
        self.weights: list[onnx.TensorProto] = []

    def weight(self, name: str, value: np.ndarray) -> str:
        self.weights.append(numpy_helper.from_array(value.astype(np.float32), name))
        return name

    def noise(self, name: str, *shape: int, around: float = 0.0, spread: float = 0.1) -> str:
        return self.weight(name, around + spread * self.rng.standard_normal(shape))

    def node(self, operator: str, name: str, *inputs: str, **attributes: Any) -> str:
        self.nodes.append(helper.make_node(operator, list(inputs), [name], name=name, **attributes))
        return name

    def conv(self, name: str, x: str, channels: tuple[int, int], kernel: int, stride: int = 1) -> str:
        """A convolution without bias, then batch normalization with the statistics of training."""
        inputs, outputs = channels
        shape = (outputs, inputs, kernel, kernel)
        spread = float(np.sqrt(2 / (inputs * kernel * kernel)))
        w = self.noise(f"{name}.weight", *shape, spread=spread)
        pads = [kernel // 2] * 4
        x = self.node("Conv", name, x, w, kernel_shape=[kernel] * 2, strides=[stride] * 2, pads=pads)
        scale = self.weight(f"{name}.scale", np.abs(1 + 0.1 * self.rng.standard_normal(outputs)))
        variance = self.weight(f"{name}.variance", np.abs(1 + 0.1 * self.rng.standard_normal(outputs)))
        shift, mean = self.noise(f"{name}.shift", outputs), self.noise(f"{name}.mean", outputs)
        return self.node("BatchNormalization", f"{name}.normalized", x, scale, shift, mean, variance)

    def block(self, name: str, x: str, channels: tuple[int, int], stride: int) -> str:
        """Two convolutions of 3 x 3 beside the identity, or beside a convolution of 1 x 1 where the shape changes."""
        outputs = channels[1]
        first = self.node("Relu", f"{name}.relu1", self.conv(f"{name}.conv1", x, channels, 3, stride))
        second = self.conv(f"{name}.conv2", first, (outputs, outputs), 3)
        changes = stride > 1 or channels[0] != outputs
        shortcut = self.conv(f"{name}.shortcut", x, channels, 1, stride) if changes else x
        return self.node("Relu", f"{name}.relu2", self.node("Add", f"{name}.sum", second, shortcut))


def resnet18(image: int = 64, seed: int = 0) -> onnx.ModelProto:
    """Images [1, 3, image, image] to logits [1, 1000]: 18 layers with weights, BatchNormalization after every
    convolution."""
    g = _Graph(seed)
    x = g.node("Relu", "relu", g.conv("conv", "image", (3, WIDTH), 7, 2))
    x = g.node("MaxPool", "pool", x, kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
    width = WIDTH
    for stage, count in enumerate(BLOCKS):
        for number in range(count):
            stride = 2 if stage and not number else 1
            outputs = WIDTH << stage
            x = g.block(f"stage{stage}.{number}", x, (width, outputs), stride)
            width = outputs
    x = g.node("Flatten", "features", g.node("GlobalAveragePool", "mean", x))
    w = g.noise("classifier.weight", CLASSES, width, spread=float(np.sqrt(1 / width)))
    g.node("Gemm", "logits", x, w, g.noise("classifier.bias", CLASSES), transB=1)
    entry = helper.make_tensor_value_info("image", TensorProto.FLOAT, [1, 3, image, image])
    result = helper.make_tensor_value_info("logits", TensorProto.FLOAT, [1, CLASSES])
    graph = helper.make_graph(g.nodes, "resnet18", [entry], [result], g.weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(model)
    return model
