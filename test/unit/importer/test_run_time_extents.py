"""Values whose extents a run finds: which operators take them, and what is refused."""

import sys
from pathlib import Path

import numpy as np
import pytest

from mnc.core.context import make_context
from mnc.core.diagnostics import CompileError
from mnc.core.run_time_extents import RunTimeExtent, without_padding
from mnc.dialects.graph.run_time_extents import EXTENTS, noted_extents
from mnc.lowering.onnx_to_graph.importer import import_model
from mnc.lowering.onnx_to_graph.refusals import find_refusals

sys.path.insert(0, str(Path(__file__).parent))
from counted_rows import agree, imported, model_of

MASKS = {"none": 0.0, "some": 0.5, "all": 1.0}
HEAD = "bool[6] m, float[6,4] x, float[4,3] w, float[1,4] b"


def values(mask: str) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(3)
    given = {name: rng.standard_normal(shape).astype(np.float32)
             for name, shape in (("x", (6, 4)), ("w", (4, 3)), ("b", (1, 4)))}  # fmt: skip
    return {"m": rng.random(6) < MASKS[mask], **given}


ROWS = "i = NonZero (m) t = Transpose (i) r = GatherND (x, t)"  # r: the rows of x where m holds
TAKEN = {
    "elementwise": ("float[N,4] y", f"{ROWS} a = Add (r, b) c = Mul (a, r) y = Relu (c)"),
    "broadcast against itself": ("float[N,N] y", f"{ROWS} z = Constant <value_ints = [1]> () "
                                 "c = ReduceSum (r, z) d = Transpose (c) y = Sub (c, d)"),
    "cast": ("int32[N,4] y", f"{ROWS} y = Cast <to = 6> (r)"),
    "cast like": ("float[1,N] y", "i = NonZero (m) y = CastLike (i, b)"),
    "where": ("float[N,4] y", f"{ROWS} g = Greater (r, b) y = Where (g, r, b)"),
    "transpose": ("float[4,N] y", f"{ROWS} y = Transpose (r)"),
    "squeeze": ("int64[N] y", "i = NonZero (m) z = Constant <value_ints = [0]> () y = Squeeze (i, z)"),
    "unsqueeze": ("float[1,N,4] y", f"{ROWS} z = Constant <value_ints = [0]> () y = Unsqueeze (r, z)"),
    "flatten": ("float[N,4] y", f"{ROWS} z = Constant <value_ints = [1]> () u = Unsqueeze (r, z) y = Flatten (u)"),
    "reshape to rows": ("float[N,2,2] y", f"{ROWS} z = Constant <value_ints = [-1,2,2]> () y = Reshape (r, z)"),
    "reshape to a vector": ("float[M] y", f"{ROWS} z = Constant <value_ints = [-1]> () y = Reshape (r, z)"),
    "slice of rows": ("float[M,4] y", f"{ROWS} s = Constant <value_ints = [1]> () e = Constant <value_ints = [4]> () "
                      "a = Constant <value_ints = [0]> () y = Slice (r, s, e, a)"),
    "slice of columns": ("float[N,2] y", f"{ROWS} s = Constant <value_ints = [-1]> () "
                         "e = Constant <value_ints = [0]> () a = Constant <value_ints = [1]> () "
                         "t2 = Constant <value_ints = [-2]> () y = Slice (r, s, e, a, t2)"),
    "split": ("float[N,2] y", f"{ROWS} y, q = Split <axis = 1, num_outputs = 2> (r)"),
    "concat of columns": ("float[N,8] y", f"{ROWS} e = Exp (r) y = Concat <axis = 1> (r, e)"),
    "concat at the end": ("float[M,4] y", f"{ROWS} y = Concat <axis = 0> (x, b, r)"),
    "gather by indices": ("float[4,N] y", "i = NonZero (m) z = Constant <value_ints = [0]> () s = Squeeze (i, z) "
                          "t = Transpose (x) y = Gather <axis = 1> (t, s)"),
    "gather of columns": ("float[N] y", f"{ROWS} z = Constant <value_int = 2> () y = Gather <axis = 1> (r, z)"),
    "gather by computed indices": (
        "float[N,4] y", "i = NonZero (m) z = Constant <value_ints = [0]> () s = Squeeze (i, z) "
        "c = Constant <value_int = 5> () d = Sub (s, c) y = Gather (x, d)"),
    "gather from the end": ("float[4,M] y", f"{ROWS} z = Constant <value_ints = [-1]> () q = Sub (z, z) "
                            "s = Reshape (t, z) u = Transpose (r) n = Size (s) "
                            "j = NonZero (s) k = Squeeze (j, q) o = Sub (k, n) y = Gather <axis = 1> (u, o)"),
    "gather elements": ("float[N,1] y", "i = NonZero (m) t = Transpose (i) y = GatherElements (x, t)"),
    "one-hot": ("float[1,N,6] y", "i = NonZero (m) d = Constant <value_int = 6> () "
                "v = Constant <value_floats = [0.0, 1.0]> () y = OneHot (i, d, v)"),
    "expanded to a shape": ("int64[N,2] y, float[N,4] z", f"{ROWS} o = Constant <value_ints = [1,2]> () "
                            "s = Shape (t) u = Identity (t) v = Expand (u, s) y = Expand (v, o) p = Shape (r) "
                            "z = Expand (b, p)"),
    "constant of a shape": ("float[N,4] y", f"{ROWS} s = Shape (r) c = ConstantOfShape (s) y = Add (r, c)"),
    "softmax of rows": ("float[N,4] y", f"{ROWS} y = Softmax (r)"),
    "largest of rows": ("int64[N] y", f"{ROWS} y = ArgMax <axis = 1, keepdims = 0> (r)"),
    "first of rows": ("float[N,2] y", f"{ROWS} k = Constant <value_ints = [2]> () y, q = TopK (r, k)"),
    "normalization of rows": ("float[N,4] y", f"{ROWS} s = ReduceSum <keepdims = 0> (w) z = Constant <value_ints=[4]>()"
                              " g = Expand (s, z) y = LayerNormalization (r, g)"),
    "product": ("float[N,3] y", f"{ROWS} y = MatMul (r, w)"),
    "product by columns": ("float[3,N] y", f"{ROWS} t1 = Transpose (r) t2 = Transpose (w) y = MatMul (t2, t1)"),
    "product with a vector": ("float[N] y", f"{ROWS} z = Constant <value_ints = [0]> () v = Squeeze (b, z) "
                              "y = MatMul (r, v)"),
    "general product": ("float[N,3] y", f"{ROWS} y = Gemm (r, w)"),
    "general product, transposed": ("float[N,3] y", f"{ROWS} q = Transpose (r) y = Gemm <transA = 1> (q, w)"),
    "running sum": ("float[N,4] y", f"{ROWS} z = Constant <value_ints = [0] > () y = CumSum (r, z)"),
    "shape": ("int64[2] y", f"{ROWS} y = Shape (r)"),
    "part of the shape": ("int64[1] y, int64[1] z", f"{ROWS} y = Shape <end = 1> (r) z = Shape <start = 1> (r)"),
    "size": ("int64 y", f"{ROWS} y = Size (r)"),
    "sum of all": ("float y", f"{ROWS} e = Exp (r) y = ReduceSum <keepdims = 0> (e)"),
    "sum of columns": ("float[1,4] y", f"{ROWS} z = Constant <value_ints = [0]> () e = Exp (r) y = ReduceSum (e, z)"),
    "product of all": ("float[4] y", f"{ROWS} z = Constant <value_ints = [0]> () y = ReduceProd <keepdims=0> (r, z)"),
    "norm": ("float[4] y", f"{ROWS} z = Constant <value_ints = [0]> () y = ReduceL2 <keepdims = 0> (r, z)"),
    "mean of rows": ("float[N] y", f"{ROWS} z = Constant <value_ints = [1]> () y = ReduceMean <keepdims = 0> (r, z)"),
    "norm of rows": ("float[N,1] y", f"{ROWS} z = Constant <value_ints = [1]> () y = ReduceLogSumExp (r, z)"),
    "again": ("int64[2,N] y", f"{ROWS} y = NonZero (r)"),
    "one mask twice": ("float[N,4] y", f"{ROWS} j = NonZero (m) u = Transpose (j) q = GatherND (x, u) y = Mul (q, r)"),
    "pictures": ("float[N,1,2,2] y", f"{ROWS} z = Constant <value_ints = [-1,1,2,2]> () p = Reshape (r, z) "
                 "k = Constant <value_ints = [1,1,1,1]> () v = Slice (w, s0, s1) f = Reshape (v, k) y = Conv (p, f)"
                 .replace("v = Slice", "s0 = Constant <value_ints=[0,0]> () s1 = Constant <value_ints=[1,1]> () "
                          "v = Slice")),
}  # fmt: skip


