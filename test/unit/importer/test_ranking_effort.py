"""TopK: how many elements are ordered, in parts where they are many, and what is said where they are too many."""

import re
from inspect import unwrap

import numpy as np
import onnx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mnc.core.context import make_context
from mnc.core.diagnostics import CompileError
from mnc.lowering.onnx_to_graph.evaluator import evaluator
from mnc.lowering.onnx_to_graph.importer import import_model
from mnc.lowering.onnx_to_graph.ops import ranking_effort, top_k
from mnc.passes.graph.evaluate import evaluate


def model_of(shape: list[int], axis: int, count: int, largest: int = 1) -> onnx.ModelProto:
    wanted = [count if i == axis else n for i, n in enumerate(shape)]
    return onnx.parser.parse_model(
        f"""<ir_version: 8, opset_import: ["" : 18]> g (float{shape} x) => (float{wanted} y, int64{wanted} i) {{
            k = Constant <value_ints = [{count}]> ()
            [sorter] y, i = TopK <axis = {axis}, largest = {largest}> (x, k)
        }}"""
    )


@given(st.sampled_from([1, 3]), st.integers(2, 61), st.data(), st.sampled_from([1, 7, 100, 1000]), st.integers(0, 1))
@settings(max_examples=40, deadline=None)
def test_parts_give_what_all_pairs_give(lines: int, extent: int, data: st.DataObject, pairs: int, largest: int) -> None:
    """Few values, so that many are equal: the first of them comes first, in whatever part."""
    axis, count = data.draw(st.integers(0, 1)), data.draw(st.integers(2, extent))
    model = model_of([extent, lines] if axis == 0 else [lines, extent], axis, count, largest)
    shape = [extent, lines] if axis == 0 else [lines, extent]
    x = np.random.default_rng(extent).integers(-3, 3, shape).astype(np.float32)
    with pytest.MonkeyPatch.context() as patch:
        for module in (ranking_effort, top_k):
            patch.setattr(module, "pairs_at_once", lambda: pairs)
        patch.setattr(ranking_effort, "MOST_PARTS", 1 << 30)
        patch.setattr(ranking_effort, "PASS", 0)
        patch.setattr(ranking_effort, "GATHERED", 0)
        patch.setattr(ranking_effort, "plan", unwrap(ranking_effort.plan))  # without what is remembered
        module = import_model(model, make_context())
    with module.context:
        found = evaluate(module, {"x": x})
    for got, want in zip(found, evaluator(model).run(None, {"x": x}), strict=True):
        assert np.array_equal(got, want)


def test_pairs_of_a_part_fit() -> None:
    """No tensor of more elements than half of a local memory of all PEs has, neither for all of a line nor for few."""
    most = ranking_effort.pairs_at_once()
    for extent, count in ((8192, 8192), (32_003, 5), (2_000_003, 2)):
        module = import_model(model_of([extent], 0, count), make_context())
        shapes = re.findall(r"tensor<([\dx]+)x[fi]\d+>", str(module))
        sizes = [np.prod([int(n) for n in shape.split("x")]) for shape in shapes]
        assert max(sizes) <= max(most, 3 * count * extent)


@pytest.mark.parametrize(
    ("shape", "axis", "count"), [([100_003], 0, 100_003), ([300, 3001], 1, 2000), ([90_001], 0, 9999)]
)
def test_too_many_comparisons(shape: list[int], axis: int, count: int) -> None:
    """Every number in the hint works, and the next one does not."""
    with pytest.raises(CompileError, match=r"sorter.*comparisons.*at most") as caught:
        import_model(model_of(shape, axis, count), make_context())
    hint = str(caught.value.hint)
    others = [(shape, int(n)) for n in re.findall(r"k of at most (\d+)", hint)]
    for length in map(int, re.findall(r"(\d+) elements", hint)):
        others.append(([length if i == axis else n for i, n in enumerate(shape)], min(length, count)))
    others += [([int(n) if i != axis else shape[i] for i in range(2)], count) for n in re.findall(r"(\d+) lines", hint)]
    assert others
    for own, few in others:
        import_model(model_of(own, axis, few), make_context())


def test_the_extremum_of_any_number_of_elements() -> None:
    import_model(model_of([3_000_000], 0, 1), make_context())
