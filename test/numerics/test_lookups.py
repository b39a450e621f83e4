"""Elements at computed places: single ones, lines with indices of their own, and samples of images."""

import numpy as np
import pytest

from .parsed import cycles_of, normal

SAMPLED = 2.0**-14
"""Places between elements are rounded as coordinates are: the number of elements along a dimension times 2**-24."""


@pytest.mark.parametrize(
    ("shape", "count", "most"),
    [
        ((8640,), 2160, 2700),  # all L2Bs did the same, in 9,332 cycles
        ((2160,), 8640, 1700),  # was refused: addresses and elements of all indices in every PE
        ((500, 20), 2000, 2000),
        ((1000, 32), 64, 1200),
        ((300, 2, 5), 70, 2500),
        ((7,), 900, 1500),
    ],
)
def test_rows_of_a_table(shape: tuple[int, ...], count: int, most: int) -> None:
    rng = np.random.default_rng(count)
    inputs = {"x": normal(rng, *shape), "i": rng.integers(-shape[0], shape[0], count)}
    own, rest = (",".join(map(str, extents)) for extents in (shape, (count, *shape[1:])))
    text = f"g (float[{own}] x, int64[{count}] i) => (float[{rest}] y) {{ y = Gather (x, i) }}"
    assert cycles_of(text, inputs) <= most


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize(
    ("kind", "shape", "count", "fewer", "most"),
    [
        ("float", (64, 512), 8, 0, 1300),
        ("float", (33, 90), 70, 4, 2000),
        ("int64", (9, 200), 40, 0, 1500),
        ("bool", (12, 50), 30, 1, 1500),
        ("float", (1, 8640), 2000, 0, 2900),  # was refused: every index was compared with every element
        ("float", (50, 5), 3, 0, 1300),
    ],
)
def test_elements_of_lines(
    axis: int, kind: str, shape: tuple[int, int], count: int, fewer: int, most: int
) -> None:
    """The last `fewer` lines have no indices."""
    rng = np.random.default_rng(count)
    dtype = {"float": np.float32, "int64": np.int64, "bool": np.bool_}[kind]
    x = (100 * normal(rng, *shape)).astype(dtype) if kind != "bool" else rng.integers(0, 2, shape).astype(bool)
    indices = rng.integers(-shape[1], shape[1], (shape[0] - fewer, count))
    inputs = {"x": x.T.copy(), "i": indices.T.copy()} if axis == 0 else {"x": x, "i": indices}
    own, taken = (",".join(map(str, inputs[name].shape)) for name in "xi")
    assert most >= cycles_of(f"""g ({kind}[{own}] x, int64[{taken}] i) => ({kind}[{taken}] y) {{
        y = GatherElements <axis = {axis}> (x, i) }}""", inputs)  # fmt: skip


@pytest.mark.parametrize(
    ("shape", "batch", "depth", "count", "most"),
    [((20, 90), 1, 1, 15, 1100), ((8, 40, 24), 1, 1, 15, 1200), ((2, 3, 4, 5, 6), 2, 2, 7, 2000)],
)
def test_rows_of_batches(shape: tuple[int, ...], batch: int, depth: int, count: int, most: int) -> None:
    rng = np.random.default_rng(count)
    named = shape[batch : batch + depth]
    places = np.stack([rng.integers(-n, n, (*shape[:batch], count)) for n in named], axis=-1)
    inputs = {"x": normal(rng, *shape), "i": places}
    result = (*shape[:batch], count, *shape[batch + depth :])
    own, taken, found = (",".join(map(str, extents)) for extents in (shape, places.shape, result))
    assert most >= cycles_of(f"""g (float[{own}] x, int64[{taken}] i) => (float[{found}] y) {{
        y = GatherND <batch_dims = {batch}> (x, i) }}""", inputs)  # fmt: skip


@pytest.mark.parametrize("mode", ["linear", "nearest"])
@pytest.mark.parametrize(
    ("shape", "places", "most"),
    [
        ((80, 1, 8, 10), (1, 9), 2000),  # a lookup for every image took 24,800 cycles
        ((1, 1, 8, 80), (1, 720), 1700),
        ((20, 1, 8, 10), (1, 9), 1800),
        ((2, 8, 32, 32), (16, 16), 3200),
        ((2, 2, 5, 6, 7), (4, 5, 6), 3200),
    ],
)
def test_samples_of_many_images(mode: str, shape: tuple[int, ...], places: tuple[int, ...], most: int) -> None:
    rng = np.random.default_rng(shape[0])
    grid = rng.uniform(-1.2, 1.2, (shape[0], *places, len(places))).astype(np.float32)
    own, at, found = (",".join(map(str, s)) for s in (shape, grid.shape, (*shape[:2], *places)))
    text = f"""g (float[{own}] x, float[{at}] g) => (float[{found}] y) {{
        y = GridSample <mode = "{mode}", align_corners = 1> (x, g) }}"""
    assert most >= cycles_of(text, {"x": normal(rng, *shape), "g": grid}, SAMPLED)


def test_indices_that_comparisons_of_floats_choose() -> None:
    """As of torch.bucketize: a constant of floats stands in the computation of an index."""
    body = """c = Constant <value = float[2,1] {0, 0}> () two = Constant <value = int64[2,1] {2, 2}> ()
        zero = Constant <value = int64[2,1] {0, 0}> () table = Constant <value = float[2] {-1, 5}> ()
        below = GreaterOrEqual (c, a) i = Where (below, zero, two) j = Where (below, n, zero)
        k = Add (i, j) one = Constant <value = int64 {1}> () m = Min (k, one) y = Gather (table, m)"""
    text = f"g (float[1,1] a, int64[1,1] n) => (float[2,1] y) {{ {body} }}"
    for a in (-1.0, 1.0):
        cycles_of(text, {"a": np.full((1, 1), a, np.float32), "n": np.array([[1]])})