@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("case", TAKEN)
def test_operators_that_take_them(case: str, mask: str) -> None:
    if (case, mask) == ("flatten", "none"):
        pytest.skip("the reference does not flatten a tensor without elements")
    results, nodes = TAKEN[case]
    agree(f"({HEAD}) => ({results}) {{ {nodes} }}", values(mask))


@pytest.mark.parametrize("kind", ["ReduceMax", "ReduceMin", "ReduceMean"])
@pytest.mark.parametrize("to", [1, 6])
def test_reductions_without_a_result_for_no_rows(kind: str, to: int) -> None:
    element = {1: "float", 6: "int32"}[to]
    nodes = f"{ROWS} c = Cast <to = {to}> (r) z = Constant <value_ints = [0]> () y = {kind} (c, z)"
    for mask in ("some", "all"):
        agree(f"({HEAD}) => ({element}[1,4] y) {{ {nodes} }}", values(mask))


REFUSED = {
    "dimension 0 of its input 0 'r' is, at most 6, and the operator works along it": [
        "y = Softmax <axis = 0> (r)", "k = Constant <value_ints = [2]> () y, q = TopK <axis = 0> (r, k)",
        "z = Constant <value_ints = [0]> () y = ReduceLogSumExp (r, z)",
        "q = ArgMin <axis = 0> (r) y = Cast <to = 1> (q)",
    ],
    "input 1 'r' is, at most 6, and products along it are added up": ["v = Transpose (x) y = MatMul (v, r)"],
    "and there it meets one of 6": ["y = Add (r, x)"],
    "and there it meets another one that a run finds": [
        "n = Not (m) j = NonZero (n) u = Transpose (j) q = GatherND (x, u) y = Add (r, q)",
    ],
    "and the shape has 6 there": ["s = Constant <value_ints = [6,4]> () y = Expand (r, s)"],
    "and the shape has another one that a run finds there": [
        "n = Not (m) j = NonZero (n) u = Transpose (j) q = GatherND (x, u) s = Shape (q) y = Expand (r, s)",
    ],
    "which this operator does not take": [
        "z = Constant <value_ints = [2,1]> () y = Tile (r, z)",
    ],
    "and sums begin at its end": ["z = Constant <value_ints = [0] > () y = CumSum <reverse = 1> (r, z)"],
    "and something follows its padding": ["y = Concat <axis = 0> (r, x)"],
    "and another input has another extent there": ["y = Concat <axis = 1> (r, x)"],
    "and rows of [6, 6] and [3, 12] begin at other elements": [
        "v = Transpose (x) s = MatMul (r, v) z = Constant <value_ints = [-1,12]> () y = Reshape (s, z)"],
    "and the slice counts from its end": [
        "s = Constant <value_ints = [-2]> () e = Constant <value_ints = [9]> () y = Slice (r, s, e)",
        "s = Constant <value_ints = [0]> () e = Constant <value_ints = [9]> () z = Constant <value_ints = [0]> () "
        "p = Constant <value_ints = [2]> () y = Slice (r, s, e, z, p)"],
    "and elements are taken along it": ["z = Constant <value = int64[1,1] {0}> () y = GatherND (r, z)"],
}  # fmt: skip


