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
