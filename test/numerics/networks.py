"""Small networks of the usual architectures, with seeded random weights scaled after He."""

from collections.abc import Sequence

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper


class NetworkBuilder:
    """An ONNX graph under construction; every method adds nodes and returns the name of the result."""

    def __init__(self, seed: int = 0) -> None:
        self.rng = np.random.default_rng(seed)
        self.nodes: list[onnx.NodeProto] = []
        self.initializers: list[onnx.TensorProto] = []

    def weight(self, *shape: int, fan_in: int = 0) -> str:
        """A random tensor with variance 2 / fan_in (0: 0.01)."""
        scale = np.sqrt(2 / fan_in) if fan_in else 0.1
        return self.constant((self.rng.standard_normal(shape) * scale).astype(np.float32))

    def constant(self, value: np.ndarray) -> str:
        name = f"w{len(self.initializers)}"
        self.initializers.append(numpy_helper.from_array(np.asarray(value), name))
        return name

    def node(self, operator: str, *inputs: str, **attributes: object) -> str:
        name = f"{operator.lower()}{len(self.nodes)}"
        self.nodes.append(helper.make_node(operator, list(inputs), [name], name=name, **attributes))
        return name

    def conv(self, x: str, channels: tuple[int, int], kernel: int, stride: int = 1, group: int = 1) -> str:
        """A convolution with bias that keeps the extents but for the stride."""
        inputs, outputs = channels
        w = self.weight(outputs, inputs // group, kernel, kernel, fan_in=inputs // group * kernel * kernel)
        attributes = {"kernel_shape": [kernel] * 2, "strides": [stride] * 2, "pads": [kernel // 2] * 4, "group": group}
        return self.node("Conv", x, w, self.weight(outputs), **attributes)

    def relu(self, x: str) -> str:
        return self.node("Relu", x)

    def dense(self, x: str, inputs: int, outputs: int) -> str:
        """x @ W + b on the last dimension."""
        product = self.node("MatMul", x, self.weight(inputs, outputs, fan_in=inputs))
        return self.node("Add", product, self.weight(outputs))

    def layer_norm(self, x: str, width: int) -> str:
        ones = self.constant(np.ones(width, np.float32) + 0.1 * self.rng.standard_normal(width).astype(np.float32))
        return self.node("LayerNormalization", x, ones, self.weight(width), axis=-1)

    def attention(self, x: str, tokens: int, width: int, heads: int, *, causal: bool) -> str:
        """Multi-head self-attention on [1, tokens, width], heads as a batch of matrix products."""
        split = self.constant(np.array([1, tokens, heads, width // heads], np.int64))
        parts = []
        for order in ([0, 2, 1, 3], [0, 2, 3, 1], [0, 2, 1, 3]):  # queries, keys (turned), values
            projected = self.node("Reshape", self.dense(x, width, width), split)
            parts.append(self.node("Transpose", projected, perm=order))
        scale = self.constant(np.float32(1 / np.sqrt(width // heads)))
        scores = self.node("Mul", self.node("MatMul", parts[0], parts[1]), scale)
        if causal:
            mask = np.triu(np.full((tokens, tokens), -1e4, np.float32), 1)
            scores = self.node("Add", scores, self.constant(mask))
        mixed = self.node("MatMul", self.node("Softmax", scores, axis=-1), parts[2])
        joined = self.node("Transpose", mixed, perm=[0, 2, 1, 3])
        joined = self.node("Reshape", joined, self.constant(np.array([1, tokens, width], np.int64)))
        return self.dense(joined, width, width)

    def gelu(self, x: str) -> str:
        """x / 2 * (1 + erf(x / sqrt 2)) out of primitive operators."""
        root = self.constant(np.float32(np.sqrt(2.0)))
        error = self.node("Erf", self.node("Div", x, root))
        grown = self.node("Mul", x, self.node("Add", error, self.constant(np.float32(1))))
        return self.node("Mul", grown, self.constant(np.float32(0.5)))

    def transformer_block(self, x: str, tokens: int, width: int, heads: int, *, causal: bool) -> str:
        """Normalisation before attention and before the two-layer perceptron, each with a residual."""
        attended = self.attention(self.layer_norm(x, width), tokens, width, heads, causal=causal)
        x = self.node("Add", x, attended)
        hidden = self.gelu(self.dense(self.layer_norm(x, width), width, 4 * width))
        return self.node("Add", x, self.dense(hidden, 4 * width, width))

    def model(self, shape: Sequence[int], output: str, element: int = TensorProto.FLOAT) -> onnx.ModelProto:
        """The finished model with the input `x`; output shapes are inferred."""
        entry = helper.make_tensor_value_info("x", element, list(shape))
        result = helper.make_tensor_value_info(output, TensorProto.FLOAT, None)
        graph = helper.make_graph(self.nodes, "network", [entry], [result], self.initializers)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
        model = onnx.shape_inference.infer_shapes(model, strict_mode=True, data_prop=True)
        onnx.checker.check_model(model)
        return model


def gpt(tokens: int, width: int, heads: int, layers: int, vocabulary: int) -> onnx.ModelProto:
    """Embeddings, causal blocks, logits: tokens [1, tokens] of int64 to [1, tokens, vocabulary]."""
    b = NetworkBuilder()
    x = b.node("Gather", b.weight(vocabulary, width), "x", axis=0)
    x = b.node("Add", x, b.weight(1, tokens, width))
    for _ in range(layers):
        x = b.transformer_block(x, tokens, width, heads, causal=True)
    logits = b.node("MatMul", b.layer_norm(x, width), b.weight(width, vocabulary, fan_in=width))
    return b.model([1, tokens], logits, TensorProto.INT64)


def vit(image: int, patch: int, width: int, heads: int, layers: int, classes: int) -> onnx.ModelProto:
    """Patches by a strided convolution, a class token, blocks, logits of the class token."""
    b = NetworkBuilder()
    count = (image // patch) ** 2
    w = b.weight(width, 3, patch, patch, fan_in=3 * patch * patch)
    x = b.node("Conv", "x", w, b.weight(width), strides=[patch] * 2, kernel_shape=[patch] * 2)
    x = b.node("Transpose", b.node("Reshape", x, b.constant(np.array([1, width, count], np.int64))), perm=[0, 2, 1])
    x = b.node("Concat", b.weight(1, 1, width), x, axis=1)
    x = b.node("Add", x, b.weight(1, count + 1, width))
    for _ in range(layers):
        x = b.transformer_block(x, count + 1, width, heads, causal=False)
    first = b.node("Gather", b.layer_norm(x, width), b.constant(np.array(0, np.int64)), axis=1)
    return b.model([1, 3, image, image], b.dense(first, width, classes))


def convolutional_classifier(batch: int, channels: tuple[int, int], classes: int) -> onnx.ModelProto:
    """For images of 8 x 8: conv, relu, max pooling, conv, relu, gemm."""
    b = NetworkBuilder()
    first, second = channels
    x = b.relu(b.conv("x", (1, first), 3))
    x = b.node("MaxPool", x, kernel_shape=[2, 2], strides=[2, 2])
    x = b.node("Flatten", b.relu(b.conv(x, (first, second), 3)))
    w = b.weight(16 * second, classes, fan_in=16 * second)
    return b.model([batch, 1, 8, 8], b.node("Gemm", x, w, b.weight(classes)))


def residual_network(image: int, width: int, blocks: Sequence[int], classes: int) -> onnx.ModelProto:
    """ResNet of basic blocks without batch normalisation; stage i has width * 2**i channels."""
    b = NetworkBuilder()
    x = b.relu(b.conv("x", (3, width), 7, 2))
    x = b.node("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
    inputs = width
    for stage, count in enumerate(blocks):
        outputs = width << stage
        for block in range(count):
            stride = 2 if stage > 0 and block == 0 else 1
            inner = b.conv(b.relu(b.conv(x, (inputs, outputs), 3, stride)), (outputs, outputs), 3)
            shortcut = x if inputs == outputs else b.conv(x, (inputs, outputs), 1, stride)
            x = b.relu(b.node("Add", inner, shortcut))
            inputs = outputs
    x = b.node("Flatten", b.node("GlobalAveragePool", x))
    return b.model([1, 3, image, image], b.node("Gemm", x, b.weight(inputs, classes, fan_in=inputs), b.weight(classes)))