@pytest.mark.parametrize(("reason", "nodes"), [(reason, nodes) for reason, own in REFUSED.items() for nodes in own])
def test_refusals_name_the_node_and_the_reason(reason: str, nodes: str) -> None:
    model = model_of(f"({HEAD}) => (float[A,B] y) {{ {ROWS} {nodes} }}")
    for node in model.graph.node:
        node.name = f"the {node.op_type}"
    with pytest.raises(CompileError) as raised:
        import_model(model, make_context())
    assert reason in raised.value.message
    assert "a run finds how long dimension" in raised.value.message
    assert str(raised.value.node).startswith("the ")
    assert "on the host" in str(raised.value.hint)


def test_a_shape_that_a_run_finds_is_not_known_when_compiling() -> None:
    nodes = f"{ROWS} s = Shape (r) v = Add (s, s) y = ConstantOfShape (v)"
    with pytest.raises(CompileError, match="must be known at compile time"):
        import_model(model_of(f"({HEAD}) => (float[A,B] y) {{ {nodes} }}"), make_context())


def test_counts_of_constants_are_known() -> None:
    """No row is counted by the machine where the mask is a constant: shapes follow from it."""
    nodes = "c = Constant <value_ints = [0,3,0,1]> () i = NonZero (c) s = Shape (i) y = ConstantOfShape (s)"
    model = model_of(f"(float[1] x) => (float[A,B] y, int64[1,B] i) {{ {nodes} }}")
    found = imported(model, {"x": np.zeros(1, np.float32)})
    assert found["y"].shape == (1, 2)
    assert found["i"].tolist() == [[1, 3]]
    module = import_model(model, make_context())
    assert noted_extents(module) == ()


