"""Writes at places that a run finds, slices with bounds that it finds, and shapes computed from both, as PyTorch
exports them: `x[mask] = v`, `index_add_` over `torch.where`, EmbeddingBag with offsets."""

import sys
from pathlib import Path

import numpy as np
import onnx
import pytest

from mnc.core.context import make_context
from mnc.core.diagnostics import CompileError
from mnc.lowering.onnx_to_graph.importer import import_model

sys.path.insert(0, str(Path(__file__).parent))
from counted_rows import agree, imported, model_of

HEAD = "bool[5,3] m, float[5,3] x, float v"
PICKED = "i = NonZero (m) t = Transpose (i)"
MINUS_ONE = "all = Constant <value_ints = [-1]> ()"
COUNT = f"{MINUS_ONE} f = Reshape (m, all) c = Cast <to = 7> (f) n = ReduceSum <keepdims = 1> (c)"
WRITES = {
    "a scalar": f"{PICKED} {COUNT} e = Expand (v, n) u = Reshape (e, all) y = ScatterND (x, t, u)",
    "what was picked": f"{PICKED} g = GatherND (x, t) a = Add (g, v) {COUNT} e = Expand (a, n) u = Reshape (e, all) "
                       "y = ScatterND (x, t, u)",
    "as many as there are places": (
        f"{PICKED} {MINUS_ONE} g = GatherND (x, t) u = Reshape (g, all) k = Mul (u, v) s = Shape (t) "
        "z = Constant <value_int = 0> () q = Gather (s, z) o = Constant <value_ints = [0]> () w = Unsqueeze (q, o) "
        "h = Slice (k, o, w, o) y = ScatterND (x, t, h)"
    ),
    "added": f"{PICKED} g = GatherND (x, t) y = ScatterND <reduction = \"add\"> (x, t, g)",
    "the largest": f"{PICKED} g = GatherND (x, t) a = Neg (g) y = ScatterND <reduction = \"max\"> (x, t, a)",
    "rows of a mask of rows": (
        "d = Constant <value_ints = [1]> () r = ReduceMax <keepdims = 0> (xx, d) b = Cast <to = 9> (r) "
        f"j = Unsqueeze (b, d) s = Shape (x) l = Expand (j, s) i = NonZero (l) t = Transpose (i) {MINUS_ONE} "
        "c = Cast <to = 7> (b) n = ReduceSum <keepdims = 1> (c) w = Constant <value_ints = [3]> () "
        "k = Concat <axis = 0> (n, w) e = Expand (v, k) u = Reshape (e, all) y = ScatterND (x, t, u)"
    ),
    "elements": (
        "i = NonZero (m) z = Constant <value_ints = [0]> () p, q = Split <axis = 0, num_outputs = 2> (i) "
        "a = Squeeze (p, z) b = Squeeze (q, z) r = Gather (x, a) o = Constant <value_ints = [1]> () "
        "k = Unsqueeze (a, o) s = Shape (r) h = Expand (k, s) "
        "y = ScatterElements <axis = 0, reduction = \"add\"> (x, h, r)"
    ),
}  # fmt: skip
MASKS = {"none": 0.0, "some": 0.5, "all": 1.0}


def values(mask: str) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(4)
    chosen = rng.random((5, 3)) < MASKS[mask]
    return {"m": chosen, "x": rng.standard_normal((5, 3)).astype(np.float32), "v": np.array(0.25, np.float32)}


def test_a_number_written_where_a_mask_holds_is_a_selection() -> None:
    """No places are computed for it."""
    for what in ("a scalar", "rows of a mask of rows"):
        given = "xx = Cast <to = 1> (m) " if "xx" in WRITES[what] else ""
        module = import_model(model_of(f"({HEAD}) => (float[5,3] y) {{ {given}{WRITES[what]} }}"), make_context())
        text = str(module)
        assert "graph.where" in text
        assert "cum_sum" not in text


@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("what", WRITES)
def test_writes(what: str, mask: str) -> None:
    nodes = WRITES[what]
    given = "xx = Cast <to = 1> (m) " if "xx" in nodes else ""
    agree(f"({HEAD}) => (float[5,3] y) {{ {given}{nodes} }}", values(mask))


BAGS = (
    "(int64[7] i, int64[1] a, int64[1] b, float[9,4] w) => (float[1,4] y) "
    "{{ s = Slice (i, {}) r = Gather (w, s) z = Constant <value_ints = [0]> () y = {} (r, z) }}"
)


@pytest.mark.parametrize("bounds", [(0, 7), (2, 5), (3, 3), (5, 2), (-4, -1), (6, 100), (-100, 1)])
@pytest.mark.parametrize("kind", ["ReduceSum", "ReduceMax", "ReduceMean"])
def test_slices_with_bounds_that_a_run_finds(kind: str, bounds: tuple[int, int]) -> None:
    rng = np.random.default_rng(5)
    given = {"i": rng.integers(0, 9, 7), "w": rng.standard_normal((9, 4)).astype(np.float32),
             "a": np.array(bounds[:1]), "b": np.array(bounds[1:])}  # fmt: skip
    if kind != "ReduceSum" and not given["i"][bounds[0] : bounds[1]].size:
        pytest.skip("there is no result for no rows")
    agree(BAGS.format("a, b", kind), given)


