"""Results with as many rows as a run finds, on the emulator: none, some and all, in order, and exact."""

import numpy as np
import pytest
from onnx.parser import parse_model

import mnc
from mnc import build_directory
from mnc.lowering.onnx_to_graph.evaluator import evaluator
from mnc.options import Precision

SHAPES = [(1,), (5,), (3, 4), (2, 3, 5), (7, 1, 2), (13, 29)]  # the last one is looked up in a tree
PARTS = {"none": 0.0, "some": 0.4, "all": 1.0}


def compiled(text: str, precision: Precision = "single") -> tuple[mnc.Executable, object]:
    model = parse_model(f'<ir_version: 9, opset_import: ["" : 18]> g {text}')
    return mnc.compile(model, {"precision": precision}), evaluator(model)


def agree(executable: mnc.Executable, reference: object, **inputs: np.ndarray) -> None:
    """Shapes and values are those of the reference, and no count of rows is among the results."""
    found, want = executable.run(inputs), reference.run(None, inputs)  # pyright: ignore[reportAttributeAccessIssue]
    assert list(found) == [tensor.name for tensor in executable.outputs]
    for array, wanted in zip(found.values(), want, strict=True):
        assert array.shape == wanted.shape
        assert np.array_equal(array, wanted)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_places_and_elements_of_a_mask(shape: tuple[int, ...]) -> None:
    extents, rng = ",".join(map(str, shape)), np.random.default_rng(sum(shape))
    executable, reference = compiled(
        f"(bool[{extents}] m, float[{extents}] x) => (int64[R,N] i, float[N] y) "
        "{ i = NonZero (m) t = Transpose (i) y = GatherND (x, t) }"
    )
    x = rng.standard_normal(shape).astype(np.float32)
    for part in PARTS.values():
        agree(executable, reference, m=rng.random(shape) < part, x=x)


@pytest.mark.parametrize("kind", ["float", "int32", "uint8", "bool"])
def test_types_of_what_is_not_zero(kind: str) -> None:
    executable, reference = compiled(f"({kind}[4,6] x) => (int64[2,N] i) {{ i = NonZero (x) }}")
    x = np.random.default_rng(0).integers(0, 3, (4, 6))
    agree(executable, reference, x=x.astype({"float": np.float32, "bool": bool}.get(kind, kind)))


@pytest.mark.parametrize("precision", ["single", "pseudo-single", "half"])
def test_counts_are_exact_in_every_precision(precision: Precision) -> None:
    executable, reference = compiled("(bool[1000] m) => (int64[1,N] i) { i = NonZero (m) }", precision)
    agree(executable, reference, m=np.random.default_rng(1).random(1000) < 0.9)


@pytest.mark.parametrize(("axis", "length"), [(None, 12), (None, 9), (0, 3), (1, 4), (-1, 2)])
def test_compress_by_a_condition_of_a_run(axis: int | None, length: int) -> None:
    shape, rng = [3, 4], np.random.default_rng(length)
    along = f"<axis = {axis}>" if axis is not None else ""
    result = "N" if axis is None else ",".join("N" if i == axis % 2 else str(n) for i, n in enumerate(shape))
    executable, reference = compiled(
        f"(float[3,4] x, bool[{length}] c) => (float[{result}] y) {{ y = Compress {along} (x, c) }}"
    )
    x = rng.standard_normal(shape).astype(np.float32)
    for part in PARTS.values():
        agree(executable, reference, x=x, c=rng.random(length) < part)


def test_rows_are_cut_also_where_a_program_was_saved(tmp_path: object) -> None:
    executable, reference = compiled("(bool[9] m) => (int64[1,N] i) { i = NonZero (m) }")
    build_directory.save(executable, str(tmp_path))
    loaded = build_directory.load(str(tmp_path))
    assert [tensor.name for tensor in loaded.outputs] == ["i"]
    agree(loaded, reference, m=np.arange(9) % 3 == 0)


def boxes(shape: tuple[int, int], rng: np.random.Generator) -> np.ndarray:
    first, second = (rng.integers(0, 6, (*shape, 2)) for _ in range(2))
    return np.concatenate([first, second], -1).astype(np.float32)


@pytest.mark.parametrize(("sizes", "most", "centred"), [((1, 1, 9), 4, 0), ((2, 3, 5), 2, 1), ((1, 1, 24), 12, 0)])
def test_boxes_that_do_not_overlap(sizes: tuple[int, int, int], most: int, centred: int) -> None:
    batches, classes, count = sizes
    executable, reference = compiled(
        f"""(float[{batches},{count},4] b, float[{batches},{classes},{count}] s, float low) => (int64[N,3] y) {{
            most = Constant <value_ints = [{most}]> () share = Constant <value_floats = [0.3]> ()
            y = NonMaxSuppression <center_point_box = {centred}> (b, s, most, share, low) }}"""
    )
    for seed, low in enumerate((-1.0, 2.0, 9.0)):
        rng = np.random.default_rng(seed)
        scores = rng.integers(0, 5, (batches, classes, count)).astype(np.float32)
        agree(executable, reference, b=boxes((batches, count), rng), s=scores, low=np.array(low, np.float32))


def test_boxes_of_a_detector() -> None:
    """Boxes that are good enough, the best of these, and their coordinates."""
    executable, reference = compiled(
        """(float[30,4] b, float[30] s) => (float[K,4] y, float[K] best) {
        low = Constant <value_float = 0.4> () m = Greater (s, low) i = NonZero (m) t = Transpose (i)
        rows = GatherND (b, t) scores = GatherND (s, t)
        first = Constant <value_ints = [0]> () both = Constant <value_ints = [0,1]> ()
        last = Constant <value_ints = [2]> () one = Constant <value_ints = [1]> ()
        most = Constant <value_int = 5> () share = Constant <value_float = 0.3> ()
        b3 = Unsqueeze (rows, first) s3 = Unsqueeze (scores, both)
        n = NonMaxSuppression (b3, s3, most, share)
        column = Gather <axis = 1> (n, last) k = Squeeze (column, one)
        y = Gather (rows, k) best = Gather (scores, k) }"""
    )
    for seed in range(3):
        rng = np.random.default_rng(seed)
        agree(executable, reference, b=boxes((1, 30), rng)[0], s=(rng.random(30) * seed / 2).astype(np.float32))


@pytest.mark.parametrize("is_sorted", [0, 1])
@pytest.mark.parametrize(
    ("kind", "shape", "axis"), [("float", (7, 3), None), ("int32", (9, 2), 0), ("uint8", (2, 8), 1)]
)
def test_values_once(kind: str, shape: tuple[int, ...], axis: int | None, is_sorted: int) -> None:
    along = "" if axis is None else f", axis = {axis}"
    values = "N" if axis is None else ",".join("N" if i == axis else str(n) for i, n in enumerate(shape))
    executable, reference = compiled(
        f"""({kind}[{shape[0]},{shape[1]}] x) => ({kind}[{values}] y, int64[N] i, int64[M] v, int64[N] c) {{
            y, i, v, c = Unique <sorted = {is_sorted}{along}> (x) }}"""
    )
    rng = np.random.default_rng(len(kind))
    for most in (1, 3, 200):
        x = rng.integers(0, most, shape)
        agree(executable, reference, x=x.astype(np.float32 if kind == "float" else kind))