def test_counts_are_called_by_names_that_are_free() -> None:
    model = model_of(f"({HEAD}) => (float[N,4] y) {{ {ROWS} y = Relu (r) }}")
    model.graph.input[1].name = "y.rows"
    for node in model.graph.node:
        for i, name in enumerate(node.input):
            node.input[i] = "y.rows" if name == "x" else name
    module = import_model(model, make_context())
    assert noted_extents(module) == (RunTimeExtent("y", 0, "y.rows1"),)


def test_a_note_of_another_form_is_refused() -> None:
    module = import_model(model_of(f"({HEAD}) => (float[N,4] r) {{ {ROWS} }}"), make_context())
    with module.context:
        noted = str(module).replace('output = "r"', "output = 1")
        changed = type(module).parse(noted)
        assert EXTENTS in noted
        with pytest.raises(CompileError, match="has the attribute"):
            noted_extents(changed)


def test_exported_extents_of_a_sample_do_not_count() -> None:
    """Exporters declare the rows that they saw."""
    agree_text = f"({HEAD}) => (float[2,4] r) {{ {ROWS} }}"
    found = imported(model_of(agree_text), values("all"))
    assert found["r"].shape == (6, 4)


def test_all_refusals_are_found() -> None:
    nodes = f"{ROWS} z = Constant <value_ints = [2,1]> () y = Tile (r, z) v = Softmax <axis = 0> (r)"
    found = find_refusals(model_of(f"({HEAD}) => (float[A,B] y, float[A,B] v) {{ {nodes} }}"), make_context())
    assert [error.op_type for error in found.refused] == ["Tile", "Softmax"]


def test_updates_have_static_shapes() -> None:
    model = model_of(f"({HEAD}) => (float[N,4] r) {{ {ROWS} }}")
    with pytest.raises(CompileError, match="along dimension 0 as a run finds"):
        import_model(model, make_context(), updates={"x": "r"})


def test_results_lose_their_padding() -> None:
    results = {"y": np.arange(12).reshape(3, 4), "n": np.array(2), "z": np.arange(3)}
    found = without_padding(results, [RunTimeExtent("y", 1, "n"), RunTimeExtent("y", 0, "n")])
    assert found["y"].tolist() == [[0, 1], [4, 5]]
    assert list(found) == ["y", "z"]
