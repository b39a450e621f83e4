"""Sizes that a model computes from shapes, as exporters write them, and sizes that depend on inputs."""

import sys
from pathlib import Path

import numpy as np
import pytest
from onnx import numpy_helper

from mnc.core.context import make_context
from mnc.core.diagnostics import CompileError
from mnc.lowering.onnx_to_graph import import_model
from mnc.lowering.onnx_to_graph.evaluator import evaluator

sys.path.insert(0, str(Path(__file__).parent))
from counted_rows import imported, model_of

RNG = np.random.default_rng(2)
NUMBERS = """zero = Constant <value_ints = [0]> () one = Constant <value_ints = [1]> ()
    none = Constant <value_int = 0> () single = Constant <value_int = 1> () two = Constant <value_int = 2> ()
    all = Constant <value_ints = [-1]> () """
EXTENTS = "s = Shape (x) n = Gather (s, single) b = Gather (s, none) nv = Unsqueeze (n, zero) bv = Unsqueeze (b, zero) "

COMPUTED = {
    "rows of a batch": "float[A,B,C] x) => (float[D,E] y) { k = Concat <axis = 0> (bv, all) y = Reshape (x, k)",
    "positions": "float[A,B,C] x) => (int64[D,E] y) { r = Range (none, n, single) u = Unsqueeze (r, zero) "
    "k = Concat <axis = 0> (bv, all) i = ConstantOfShape <value = int64[1] {1}> (one) "
    "m = Constant <value_int = -1> () h = Equal (k, m) o = Constant <value_ints = [1, 1]> () "
    "w = Where (h, o, k) y = Expand (u, w)",
    "a causal mask": "float[A,B,C] x) => (float[D,E,F,G] y) { k = Concat <axis = 0> (nv, nv) "
    "f = ConstantOfShape <value = float[1] {-1000.0}> (k) t = Trilu <upper = 1> (f, single) "
    "p = Constant <value_ints = [0, 1]> () u = Unsqueeze (t, p) w = Concat <axis = 0> (bv, one, nv, nv) "
    "y = Expand (u, w)",
    "lengths": "float[A,B,C] x, int64[A] l) => (bool[D,E] y) { r = Range (none, n, single) u = Unsqueeze (r, zero) "
    "q = Unsqueeze (l, one) y = Less (u, q)",
    "half of the columns": "float[A,B,C] x) => (float[D,E,F] y) { h = Div (n, two) v = Unsqueeze (h, zero) "
    "y = Slice (x, zero, v, one)",
    "a full window": "float[A,B,C] x) => (float[D,E,F] y) { four = Constant <value_int = 4> () g = Neg (n) "
    "r = Mod (g, four) v = Unsqueeze (r, zero) z = Constant <value_ints = [0, 0, 0, 0]> () "
    "k = Concat <axis = 0> (z, v, zero) y = Pad (x, k)",
    "twice the columns": 'float[A,B,C] x) => (float[D,E,F] y) { d = Mul (n, two) v = Unsqueeze (d, zero) '
    'e = Constant <value_ints = [2]> () c = Gather (s, e) k = Concat <axis = 0> (bv, v, c) '
    'y = Resize <mode = "nearest"> (x, , , k)',
    "a row for all": "float[A,B,C] x) => (float[D,E,F] y) { w = Constant <value = float[1,1,4] {1, 2, 3, 4}> () "
    "k = Concat <axis = 0> (bv, one, one) t = Tile (w, k) y = Concat <axis = 1> (t, x)",
    "a written border": "float[A,B,C] x) => (float[D,E] y) { k = Concat <axis = 0> (nv, nv) f = ConstantOfShape (k) "
    "i = Constant <value = int64[1,1] {0}> () v = ConstantOfShape <value = float[1] {1.0}> (nv) "
    "u = Unsqueeze (v, zero) y = ScatterND (f, i, u)",
}  # fmt: skip


@pytest.mark.parametrize("name", COMPUTED)
def test_sizes_from_shapes(name: str) -> None:
    model = model_of(f"({COMPUTED[name].replace('{', '{' + NUMBERS + EXTENTS, 1)} }}")
    inputs = {"x": RNG.standard_normal((2, 6, 4)).astype(np.float32), "l": np.array([3, 6])}
    inputs = {value.name: inputs[value.name] for value in model.graph.input}
    for value in model.graph.input:  # open extents get values when compiling
        for dim, extent in zip(value.type.tensor_type.shape.dim, inputs[value.name].shape, strict=True):
            dim.dim_value = extent
    (wanted,) = evaluator(model).run(None, inputs)
    np.testing.assert_allclose(imported(model, inputs)["y"], np.asarray(wanted))


def test_a_size_that_is_an_input_is_refused_and_the_hint_works() -> None:
    model = model_of("(float[1,6] x, int64[2] k) => (float[A,B] y) { y = Expand (x, k) }")
    with pytest.raises(CompileError, match="but depends on input 'k'") as caught:
        import_model(model, make_context())
    assert "initializer of the same name fixes an input: add one for 'k'" in str(caught.value.hint)
    model.graph.initializer.append(numpy_helper.from_array(np.array([3, 6]), "k"))
    x = RNG.standard_normal((1, 6)).astype(np.float32)
    np.testing.assert_array_equal(imported(model, {"x": x})["y"], np.repeat(x, 3, 0))


def test_inputs_of_which_only_shapes_matter_are_not_named() -> None:
    text = "(float[2,6] x, int64 l, int64 m) => (int64[A] y) {" + NUMBERS + EXTENTS
    model = model_of(text + "p = Add (n, l) q = Max (p, m) y = Range (none, q, single) }")
    with pytest.raises(CompileError, match="depends on inputs 'l', 'm'\n") as caught:
        import_model(model, make_context())
    assert "Where" in str(caught.value.hint)
