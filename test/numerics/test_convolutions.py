"""Convolutions of what is in DRAM: factors that come in parts, tiles with halos, edges that are not full."""

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

import mnc

from .parsed import cycles_of, normal

RNG = np.random.default_rng(0)


def convolved(x: np.ndarray, w: np.ndarray, stride: int, group: int) -> np.ndarray:
    """The result, with padding of half a kernel on all sides."""
    low = w.shape[-1] // 2
    padded = np.pad(x.astype(np.float64), ((0, 0), (0, 0), (low, low), (low, low)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, w.shape[2:], (2, 3))[:, :, ::stride, ::stride]
    if group > 1:
        own = w.reshape(group, -1, *w.shape[2:])
        found = np.einsum("bcyxuv,cmuv->bcmyx", windows, own)
        return found.reshape(found.shape[0], len(w), *found.shape[3:])
    return np.einsum("bcyxuv,ocuv->boyx", windows, w)


@pytest.mark.parametrize(
    ("batch", "channels", "side", "results", "kernel", "stride", "group"),
    [
        (2, 72, 23, 40, 3, 1, 1),  # in parts, the last of which is not full
        (1, 200, 17, 72, 3, 2, 1),
        (1, 520, 12, 96, 1, 1, 1),
        (3, 24, 11, 24, 5, 1, 24),
        (1, 13, 30, 13, 7, 2, 13),
        (1, 1, 9, 1, 3, 1, 1),
        (2, 1, 21, 13, 3, 1, 1),  # windows written out, as they come
        (1, 1, 37, 9, 5, 2, 1),
        (2, 3, 15, 3, 7, 1, 3),
        (4, 16, 64, 16, 3, 1, 1),  # images are stored while others arrive
        (1, 24, 112, 24, 3, 1, 24),  # rows
        (2, 12, 20, 24, 3, 1, 12),  # two results of each channel
        (1, 5, 13, 45, 5, 2, 5),
    ],
)
def test_convolution(batch: int, channels: int, side: int, results: int, kernel: int, stride: int, group: int) -> None:
    x = RNG.standard_normal((batch, channels, side, side)).astype(np.float32)
    taps = channels // group * kernel * kernel
    w = (RNG.standard_normal((results, channels // group, kernel, kernel)) / np.sqrt(taps)).astype(np.float32)
    expected = convolved(x, w, stride, group)
    pads, strides = [kernel // 2] * 4, [stride] * 2
    node = helper.make_node(
        "Conv", ["x", "w"], ["y"], "conv", kernel_shape=[kernel] * 2, pads=pads, strides=strides, group=group
    )
    info = helper.make_tensor_value_info
    entries = [info("x", TensorProto.FLOAT, x.shape)], [info("y", TensorProto.FLOAT, expected.shape)]
    graph = helper.make_graph([node], "conv", *entries, [numpy_helper.from_array(w, "w")])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    (got,) = mnc.compile(model, mnc.Options(prefer=("together",))).run({"x": x}).values()
    # Each factor is rounded to 18 bits below the largest of eight; errors of the products add up like a random walk.
    assert np.abs(got - expected).max() < 32 * 2.0**-18


def test_several_results_of_each_channel_are_work_of_the_vector_unit() -> None:
    """A matrix product would need every window once more: 12,480 cycles."""
    x, w = normal(RNG, 4, 16, 28, 28), normal(RNG, 32, 1, 3, 3)
    types = "(float[4,16,28,28] x, float[32,1,3,3] w) => (float[4,32,28,28] y)"
    text = f"g {types} {{ y = Conv <group = 16, pads = [1, 1, 1, 1]> (x, w) }}"
    assert cycles_of(text, {"x": x, "w": w}, tolerance=1e-5) < 3000


def test_several_results_of_each_channel_behind_work_of_the_vector_unit() -> None:
    """What the second convolution costs is asked where the first leaves its tensor, whose layout says nothing of the
    three results."""
    x, w, v = normal(RNG, 16, 7, 8, 1), normal(RNG, 7, 1, 3, 1), normal(RNG, 21, 1, 2, 2)
    types = "(float[16,7,8,1] x, float[7,1,3,1] w, float[21,1,2,2] v) => (float[16,21,16,1] y)"
    first = "z = ConvTranspose <group = 7, strides = [2, 1]> (x, w)"
    second = "y = Conv <group = 7, dilations = [2, 1], pads = [0, 0, 1, 1]> (z, v)"
    cycles_of(f"g {types} {{ {first} {second} }}", {"x": x, "w": w, "v": v}, tolerance=1e-5)
