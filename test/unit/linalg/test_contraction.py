"""graph-to-linalg, products and convolutions: numbers equal the ONNX reference for random shapes."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mnc.dialects import graph as g

from .harness import Program, normal

FEW = settings(max_examples=5, deadline=None)
EXTENT = st.integers(1, 7)


@settings(max_examples=8, deadline=None)
@given(m=EXTENT, n=EXTENT, k=EXTENT, data=st.data())
def test_matmul(m: int, n: int, k: int, data: st.DataObject) -> None:
    batch = data.draw(st.lists(st.integers(1, 3), max_size=2))
    left = [data.draw(st.sampled_from([1, extent])) for extent in batch]
    right = batch[data.draw(st.integers(0, len(batch))) :]
    inputs = {"a": normal(1, *left, m, k), "b": normal(2, *right, k, n), "u": normal(3, k), "v": normal(4, k)}
    program = Program(inputs)
    for names in (["a", "b"], ["u", "b"], ["a", "v"], ["u", "v"]):
        program.add(g.MatMul.build, "MatMul", names)
    program.check(rtol=1e-5)


@FEW
@given(m=EXTENT, n=EXTENT, k=EXTENT, c=st.sampled_from([(), (1,), "n", "m1", "mn"]), factors=st.booleans())
def test_gemm(m: int, n: int, k: int, c: Any, factors: bool) -> None:
    shape = {"n": (n,), "m1": (m, 1), "mn": (m, n)}.get(c, c)
    inputs = {"a": normal(1, m, k), "at": normal(1, k, m), "b": normal(2, k, n), "bt": normal(2, n, k)}
    inputs["c"] = normal(3, *shape)
    alpha, beta = (0.5, -1.5) if factors else (1.0, 1.0)
    program = Program(inputs)
    for a, b in (("a", "b"), ("at", "b"), ("a", "bt"), ("at", "bt")):
        trans = {"transA": a == "at", "transB": b == "bt"}
        numbers: dict[str, Any] = {name: int(value) for name, value in trans.items()}
        for names in ([a, b], [a, b, "c"]):
            program.add(
                lambda *v, t=trans: g.Gemm.build(*v, alpha=alpha, beta=beta, **t),
                "Gemm", names, alpha=alpha, beta=beta, **numbers,
            )  # fmt: skip
    program.check(rtol=1e-5)


@settings(max_examples=8, deadline=None)
@given(rank=st.integers(1, 3), group=st.sampled_from([1, 2, 3]), data=st.data())
def test_conv(rank: int, group: int, data: st.DataObject) -> None:
    def draw(low: int, high: int) -> list[int]:
        return [data.draw(st.integers(low, high)) for _ in range(rank)]

    kernel, strides, dilations = draw(1, 3), draw(1, 2), draw(1, 2)
    pads = draw(0, 2) + draw(0, 2)
    extents = [e + d * (k - 1) for e, k, d in zip(draw(1, 4), kernel, dilations, strict=True)]
    channels, features = group * data.draw(st.integers(1, 2)), group * data.draw(st.integers(1, 2))
    x, w, b = normal(1, 2, channels, *extents), normal(2, features, channels // group, *kernel), normal(3, features)
    program = Program({"x": x, "w": w, "b": b})
    window = {"strides": strides, "pads": pads, "dilations": dilations, "group": group}
    for names in (["x", "w"], ["x", "w", "b"]):
        program.add(lambda *v: g.Conv.build(*v, **window), "Conv", names, **window)
    program.check(rtol=1e-5, atol=1e-5)


def _transposed_reference(x: np.ndarray, w: np.ndarray, window: dict[str, Any]) -> np.ndarray:
    """Scatter every input element times the kernel; float64."""
    strides, pads, dilations, extra, group = window.values()
    rank = len(strides)
    full = [s * (e - 1) + d * (k - 1) + 1 + o
            for s, e, d, k, o in zip(strides, x.shape[2:], dilations, w.shape[2:], extra, strict=True)]  # fmt: skip
    features = w.shape[1] * group
    out = np.zeros((x.shape[0], features, *full))
    per_group = x.shape[1] // group
    for n, c, *place in np.ndindex(*x.shape):
        first = c // per_group * w.shape[1]
        for m, *offset in np.ndindex(*w.shape[1:]):
            where = tuple(p * s + o * d for p, s, o, d in zip(place, strides, offset, dilations, strict=True))
            out[(n, first + m, *where)] += float(x[(n, c, *place)]) * float(w[(c, m, *offset)])
    cut = tuple(slice(pads[i], full[i] - pads[rank + i]) for i in range(rank))
    return out[(slice(None), slice(None), *cut)]


@settings(max_examples=6, deadline=None)
@given(rank=st.integers(1, 2), group=st.sampled_from([1, 2]), data=st.data())
def test_conv_transpose(rank: int, group: int, data: st.DataObject) -> None:
    def draw(low: int, high: int) -> list[int]:
        return [data.draw(st.integers(low, high)) for _ in range(rank)]

    kernel, strides, dilations = draw(1, 3), draw(1, 3), draw(1, 2)
    pads = [data.draw(st.integers(0, min(1, k))) for k in kernel * 2]
    extra = [data.draw(st.integers(0, s - 1)) for s in strides]
    x, w = normal(1, 2, 2 * group, *draw(2, 4)), normal(2, 2 * group, 3, *kernel)
    window = {"strides": strides, "pads": pads, "dilations": dilations, "output_padding": extra, "group": group}
    expected = _transposed_reference(x, w, window)
    if 0 in expected.shape:
        return
    program = Program({"x": x, "w": w, "b": normal(3, 3 * group)})
    program.add(lambda *v: g.ConvTranspose.build(*v, **window), "Identity", ["x", "w"])
    program.add(lambda *v: g.ConvTranspose.build(*v, **window), "Identity", ["x", "w", "b"])
    without, with_bias = program.actual()
    np.testing.assert_allclose(without, expected, rtol=1e-4, atol=1e-5)
    bias = program.inputs["b"].reshape(-1, *[1] * rank)
    np.testing.assert_allclose(with_bias, expected + bias, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("dtype", ["float64", "float16", "int32"])
def test_matmul_of_other_types(dtype: str) -> None:
    a, b = (np.random.default_rng(i).integers(-4, 5, shape).astype(dtype) for i, shape in enumerate([(3, 4), (4, 5)]))
    program = Program({"a": a, "b": b})
    program.add(g.MatMul.build, "MatMul", ["a", "b"])
    program.check()
