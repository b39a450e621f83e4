"""Whole networks against the ONNX reference evaluator: convolutions, pooling, attention, embeddings."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import onnx
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from onnx.reference import ReferenceEvaluator

import mnc
from benchmarks.small_operations import cell
from mnc.accuracy.probable import error_bounds
from mnc.digits import load_digits
from mnc.options import Options
from mnc.reference import compare, random_inputs
from mnc.stages import Pipeline

from .networks import NetworkBuilder, convolutional_classifier, gpt, residual_network, vit

USEFUL = 2.0**-7
"""A bound that is larger, relative to the largest output, would let wrong results pass."""


def check(model: onnx.ModelProto, x: np.ndarray) -> np.ndarray:
    """Compile and run; every output must agree with the reference. Returns the first."""
    return agree(model, x, mnc.compile(model).run({"x": x}))


def agree(model: onnx.ModelProto, x: np.ndarray, got: Mapping[str, np.ndarray]) -> np.ndarray:
    """Every output is within what rounding explains, and that is little. Returns the first."""
    bounds = error_bounds(model, {"x": x}, Options().precision)
    names = [value.name for value in model.graph.output]
    results: Any = ReferenceEvaluator(model).run(names, {"x": x})
    for name, want in zip(names, map(np.asarray, results), strict=True):
        assert got[name].shape == want.shape
        assert np.abs(got[name] - want).max() <= bounds[name] <= USEFUL * np.abs(want).max()
    return got[names[0]]


def image(*shape: int) -> np.ndarray:
    return np.random.default_rng(1).standard_normal(shape).astype(np.float32)


def convolution(channels: tuple[int, int], extents: tuple[int, int], **attributes: object) -> onnx.ModelProto:
    """One convolution; `attributes` are those of ONNX."""
    b = NetworkBuilder()
    inputs, outputs = channels
    kernel, group = attributes["kernel_shape"], attributes.get("group", 1)
    assert isinstance(kernel, list) and isinstance(group, int)
    fan_in = inputs // group * int(np.prod(kernel))
    w = b.weight(outputs, inputs // group, *kernel, fan_in=fan_in)
    return b.model([1, inputs, *extents], b.node("Conv", "x", w, b.weight(outputs), **attributes))


@settings(max_examples=8)
@given(
    st.tuples(st.integers(1, 20), st.integers(1, 20)),
    st.tuples(st.integers(1, 3), st.integers(1, 3)),
    st.tuples(st.integers(1, 2), st.integers(1, 2)),
    st.tuples(st.integers(1, 2), st.integers(1, 2)),
    st.tuples(st.integers(0, 1), st.integers(0, 2), st.integers(0, 2), st.integers(0, 1)),
    st.tuples(st.integers(7, 19), st.integers(7, 19)),
)
@example((16, 8), (3, 3), (1, 1), (1, 1), (1, 1, 1, 1), (32, 32))  # more rows than places on any one axis
@example((3, 8), (3, 2), (2, 1), (1, 2), (1, 0, 0, 1), (17, 13))
def test_random_convolutions(channels, kernel, strides, dilations, pads, extents) -> None:
    model = convolution(
        channels, extents, kernel_shape=list(kernel), strides=list(strides), dilations=list(dilations), pads=list(pads)
    )
    check(model, image(1, channels[0], *extents))


@pytest.mark.parametrize(("channels", "group"), [((16, 16), 16), ((5, 10), 5), ((12, 8), 4)])
def test_grouped_convolutions(channels: tuple[int, int], group: int) -> None:
    model = convolution(channels, (9, 11), kernel_shape=[3, 3], pads=[1, 1, 1, 1], group=group, strides=[2, 1])
    check(model, image(1, channels[0], 9, 11))


def test_channels_are_shuffled_between_grouped_convolutions() -> None:
    """Groups whose channels are no multiple of a vector: lanes move inside the MABs, rows stay where they are."""
    b = NetworkBuilder()
    x = b.relu(b.conv(b.conv("x", (3, 8), 3), (8, 20), 1, group=2))
    split = b.node("Reshape", x, b.constant(np.array([1, 2, 10, 19, 17], np.int64)))
    turned = b.node("Transpose", split, perm=[0, 2, 1, 3, 4])
    x = b.node("Reshape", turned, b.constant(np.array([1, 20, 19, 17], np.int64)))
    x = b.conv(b.conv(x, (20, 20), 3, stride=2, group=20), (20, 12), 1, group=2)
    check(b.model([1, 3, 19, 17], x), image(1, 3, 19, 17))


def with_constants_in_parts(whole: int) -> Pipeline:
    """The default pipeline, where a constant factor may take `whole` long words of a PE."""
    text = str(mnc.default_pipeline({"effort": "normal"}))
    assert "assign-layouts" in text
    return Pipeline.parse(text.replace("assign-layouts", f"assign-layouts{{whole={whole}}}"))


@pytest.mark.parametrize("whole", [2, 8])
def test_constants_larger_than_local_memory_come_in_parts(whole: int) -> None:
    b = NetworkBuilder()
    model = b.model([3, 400], b.relu(b.dense("x", 400, 600)))
    program = mnc.compile(model, pipeline=with_constants_in_parts(whole))
    x = image(3, 400)
    agree(model, x, program.run({"x": x}))
    parts = [tensor for tensor in program.tensors if "[part" in tensor.name]
    assert len(parts) > 1 and sum(part.value.size for part in parts if part.value is not None) >= 400 * 600


@pytest.mark.parametrize("whole", [16, 60])
def test_weights_of_convolutions_come_in_parts(whole: int) -> None:
    """Parts of the channels, of the rows and columns of the window, of the results: none changes where the product
    takes place."""
    b = NetworkBuilder()
    x = b.relu(b.conv(b.relu(b.conv("x", (12, 40), 3)), (40, 44), 3, stride=2))
    model = b.model([1, 12, 21, 19], b.conv(x, (44, 17), 1))
    program = mnc.compile(model, pipeline=with_constants_in_parts(whole))
    x = image(1, 12, 21, 19)
    agree(model, x, program.run({"x": x}))
    assert len([tensor for tensor in program.tensors if "[part" in tensor.name]) > 3


def test_convolutions_larger_than_local_memory_go_piece_by_piece() -> None:
    """Tiles, weights and results that do not fit together: channels of the result come eight or sixteen at a time."""
    b = NetworkBuilder()
    model = b.model([1, 12, 40, 40], b.relu(b.conv(b.relu(b.conv("x", (12, 40), 3)), (40, 44), 3)))
    text = str(mnc.default_pipeline()).replace("split-contractions", "split-contractions{longs=160}")
    program = mnc.compile(model, pipeline=Pipeline.parse(text))
    x = image(1, 12, 40, 40)
    agree(model, x, program.run({"x": x}))
    assert len([tensor for tensor in program.tensors if "[" in tensor.name]) > 4


@pytest.mark.parametrize("kind", ["MaxPool", "AveragePool"])
def test_pooling_after_a_convolution(kind: str) -> None:
    """The pool finds its data spread over the chip: tiles of rows with halos, negative values beside the padding."""
    b = NetworkBuilder()
    x = b.conv("x", (4, 16), 3)
    x = b.node(kind, x, kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 0, 1])
    check(b.model([1, 4, 21, 18], x), image(1, 4, 21, 18) - 3)


def test_residual_network() -> None:
    logits = check(residual_network(32, 8, [1, 1], 10), image(1, 3, 32, 32))
    assert logits.shape == (1, 10)


def test_gpt() -> None:
    check(gpt(16, 32, 4, 2, 50), np.random.default_rng(1).integers(0, 50, (1, 16)))


def test_vit() -> None:
    check(vit(16, 4, 32, 4, 1, 10), image(1, 3, 16, 16))


def test_digits_keep_their_accuracy() -> None:
    """Random features of two convolutions, the classifier on top fitted by least squares: accurate enough that a wrong
    pixel would show, and the same images must get the same class as on the CPU."""
    digits = load_digits()
    model = convolutional_classifier(90, (8, 16), 10)
    features = onnx.utils.Extractor(model).extract_model(["x"], [model.graph.node[-1].input[0]])
    evaluator = ReferenceEvaluator(features)

    def represent(images: np.ndarray) -> np.ndarray:
        batches = images[: len(images) // 90 * 90].reshape(-1, 90, 1, 8, 8)
        results: list[Any] = [evaluator.run(None, {"x": batch}) for batch in batches]
        return np.concatenate([result for (result,) in results])

    train = represent(digits.train_images)
    wanted = np.eye(10)[digits.train_labels[: len(train)]]
    centre = train.mean(0)
    moment = (train - centre).T @ (train - centre) + np.eye(train.shape[1])
    weight = np.linalg.solve(moment, (train - centre).T @ (wanted - wanted.mean(0)))
    bias = wanted.mean(0) - centre @ weight
    last = model.graph.node[-1]
    for tensor in model.graph.initializer:
        if tensor.name in last.input[1:]:
            value = weight if tensor.name == last.input[1] else bias
            tensor.CopyFrom(onnx.numpy_helper.from_array(value.astype(np.float32), tensor.name))
    x = digits.test_images[:90].reshape(90, 1, 8, 8)
    logits = check(model, x)
    results: Any = ReferenceEvaluator(model).run(None, {"x": x})
    (want,) = results
    assert (logits.argmax(1) == want.argmax(1)).all()
    assert (logits.argmax(1) == digits.test_labels[:90]).mean() > 0.95


@pytest.mark.parametrize(("batch", "size"), [(1, 5), (2, 37), (19, 33)])
def test_gates_of_a_recurrent_cell(batch: int, size: int) -> None:
    """Written out: sigmoids of slices of one tensor."""
    model = cell(batch, size, 2)
    inputs = random_inputs(model, {}, 0)
    found = compare(model, mnc.compile(model).run(inputs), inputs, Options().precision)
    assert found and all(each.error <= each.bound for each in found)
