"""TopK, ArgMax and ArgMin: values and indices, ties and infinities included, on the emulator."""

from inspect import unwrap

import hypothesis.strategies as st
import numpy as np
import onnx
import pytest
from hypothesis import example, given, settings

import mnc
from mnc.lowering.onnx_to_graph.ops import ranking_effort, top_k
from mnc.lowering.onnx_to_graph.ops.ranking_effort import group_size

from .one_layout import one_layout

ELEMENTS = {"float": np.float32, "int32": np.int32, "int64": np.int64, "uint8": np.uint8}


def values(rng: np.random.Generator, kind: str, shape: tuple[int, ...]) -> np.ndarray:
    """Few different values, so that many are equal; floats with infinities."""
    found = rng.integers(0 if kind == "uint8" else -3, 4, shape).astype(ELEMENTS[kind])
    if kind == "float":
        found[found == 3], found[found == -3] = np.inf, -np.inf
    return found


@given(
    st.sampled_from(sorted(ELEMENTS)), st.sampled_from([1, 2, 3, 7]), st.integers(0, 1), st.integers(0, 99),
    st.sampled_from([(2, 300, 1), (211, 2, 0), (40, 3, 0), (1, 17, 1), (3, 9, 1), (2, 5003, 1)]),
)  # fmt: skip
@example("int32", 7, 0, 0, (2, 5003, 1))  # the last group is filled up with the largest integer
@example("float", 7, 1, 0, (2, 5003, 1))
@settings(max_examples=8, deadline=None)
def test_first_elements(kind: str, count: int, largest: int, seed: int, sizes: tuple[int, int, int]) -> None:
    *shape, axis = sizes
    check_first(kind, count, largest, seed, tuple(shape), axis)


def check_first(kind: str, count: int, largest: int, seed: int, shape: tuple[int, ...], axis: int) -> None:
    x = values(np.random.default_rng(seed), kind, shape)
    wanted = [count if i == axis else extent for i, extent in enumerate(shape)]
    model = onnx.parser.parse_model(
        f"""<ir_version: 8, opset_import: ["" : 18]> g ({kind}{list(shape)} x) => ({kind}{wanted} y, int64{wanted} i) {{
            k = Constant<value_ints=[{count}]>()
            y, i = TopK<axis={axis}, largest={largest}>(x, k)
        }}"""
    )
    sizes = *shape, axis
    found = mnc.compile(model, mnc.Options(prefer=one_layout(kind, count, largest, seed, sizes))).run({"x": x})
    order = np.argsort(-x.astype(np.float64) if largest else x, axis=axis, kind="stable").take(range(count), axis=axis)
    assert np.array_equal(found["i"], order)
    assert np.array_equal(found["y"], np.take_along_axis(x, order, axis))


@pytest.mark.parametrize("largest", [0, 1])
def test_lines_in_parts(largest: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither the parts of the pairs nor those of the places are equally long."""
    for module in (ranking_effort, top_k):
        monkeypatch.setattr(module, "pairs_at_once", lambda: 3000)
    test_first_elements.hypothesis.inner_test("float", 53, largest, 5, (2, 53, 1))


@pytest.mark.parametrize("largest", [0, 1])
@pytest.mark.parametrize("sizes", [(3, 83, 1), (61, 1, 0), (5, 42, 2, 1)])
def test_groups_of_groups(sizes: tuple[int, ...], largest: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Groups are cut where it is not worth it, so that few elements go through several rounds."""
    monkeypatch.setattr(ranking_effort, "PASS", 0)
    monkeypatch.setattr(ranking_effort, "GATHERED", 0)
    monkeypatch.setattr(ranking_effort, "plan", unwrap(ranking_effort.plan))  # without what is remembered
    *shape, axis = sizes
    assert group_size(shape[axis], 3) > 1
    check_first("float", 3, largest, 7, tuple(shape), axis)


def test_long_axes_are_cut_into_groups() -> None:
    assert group_size(100, 60) == 1
    for extent, count in ((5000, 2), (32_000, 40), (128_000, 500)):
        size = group_size(extent, count)
        assert size > 1
        assert size * count < extent


@pytest.mark.parametrize("kind", ["ArgMax", "ArgMin"])
@pytest.mark.parametrize(("shape", "axis"), [((3, 257), 1), ((131, 5), 0), ((2, 5, 7), 1)])
@pytest.mark.parametrize("last", [0, 1])
def test_places_of_extrema(kind: str, shape: tuple[int, ...], axis: int, last: int) -> None:
    x = values(np.random.default_rng(sum(shape)), "float", shape)
    wanted = [1 if i == axis else extent for i, extent in enumerate(shape)]
    model = onnx.parser.parse_model(
        f"""<ir_version: 8, opset_import: ["" : 18]> g (float{list(shape)} x) => (int64{wanted} y) {{
            y = {kind}<axis={axis}, select_last_index={last}>(x)
        }}"""
    )
    found = mnc.compile(model, mnc.Options(prefer=one_layout(kind, shape, axis, last))).run({"x": x})["y"]
    best = getattr(np, kind.lower())
    place = shape[axis] - 1 - best(np.flip(x, axis), axis) if last else best(x, axis)
    assert np.array_equal(found, np.expand_dims(place, axis))
