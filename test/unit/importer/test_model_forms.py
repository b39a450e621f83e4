"""Models that say the same in other ways: names of domains, old operator sets, loops that never begin."""

import sys
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import numpy_helper
from onnx.parser import parse_model

from mnc.core.context import make_context
from mnc.core.diagnostics import CompileError
from mnc.lowering.onnx_to_graph import import_model
from mnc.reference import load_proto

sys.path.insert(0, str(Path(__file__).parent))
from counted_rows import imported, model_of

X = np.array([1.5, -2, 3], np.float32)
TWICE = """<ir_version: 10, opset_import: ["" : 18, "own" : 1]> g (float[3] x) => (float[3] y) {
    c = Constant <value = bool {1}> ()
    y = If (c) <then_branch = t () => (float[3] a) { n = Neg (x) a = own.Twice (n) },
                else_branch = e () => (float[3] b) { b = Identity (x) }> }
<domain: "own", opset_import: ["" : 18]> Twice (v) => (w) { w = Add (v, v) }"""


def _with_long_name(model: onnx.ModelProto, *, nodes: bool, imports: bool) -> onnx.ModelProto:
    for owner in (model, *model.functions):
        for entry in owner.opset_import:
            if imports and not entry.domain:
                entry.domain = "ai.onnx"
    branches = [attribute.g for node in model.graph.node for attribute in node.attribute if attribute.g.node]
    for owner in (model.graph, *model.functions, *branches):
        for node in owner.node:
            if nodes and not node.domain:
                node.domain = "ai.onnx"
    return model


@pytest.mark.parametrize(("nodes", "imports"), [(True, False), (False, True), (True, True)])
def test_the_long_name_of_the_standard_domain(nodes: bool, imports: bool, tmp_path: Path) -> None:
    model = _with_long_name(parse_model(TWICE), nodes=nodes, imports=imports)
    before = model.SerializeToString()
    np.testing.assert_array_equal(imported(model, {"x": X})["y"], -2 * X)
    assert model.SerializeToString() == before  # the caller's model stays as it is
    onnx.save(model, tmp_path / "model.onnx")
    assert {entry.domain for entry in load_proto(tmp_path / "model.onnx").opset_import} == {"", "own"}


def test_the_standard_domain_by_both_names() -> None:
    model = parse_model(TWICE)
    model.opset_import.add(domain="ai.onnx", version=18)
    np.testing.assert_array_equal(imported(model, {"x": X})["y"], -2 * X)
    model.opset_import[-1].version = 17
    with pytest.raises(CompileError, match="several versions of the standard operator set: 18, 17"):
        import_model(model, make_context())


def test_initializers_of_an_old_operator_set_that_are_no_inputs() -> None:
    model = model_of("(float[2,3] x) => (float[2,4] y) { y = Gemm <broadcast = 1, transB = 1> (x, w, b) }", opset=6)
    w, b = np.arange(12, dtype=np.float32).reshape(4, 3), np.arange(4, dtype=np.float32)
    model.graph.initializer.extend([numpy_helper.from_array(w, "w"), numpy_helper.from_array(b, "b")])
    x = np.stack([X, -X])
    np.testing.assert_array_equal(imported(model, {"x": x})["y"], x @ w.T + b)


def test_what_the_converter_of_onnx_refuses_is_told() -> None:
    model = model_of("(float[2,3] x) => (float[2,4] y) { y = Gemm <broadcast = 1, transB = 1> (x, w, b) }", opset=6)
    with pytest.raises(CompileError, match="cannot be converted"):
        import_model(model, make_context())


@pytest.mark.parametrize("batch", [1, 2])
@pytest.mark.parametrize(("align", "sizes"), [(0, (3, 4)), (1, (3, 4)), (0, (2, 3, 4)), (1, (1, 3, 4))])
def test_grids_of_one_matrix(batch: int, align: int, sizes: tuple[int, ...]) -> None:
    """ONNX's own body of AffineGrid does not take a batch of one."""
    rank = len(sizes)
    text = f"(float[{batch},{rank},{rank + 1}] t) => (float[{','.join('ABCDE'[: rank + 2])}] y) "
    model = model_of(text + f"{{ y = AffineGrid <align_corners = {align}> (t, s) }}", opset=20)
    model.graph.initializer.append(numpy_helper.from_array(np.array([batch, 1, *sizes]), "s"))
    matrices = np.random.default_rng(0).standard_normal((batch, rank, rank + 1)).astype(np.float32)
    ends = [1 if align else (n - 1) / n for n in sizes]
    places = np.meshgrid(*(np.linspace(-end, end, n) for end, n in zip(ends, sizes, strict=True)), indexing="ij")
    points = np.stack([*places[::-1], np.ones(sizes)], -1)
    wanted = np.einsum("bij,...j->b...i", matrices, points)
    np.testing.assert_allclose(imported(model, {"t": matrices})["y"], wanted, rtol=1e-5, atol=1e-6)


LOOP = """(float[3] x) => (float[3] y) { c = Constant <value = bool {%s}> ()
    y = Loop (, c, x) <body = b (int64 i, bool d, float[3] v) => (bool e, float[3] o) {
        e = Identity (d) o = Add (v, v) }> }"""


def test_a_loop_that_never_begins() -> None:
    np.testing.assert_array_equal(imported(model_of(LOOP % "0"), {"x": X})["y"], X)


def test_a_loop_that_never_ends() -> None:
    with pytest.raises(CompileError, match="the loop without an end becomes more than"):
        import_model(model_of(LOOP % "1"), make_context())


def test_positions_in_sequences_that_a_run_finds() -> None:
    model = model_of("(float[6,2] x, int64 k) => (float[1,2] y) { s = SplitToSequence (x) y = SequenceAt (s, k) }")
    with pytest.raises(CompileError, match="whose length or positions a run finds"):
        import_model(model, make_context())


def test_strings_in_constants() -> None:
    model = model_of('(float[3] x) => (float[3] y) { a = Constant <value_strings = ["p"]> () y = Neg (x) }')
    with pytest.raises(CompileError, match="only numbers") as caught:
        import_model(model, make_context())
    assert "map strings to numbers" in str(caught.value.hint)
