"""Scatters of many updates: products with single precision, lookups of rows, and comparisons in pieces."""

import numpy as np
import pytest

from .parsed import cycles_of, normal

EXACT, SUM = 0.0, 2.0**-20


@pytest.mark.parametrize(
    ("reduction", "sizes", "tolerance", "most"),
    [
        ("add", (1024, 6144, 32), SUM, 20000),  # in two products; as one it took 61,636
        ("add", (500, 2000, 20), SUM, 2600),  # was refused: no PE held its share of 500x2000x20
        ("none", (500, 2000, 20), EXACT, 7500),
        ("none", (200, 500, 16), EXACT, 3300),
        ("max", (60, 300, 7), EXACT, 2500),
        ("add", (700, 300, 1), SUM, 2500),
        ("none", (2500, 1300, 1), EXACT, 6500),
    ],
)
def test_rows(reduction: str, sizes: tuple[int, int, int], tolerance: float, most: int) -> None:
    targets, count, width = sizes
    rng = np.random.default_rng(count)
    inputs = {"x": normal(rng, targets, width), "i": rng.integers(-targets, targets, (count, 1)),
              "u": normal(rng, count, width)}  # fmt: skip
    assert most >= cycles_of(f"""g (float[{targets},{width}] x, int64[{count},1] i, float[{count},{width}] u)
        => (float[{targets},{width}] y) {{ y = ScatterND <reduction = "{reduction}"> (x, i, u) }}""",
        inputs, tolerance)  # fmt: skip


@pytest.mark.parametrize(
    ("reduction", "kind", "shape", "count", "tolerance"),
    [
        ("add", "float", (150, 7), 400, SUM),
        ("none", "float", (150, 7), 400, EXACT),
        ("max", "float", (50, 7), 400, EXACT),
        ("add", "int32", (40, 9), 700, EXACT),
    ],
)
@pytest.mark.parametrize("axis", [0, 1])
def test_elements(reduction: str, kind: str, shape: tuple[int, int], count: int, tolerance: float, axis: int) -> None:
    own, updates = (shape, (count, shape[1])) if axis == 0 else (shape[::-1], (shape[1], count))
    rng = np.random.default_rng(count)
    dtype = np.float32 if kind == "float" else np.int32
    inputs = {"x": (100 * normal(rng, *own)).astype(dtype), "u": (100 * normal(rng, *updates)).astype(dtype),
              "i": rng.integers(-shape[0], shape[0], updates)}  # fmt: skip
    own, updates = ",".join(map(str, own)), ",".join(map(str, updates))
    cycles_of(f"""g ({kind}[{own}] x, int64[{updates}] i, {kind}[{updates}] u) => ({kind}[{own}] y) {{
        y = ScatterElements <reduction = "{reduction}", axis = {axis}> (x, i, u) }}""", inputs, tolerance)  # fmt: skip


@pytest.mark.parametrize("reduction", ["add", "none", "max"])
def test_indices_repeated_along_rows(reduction: str) -> None:
    """As PyTorch writes index_add and scatter_add of a graph network: rows across the second dimension."""
    rng = np.random.default_rng(0)
    inputs = {"x": normal(rng, 3, 100, 6), "i": rng.integers(0, 100, (300, 1)), "u": normal(rng, 3, 300, 6)}
    cycles_of(f"""g (float[3,100,6] x, int64[300,1] i, float[3,300,6] u) => (float[3,100,6] y) {{
        shape = Constant <value = int64[3] {{3, 300, 6}}> () wide = Expand (i, shape)
        y = ScatterElements <reduction = "{reduction}", axis = 1> (x, wide, u) }}""",
        inputs, SUM if reduction == "add" else EXACT)  # fmt: skip


def test_updates_that_are_fewer_than_the_rows_are_long() -> None:
    """Indices that end before x does name no place there."""
    rng = np.random.default_rng(1)
    inputs = {"x": normal(rng, 200, 9), "i": rng.integers(0, 200, (150, 7)), "u": normal(rng, 150, 7)}
    for reduction, tolerance in (("add", SUM), ("none", EXACT), ("mul", 1e-5)):
        cycles_of(f"""g (float[200,9] x, int64[150,7] i, float[150,7] u) => (float[200,9] y) {{
            y = ScatterElements <reduction = "{reduction}"> (x, i, u) }}""", inputs, tolerance)  # fmt: skip


@pytest.mark.parametrize(
    ("operator", "indices"), [("ScatterElements", [[2, 0, 2], [1, 1, 0]]), ("ScatterND", [[3], [0]])]
)
def test_truth_values(operator: str, indices: list[list[int]]) -> None:
    """ScatterElements was refused where more than one update may hit an element."""
    rng = np.random.default_rng(0)
    places = np.array(indices)
    inputs = {"x": rng.random((5, 3)) < 0.5, "i": places, "u": np.array([[True, False, False], [False, True, True]])}
    shape = ",".join(map(str, places.shape))
    cycles_of(f"g (bool[5,3] x, int64[{shape}] i, bool[2,3] u) => (bool[5,3] y) {{ y = {operator} (x, i, u) }}", inputs)
