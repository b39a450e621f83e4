"""NonMaxSuppression and Unique as graphs, against the reference: ties, duplicates, none and all."""

import sys
from pathlib import Path

import numpy as np
import pytest

from mnc.core.context import make_context
from mnc.core.diagnostics import CompileError
from mnc.lowering.onnx_to_graph.importer import import_model

sys.path.insert(0, str(Path(__file__).parent))
from counted_rows import agree, extents_text, imported, model_of


def boxes(shape: tuple[int, int], rng: np.random.Generator, centred: bool = False) -> np.ndarray:
    """On a grid, so that many are equal; corners in any order, as the operator allows."""
    first, second = (rng.integers(0, 5, (*shape, 2)) for _ in range(2))
    second = second + 1 if centred else second
    return np.concatenate([first, second], -1).astype(np.float32)


def suppression(sizes: tuple[int, int, int], thresholds: str, centred: int = 0) -> str:
    batches, classes, count = sizes
    return f"""(float[{batches},{count},4] b, float[{batches},{classes},{count}] s) => (int64[N,3] y) {{
        most = Constant <value_int = 3> () share = Constant <value_floats = [0.3]> ()
        low = Constant <value_float = 1.0> () none = Constant <value_ints = [0]> ()
        many = Constant <value_ints = [1000000000]> () negative = Constant <value_float = -1.0> ()
        y = NonMaxSuppression <center_point_box = {centred}> ({thresholds}) }}"""


@pytest.mark.parametrize("centred", [0, 1])
@pytest.mark.parametrize("sizes", [(1, 1, 1), (1, 1, 9), (2, 1, 7), (1, 3, 11), (2, 2, 6)], ids=str)
@pytest.mark.parametrize(
    "thresholds",
    ["b, s, most, share, low", "b, s, most", "b, s, many, share", "b, s, many,, low", "b, s, many, negative, low",
     "b, s, none, share", "b, s"],
)  # fmt: skip
def test_boxes(sizes: tuple[int, int, int], thresholds: str, centred: int) -> None:
    batches, classes, count = sizes
    for seed in range(3):
        rng = np.random.default_rng(seed)
        scores = rng.integers(0, 4, (batches, classes, count)).astype(np.float32)  # many are equal
        given = {"b": boxes((batches, count), rng, bool(centred)), "s": scores}
        agree(suppression(sizes, thresholds, centred), given)


def test_boxes_of_a_size_below_0_suppress_nothing() -> None:
    """As a network may give them that was not trained."""
    rng = np.random.default_rng(2)
    given = {"b": boxes((1, 9), rng, True), "s": rng.random((1, 2, 9)).astype(np.float32)}
    given["b"][..., 2:] *= rng.choice([-1, 1], (1, 9, 2))
    agree(suppression((1, 2, 9), "b, s, many, share", 1), given)


def test_boxes_of_which_none_is_good_enough_or_there() -> None:
    rng = np.random.default_rng(0)
    text = suppression((1, 2, 5), "b, s, most, share, low")
    agree(text, {"b": boxes((1, 5), rng), "s": np.full((1, 2, 5), 0.5, np.float32)})
    agree(suppression((1, 2, 0), "b, s, most"), {"b": boxes((1, 0), rng), "s": np.zeros((1, 2, 0), np.float32)})


def test_infinite_scores_are_scores() -> None:
    scores = np.array([[[-np.inf, np.inf, -np.inf]]], np.float32)
    apart = np.array([[[0, 0, 1, 1], [2, 2, 3, 3], [4, 4, 5, 5]]], np.float32)
    agree(suppression((1, 1, 3), "b, s, most"), {"b": apart, "s": scores})


def test_thresholds_of_a_run() -> None:
    text = """(float[1,8,4] b, float[1,1,8] s, float[1] share, float low) => (int64[N,3] y) {
        most = Constant <value_int = 5> () y = NonMaxSuppression (b, s, most, share, low) }"""
    rng = np.random.default_rng(1)
    given = {"b": boxes((1, 8), rng), "s": rng.random((1, 1, 8)).astype(np.float32)}
    for share, low in ((0.0, 0.5), (0.7, 0.1), (1.0, 2.0)):
        agree(text, {**given, "share": np.array([share], np.float32), "low": np.array(low, np.float32)})


