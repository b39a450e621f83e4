"""Transposed convolutions: strides, gaps, groups, pads that cut, paddings of the output. Small integers are exact."""

import itertools
from dataclasses import dataclass

import hypothesis.strategies as st
import numpy as np
import onnx
from hypothesis import given, settings

import mnc


@dataclass(frozen=True)
class _Dimension:
    """One dimension of the data: its extent, and what the node does along it."""

    extent: int
    kernel: int
    stride: int
    dilation: int
    pads: tuple[int, int]
    extra: int

    @property
    def results(self) -> int:
        reach = (self.extent - 1) * self.stride + (self.kernel - 1) * self.dilation + 1
        return reach + self.extra - sum(self.pads)


@st.composite
def _dimensions(draw: st.DrawFn) -> _Dimension:
    stride, dilation = draw(st.sampled_from([1, 1, 2, 3])), draw(st.sampled_from([1, 1, 2, 3]))
    found = _Dimension(
        draw(st.integers(1, 7)), draw(st.integers(1, 5)), stride, dilation,
        (draw(st.integers(0, 3)), draw(st.integers(0, 3))), draw(st.integers(0, max(stride, dilation) - 1)),
    )  # fmt: skip
    return found if found.results > 0 else _Dimension(3, 2, stride, dilation, (0, 1), 0)


def _expected(x: np.ndarray, w: np.ndarray, dims: list[_Dimension], groups: int) -> np.ndarray:
    """Every element of the data adds its kernel to the result, where there is one."""
    by_group = x.reshape(len(x), groups, -1, *x.shape[2:]), w.reshape(groups, -1, *w.shape[1:])
    total = np.zeros((len(x), groups, w.shape[1], *(d.results for d in dims)))
    for place in itertools.product(*(range(d.extent) for d in dims)):
        for tap in itertools.product(*(range(d.kernel) for d in dims)):
            steps = zip(place, tap, dims, strict=True)
            target = tuple(i * d.stride + k * d.dilation - d.pads[0] for i, k, d in steps)
            if all(0 <= t < d.results for t, d in zip(target, dims, strict=True)):
                every = (slice(None),) * 3
                total[every + target] += np.einsum("bgc,gcm->bgm", by_group[0][every + place], by_group[1][every + tap])
    return total.reshape(len(x), -1, *total.shape[3:])


@given(
    st.lists(_dimensions(), min_size=1, max_size=2), st.sampled_from([1, 1, 2, 3]), st.integers(1, 3),
    st.integers(1, 3), st.integers(0, 99),
)  # fmt: skip
@settings(max_examples=12, deadline=None)
def test_transposed_convolution(dims: list[_Dimension], groups: int, each: int, outputs: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    x = rng.integers(-3, 4, (2, groups * each, *(d.extent for d in dims))).astype(np.float32)
    w = rng.integers(-3, 4, (groups * each, outputs, *(d.kernel for d in dims))).astype(np.float32)
    expected = _expected(x, w, dims, groups)
    lists = {"kernel_shape": [d.kernel for d in dims], "strides": [d.stride for d in dims]}
    lists |= {"dilations": [d.dilation for d in dims], "output_padding": [d.extra for d in dims]}
    lists |= {"pads": [d.pads[0] for d in dims] + [d.pads[1] for d in dims]}
    attributes = ", ".join(f"{name}={value}" for name, value in lists.items())
    model = onnx.parser.parse_model(
        f"""<ir_version: 8, opset_import: ["" : 18]>
        g (float{list(x.shape)} x, float{list(w.shape)} w) => (float{list(expected.shape)} y) {{
            y = ConvTranspose<group={groups}, {attributes}>(x, w)
        }}"""
    )
    assert np.array_equal(mnc.compile(model).run({"x": x, "w": w})["y"], expected)
