"""Models of equal layers, compiled as one layer that is repeated, on the strict emulator against the ONNX reference."""

from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import mnc
from mnc.accuracy.probable import error_bounds
from mnc.core.context import make_context
from mnc.core.modules import parts_of
from mnc.lowering.linalg_to_spmd.outline_layers import OutlineLayers
from mnc.lowering.onnx_to_graph.importer import import_model
from mnc.mncore_backend.codegen.host_ir import Kept, read_kept
from mnc.mncore_backend.codegen.trips import gap
from mnc.mncore_backend.layers.compile_layers import CompileLayers
from mnc.reference import evaluate
from mnc.stages import stage_pipeline


class Writer:
    """Writes a graph node by node, with weights of normal elements."""

    def __init__(self, seed: int = 0) -> None:
        self.rng = np.random.default_rng(seed)
        self.nodes: list[onnx.NodeProto] = []
        self.weights: list[onnx.TensorProto] = []

    def weight(self, *shape: int, scale: float = 0.3) -> str:
        name = f"w{len(self.weights)}"
        value = (scale * self.rng.standard_normal(shape)).astype(np.float32)
        self.weights.append(numpy_helper.from_array(value, name))
        return name

    def node(self, kind: str, *inputs: str, **attributes) -> str:
        name = f"{kind.lower()}{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, list(inputs), [name], name=name, **attributes))
        return name

    def model(self, inputs: dict[str, list[int]], result: str, shape: list[int]) -> onnx.ModelProto:
        self.nodes.append(helper.make_node("Identity", [result], ["y"], name="y"))
        infos = [helper.make_tensor_value_info(n, TensorProto.FLOAT, s) for n, s in inputs.items()]
        outputs = [helper.make_tensor_value_info("y", TensorProto.FLOAT, shape)]
        graph = helper.make_graph(self.nodes, "g", infos, outputs, self.weights)
        made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)
        onnx.checker.check_model(made)
        return made

    def dense(self, x: str, rows: int, columns: int) -> str:
        return self.node("Add", self.node("MatMul", x, self.weight(rows, columns)), self.weight(columns))


def perceptron() -> onnx.ModelProto:
    """Nothing before, a head behind."""
    w, x = Writer(), "x"
    for _ in range(5):
        x = w.node("Relu", w.dense(x, 40, 40))
    return w.model({"x": [24, 40]}, w.dense(x, 40, 10), [24, 10])


def masked_attention() -> onnx.ModelProto:
    """What is made before the layers and what is given are read by all of them; norms stand behind the sums."""
    w = Writer()
    bias = w.node("Mul", w.node("Sub", "mask", w.weight(1, scale=1.0)), w.weight(1, scale=3.0))
    x = w.dense("x", 12, 24)
    for _ in range(3):
        q, k, v = (w.dense(x, 24, 24) for _ in range(3))
        scores = w.node("Add", w.node("MatMul", q, w.node("Transpose", k, perm=[1, 0])), bias)
        mixed = w.node("MatMul", w.node("Softmax", scores, axis=-1), v)
        x = w.node("Add", x, w.node("Mul", w.dense(mixed, 24, 24), "gain"))
        x = w.node("LayerNormalization", x, w.weight(24), w.weight(24), axis=-1)
    return w.model({"x": [20, 12], "mask": [20, 20], "gain": [24]}, x, [20, 24])


def residual_blocks() -> onnx.ModelProto:
    """Convolutions with windows and padding; the stem has other extents."""
    w = Writer()
    x = w.node("Relu", w.node("Conv", "x", w.weight(8, 3, 3, 3), w.weight(8), pads=[1] * 4, strides=[2, 2]))
    for _ in range(4):
        a = w.node("Relu", w.node("Conv", x, w.weight(8, 8, 3, 3, scale=0.1), w.weight(8), pads=[1] * 4))
        b = w.node("Conv", a, w.weight(8, 8, 3, 3, scale=0.1), w.weight(8), pads=[1] * 4)
        x = w.node("Relu", w.node("Add", x, b))
    return w.model({"x": [1, 3, 24, 24]}, w.node("GlobalAveragePool", x), [1, 8, 1, 1])


def two_carried() -> onnx.ModelProto:
    """Two tensors go from layer to layer."""
    w, a, b = Writer(), "a", "b"
    for _ in range(7):
        a, b = w.node("Tanh", w.dense(b, 16, 16)), w.node("Add", a, b)
    return w.model({"a": [9, 16], "b": [9, 16]}, w.node("Mul", a, b), [9, 16])


def two_rows() -> onnx.ModelProto:
    """Nothing between the rows: what the first hands over goes on in the second."""
    w, x = Writer(), "x"
    for kind in ("Relu", "Tanh"):
        for _ in range(4):
            x = w.node(kind, w.dense(x, 40, 40))
    return w.model({"x": [24, 40]}, w.dense(x, 40, 10), [24, 10])