def test_boxes_behind_a_mask_and_in_front_of_a_gather() -> None:
    """As detectors do: boxes that are good enough, the best of them, their coordinates."""
    text = """(float[9,4] b, float[9] s, bool[9] m) => (float[K,4] y, float[K] best) {
        i = NonZero (m) t = Transpose (i) rows = GatherND (b, t) scores = GatherND (s, t)
        first = Constant <value_ints = [0]> () both = Constant <value_ints = [0,1]> ()
        last = Constant <value_ints = [2]> () one = Constant <value_ints = [1]> ()
        most = Constant <value_int = 4> () share = Constant <value_float = 0.3> ()
        b3 = Unsqueeze (rows, first) s3 = Unsqueeze (scores, both)
        n = NonMaxSuppression (b3, s3, most, share)
        column = Gather <axis = 1> (n, last) k = Squeeze (column, one)
        y = Gather (rows, k) best = Gather (scores, k) }"""
    for seed in range(4):
        rng = np.random.default_rng(seed)
        mask = rng.random(9) < seed / 3
        agree(text, {"b": boxes((1, 9), rng)[0], "s": rng.random(9).astype(np.float32), "m": mask})


def test_an_open_number_of_boxes_is_refused() -> None:
    text = """(float[1,8,4] b, float[1,1,8] s, int64 most) => (int64[N,3] y) {
        y = NonMaxSuppression (b, s, most) }"""
    with pytest.raises(CompileError, match="its max_output_boxes_per_class"):
        import_model(model_of(text), make_context())
    text = suppression((1, 1, 9999), "b, s, many")
    with pytest.raises(CompileError, match="it chooses up to 9999 boxes of a class one after the other"):
        import_model(model_of(text), make_context())


KINDS = {"float": np.float32, "int32": np.int32, "uint8": np.uint8, "bool": bool}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("is_sorted", [0, 1])
@pytest.mark.parametrize(
    ("shape", "axis"),
    [((1,), None), ((9,), None), ((3, 4), None), ((7, 2), 0), ((2, 7), 1), ((2, 6, 3), -2), ((5, 2, 2), 0)],
)
def test_values(shape: tuple[int, ...], axis: int | None, is_sorted: int, kind: str) -> None:
    along = "" if axis is None else f", axis = {axis}"
    values = ",".join("N" if axis is None or i == axis % len(shape) else str(n) for i, n in enumerate(shape))
    values = "N" if axis is None else values
    text = f"""({kind}[{extents_text(shape)}] x) => ({kind}[{values}] y, int64[N] i, int64[M] v, int64[N] c) {{
        y, i, v, c = Unique <sorted = {is_sorted}{along}> (x) }}"""
    rng = np.random.default_rng(sum(shape))
    for most in (1, 2, 30):
        agree(text, {"x": rng.integers(0, most, shape).astype(KINDS[kind])})
        agree(text.replace("y, i, v, c = U", "y,,, c = U").replace("int64[N] i, int64[M] v,", ""),
              {"x": rng.integers(0, most, shape).astype(KINDS[kind])})  # fmt: skip


def test_values_of_rows_that_a_run_finds() -> None:
    text = """(int32[8,2] x, bool[8] m) => (int32[N,2] y, int64[N] i, int64[K] v, int64[N] c) {
        r = Compress <axis = 0> (x, m) y, i, v, c = Unique <axis = 0> (r) }"""
    for seed, part in enumerate((0.3, 0.6, 1.0)):
        rng = np.random.default_rng(seed)
        agree(text, {"x": rng.integers(0, 2, (8, 2)).astype(np.int32), "m": rng.random(8) < part})


def test_too_many_values_are_refused() -> None:
    text = "(float[9000] x) => (float[N] y) { y = Unique (x) }"
    with pytest.raises(CompileError, match="it compares 9000 slices with each other"):
        import_model(model_of(text), make_context())


def test_values_of_nothing() -> None:
    found = imported(model_of("(float[0] x) => (float[N] y) { y = Unique (x) }"), {"x": np.zeros(0, np.float32)})
    assert found["y"].shape == (0,)