@pytest.mark.parametrize("known", ["a", "b"])
def test_one_bound_is_known(known: str) -> None:
    text = BAGS.format("{}, {}".format(*("k" if name == known else name for name in "ab")), "ReduceSum")
    text = text.replace("{ s =", "{ k = Constant <value_ints = [3]> () s =")
    given = {"i": np.arange(7), "w": np.random.default_rng(6).standard_normal((9, 4)).astype(np.float32),
             "a": np.array([1]), "b": np.array([-1])}  # fmt: skip
    agree(text, given)


def test_rows_that_a_slice_gives_are_counted() -> None:
    model = model_of("(float[6,2] x, int64[1] a, int64[1] b) => (float[N,2] y) { y = Slice (x, a, b) }")
    given = {"x": np.arange(12, dtype=np.float32).reshape(6, 2), "a": np.array([1]), "b": np.array([4])}
    assert imported(model, given)["y"].tolist() == given["x"][1:4].tolist()


OPEN_BRANCHES = """(float[7,4] w, int64[1] a, int64[1] b) => (float[1,4] y) {
    first = Constant <value_ints = [0]> () one = Constant <value_ints = [1]> () empty = Equal (a, b)
    y = If (empty) <
        then_branch = none () => (float[1,4] n) { n = Constant <value = float[1,4] {5, 6, 7, 8}> () },
        else_branch = some () => (float[1,4] s) {
            rows = Slice (w, a, b) sum = ReduceSum (rows, first) behind = Greater (a, one)
            s = If (behind) <then_branch = p () => (float[1,4] q) { q = Neg (sum) },
                             else_branch = u () => (float[1,4] v) { v = Identity (sum) }>
        }>
}"""


def without_types(graph: onnx.GraphProto) -> None:
    """Branches as PyTorch writes them: nothing is said of their results."""
    for node in graph.node:
        for branch in (attribute.g for attribute in node.attribute if attribute.HasField("g")):
            for value in branch.output:
                value.ClearField("type")
            without_types(branch)


@pytest.mark.parametrize("bounds", [(0, 3), (2, 5), (4, 4)])
def test_branches_that_declare_no_shapes(bounds: tuple[int, int]) -> None:
    """EmbeddingBag as `torch.onnx.export` writes it with `dynamo=True`."""
    model = model_of(OPEN_BRANCHES)
    without_types(model.graph)
    w = np.random.default_rng(7).standard_normal((7, 4)).astype(np.float32)
    found = imported(model, {"w": w, "a": np.array(bounds[:1]), "b": np.array(bounds[1:])})["y"]
    sum_of_rows = w[slice(*bounds)].sum(0, keepdims=True) * (-1 if bounds[0] > 1 else 1)
    np.testing.assert_allclose(found, [[5, 6, 7, 8]] if bounds[0] == bounds[1] else sum_of_rows, rtol=1e-5)


def test_branches_whose_shapes_cannot_be_found() -> None:
    model = model_of(OPEN_BRANCHES.replace("ReduceSum (rows, first)", "Identity (rows)"))
    without_types(model.graph)
    with pytest.raises(CompileError, match="an If whose condition a run finds"):
        import_model(model, make_context())


REFUSED = {
    "its shape (input 1) must be known at compile time": (
        "(float[6] x, int64[1] s) => (float[A] y) { y = Expand (x, s) }"
    ),
    "and its operand has no such one": (
        f"({HEAD}) => (float[A,B] y) {{ {PICKED} {MINUS_ONE} o = Constant <value_ints = [1]> () s = Shape (t) "
        "z = Constant <value_ints = [0]> () n = Gather (s, z) k = Concat <axis = 0> (n, all) y = Reshape (x, k) }"
    ),
    "and that of the indices is known": (
        f"({HEAD}) => (float[5,3] y) {{ {PICKED} g = GatherND (x, t) k = Constant <value = int64[15,2] "
        f"{{{', '.join(['0'] * 30)}}}> () y = ScatterND (x, k, g) }}"
    ),
    "its starts (input 1) must be known at compile time": (
        "(float[6,2] x, int64[2] a, int64[2] b) => (float[N,M] y) { y = Slice (x, a, b) }"
    ),
}  # fmt: skip


@pytest.mark.parametrize("reason", REFUSED)
def test_refusals_say_what_to_write(reason: str) -> None:
    with pytest.raises(CompileError) as raised:
        import_model(model_of(REFUSED[reason]), make_context())
    assert reason in raised.value.message
    assert "Where" in str(raised.value.hint)


KINDS = {
    "a Loop with a trip count or a condition that a run finds": (
        "(int64 n, bool c, float[2] x) => (float[2] y) { y = Loop <body = b (int64 i, bool d, float[2] p) => "
        "(bool e, float[2] q) { e = Identity (d) q = Add (p, p) }> (n, c, x) }"
    ),
    "an If whose condition a run finds": (
        "(bool c, float[2] x) => (float[A] y) { y = If <then_branch = t () => (float[2] a) { a = Neg (x) }, "
        "else_branch = f () => (float[4] b) { b = Concat <axis = 0> (x, x) }> (c) }"
    ),
}


@pytest.mark.parametrize("kind", KINDS)
def test_which_control_flow_is_refused(kind: str) -> None:
    with pytest.raises(CompileError) as raised:
        import_model(model_of(KINDS[kind]), make_context())
    assert kind in raised.value.message
    assert raised.value.hint