def attention(w: Writer, x: str, memory: str) -> str:
    """One head over a memory, added to what it is given."""
    q, k, v = w.dense(x, 24, 24), w.dense(memory, 24, 24), w.dense(memory, 24, 24)
    scores = w.node("Softmax", w.node("MatMul", q, w.node("Transpose", k, perm=[1, 0])), axis=-1)
    return w.node("Add", x, w.dense(w.node("MatMul", scores, v), 24, 24))


def encoder_and_decoder(*, is_read_at_the_end: bool = False) -> onnx.ModelProto:
    """All layers of the second row read what the first row has made; and perhaps what comes after them, too."""
    w, x, y = Writer(), "x", "z"
    for _ in range(3):
        x = w.node("LayerNormalization", attention(w, x, x), w.weight(24), w.weight(24), axis=-1)
    for _ in range(3):
        y = attention(w, attention(w, y, y), x)
        y = w.node("LayerNormalization", y, w.weight(24), w.weight(24), axis=-1)
    if is_read_at_the_end:
        y = attention(w, y, x)
    return w.model({"x": [20, 24], "z": [12, 24]}, w.dense(y, 24, 7), [12, 7])


def stages() -> onnx.ModelProto:
    """Rows of blocks with fewer pixels and more channels each."""
    w, channels = Writer(), 8
    x = w.node("Relu", w.node("Conv", "x", w.weight(8, 3, 3, 3), w.weight(8), pads=[1] * 4))
    for wider, blocks in ((2, 3), (1, 6)):
        for _ in range(blocks):
            weights = w.weight(channels, channels, 3, 3, scale=0.1), w.weight(channels)
            x = w.node("Relu", w.node("Add", x, w.node("Conv", x, *weights, pads=[1] * 4)))
        if wider > 1:
            weights = w.weight(wider * channels, channels, 3, 3), w.weight(wider * channels)
            x, channels = w.node("Relu", w.node("Conv", x, *weights, pads=[1] * 4, strides=[2, 2])), wider * channels
    return w.model({"x": [1, 3, 16, 16]}, w.node("GlobalAveragePool", x), [1, channels, 1, 1])


def in_layers(options: mnc.Options) -> str:
    """The default pipeline, which looks for layers in short programs, too."""
    return str(mnc.default_pipeline(options)).replace("compile-layers(", "compile-layers{steps=0 percent=30}(")


ROWS = [two_rows, encoder_and_decoder, stages]


@pytest.mark.parametrize("make", [perceptron, masked_attention, residual_blocks, two_carried, *ROWS])
def test_layers(make) -> None:
    built = make()
    program = mnc.compile(built, pipeline=in_layers(mnc.Options(prefer=())))
    assert f"nop/{gap()}" in program.text.splitlines()
    inputs = program.random_inputs(seed=5)
    got, want = program.run(inputs), evaluate(built, ["y"], inputs)
    bounds = error_bounds(built, inputs, "pseudo-single")
    assert np.abs(got["y"] - want["y"]).max() <= bounds["y"]
    nodes = {name for names in program.line_nodes for name in names.split(" + ")} - {""}
    products = {node.name for node in built.graph.node if node.op_type in ("MatMul", "Conv")}
    assert products <= nodes  # lines of every layer name its own nodes
    constants = {tensor.name for tensor in program.tensors if tensor.role == "constant"}
    assert {weight.name for weight in built.graph.initializer if len(weight.dims) > 1} <= constants


@pytest.mark.parametrize("make", ROWS)
def test_each_row_of_layers_is_compiled_once(make) -> None:
    """What is between two rows finds what the first hands over, and puts what the second takes beside it."""
    made: list[dict[str, list[Kept]]] = []
    compiled = CompileLayers._compile

    def noted(self: CompileLayers, split: Any, **options: bool) -> None:
        compiled(self, split, **options)
        made.append({name: read_kept(part) for name, part in parts_of(split).items()})

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(CompileLayers, "_compile", noted)
        mnc.compile(make(), pipeline=in_layers(mnc.Options(prefer=())))
    (parts,) = made
    assert list(parts) == ["before", "layer.0", "between.1", "layer.1", "after"]
    places = [
        (kept.buffer.memory, kept.buffer.base + address)
        for kept in parts["between.1"] if kept.buffer.base is not None for address in range(kept.buffer.size)
    ]  # fmt: skip
    assert len(places) == len(set(places)) > 0


@pytest.mark.parametrize("is_read", [False, True])
def test_no_row_of_layers_is_made_twice(is_read: bool) -> None:
    """What comes after the second row finds nothing of the first: it would have to make that anew."""
    module = import_model(encoder_and_decoder(is_read_at_the_end=is_read), make_context())
    for stage in ("graph", "linalg"):
        stage_pipeline(stage, mnc.Options()).run(module)
    OutlineLayers(steps=0, percent=30).run(module)
    rows = ["layer"] if is_read else ["layer.0", "between.1", "layer.1"]
    assert list(parts_of(module)) == ["before", *rows, "after"]
