"""The bound with a stated probability: it holds for roundings that are as large as may be, and is not much larger."""

import math
from typing import Any

import numpy as np
import onnx
import pytest

from mnc.accuracy import near_places, probable
from mnc.accuracy.margins import FAILURE, SAMPLES, chi_square_quantile, margin
from mnc.accuracy.probable import error_bounds
from mnc.core import events
from mnc.lowering.onnx_to_graph.evaluator import evaluator

RNG = np.random.default_rng(0)


def model(text: str) -> onnx.ModelProto:
    return onnx.parser.parse_model(f'<ir_version: 9, opset_import: ["" : 18]> g {text}')


TERMS = 2048
PRODUCT = "(float[4,2048] x, float[2048,32] w) => (float[4,32] y) { y = MatMul (x, w) }"


def factors() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(1)
    return {
        name: rng.standard_normal(shape).astype(np.float32) for name, shape in (("x", (4, TERMS)), ("w", (TERMS, 32)))
    }


@pytest.mark.parametrize(("probability", "degrees", "value"), [(0.05, 8, 2.7326), (0.01, 16, 5.8122), (0.5, 2, 1.3863)])
def test_quantiles_are_those_of_tables(probability: float, degrees: int, value: float) -> None:
    assert chi_square_quantile(probability, degrees) == pytest.approx(value, abs=1e-4)


def test_the_margin_contains_nearly_all_normal_tensors() -> None:
    """Of tensors of normal errors, none of which is known better than by its samples."""
    trials, elements = 2000, 50
    samples = RNG.standard_normal((trials, SAMPLES, elements))
    bounds = margin(elements) * np.sqrt(np.square(samples).mean(axis=1).max(axis=1))
    errors = np.abs(RNG.standard_normal((trials, elements))).max(axis=1)
    assert (errors > bounds).mean() <= FAILURE
    one = margin(1) * np.sqrt(np.square(RNG.standard_normal((100_000, SAMPLES))).mean(axis=1))
    assert (np.abs(RNG.standard_normal(100_000)) > one).mean() <= FAILURE


def largest_of_blocks(values: np.ndarray) -> np.ndarray:
    """Of eight neighbours along the last dimension, for each of them."""
    return np.repeat(np.abs(values).reshape(*values.shape[:-1], -1, 8).max(-1), 8, axis=-1)


def test_a_product_in_block_floating_point() -> None:
    """Factors cut to 18 bits of the largest of eight: the error of the product is below the bound, which is below what
    as many roundings of one sign would give."""
    inputs = factors()
    bound = error_bounds(model(PRODUCT), inputs, "pseudo-single")["y"]
    x, w = inputs["x"].astype(np.float64), inputs["w"].astype(np.float64).T

    def cut(values: np.ndarray) -> np.ndarray:
        step = 2.0 ** (np.floor(np.log2(largest_of_blocks(values))) - 17)
        return np.round(values / step) * step

    error = np.abs(cut(x) @ cut(w).T - x @ w.T).max()
    worst = 2.0**-18 * (largest_of_blocks(x) @ np.abs(w).T + np.abs(x) @ largest_of_blocks(w).T).max()
    assert error < bound < min(worst, 40 * error)


def test_a_value_given_for_a_stored_input_counts() -> None:
    stored, inputs = model(PRODUCT), factors()
    stored.graph.initializer.append(onnx.numpy_helper.from_array(np.zeros((TERMS, 32), np.float32), "w"))
    assert error_bounds(stored, inputs, "single") == error_bounds(model(PRODUCT), inputs, "single")


def test_single_is_better_than_pseudo_single() -> None:
    inputs = factors()
    bounds = [error_bounds(model(PRODUCT), inputs, precision)["y"] for precision in ("single", "pseudo-single")]
    assert bounds[0] < bounds[1]


def test_an_error_grows_where_the_model_amplifies_it() -> None:
    text = "(float[2] x) => (float[2] y) {{ s = Mul (x, x) y = {op} (s) }}"
    x = {"x": np.array([5.0, 6.0], np.float32)}
    grown, plain = (error_bounds(model(text.format(op=op)), x, "single")["y"] for op in ("Exp", "Tanh"))
    assert grown / math.exp(36.0) > 10 * 2.0**-24
    assert plain < 150 * 2.0**-24


def test_what_moves_only_is_exact_and_integers_are_too() -> None:
    moved = model("(float[2,3] x) => (float[3,2] y) { t = Transpose (x) y = Relu (t) }")
    assert error_bounds(moved, {"x": np.ones((2, 3), np.float32)}, "single") == {"y": 0.0}
    best = model("(float[2,3] x) => (int64[2,1] y) { y = ArgMax <axis = 1> (x) }")
    assert error_bounds(best, {"x": np.eye(2, 3, dtype=np.float32)}, "single") == {"y": 0.0}


SELECTED = "y = ReduceMax <keepdims = 0> (x)", "c = Constant <value = double {-0.1}> () y = Min (c, c)"


@pytest.mark.parametrize("body", SELECTED)
def test_doubles_are_rounded_when_they_come(body: str) -> None:
    """Nothing is computed with them, but the machine takes singles."""
    graph = model("(double[3,5] x) => (double y) {" + body + " }")
    x = RNG.standard_normal((3, 5))
    bound, want = error_bounds(graph, {"x": x}, "single")["y"], -0.1 if "Min" in body else x.max()
    assert abs(float(np.float32(want)) - want) < bound < 1e-5 * abs(want)
    singles = {"x": x.astype(np.float32).astype(np.float64)}
    assert "Min" in body or error_bounds(graph, singles, "single")["y"] == 0


def test_neighbours_along_every_contracted_dimension_count() -> None:
    """Channels 0 to 7 share a block with a large one: their errors are those of the large one."""
    text = "(float[1,8,3,3] x, float[1,8,1,1] w) => (float[1,1,3,3] y) { y = Conv (x, w) }"
    w = np.zeros((1, 8, 1, 1), np.float32)
    w[0, 0] = 1
    small = {"x": np.full((1, 8, 3, 3), 0.7, np.float32), "w": w}
    large = {"x": small["x"].copy(), "w": w}
    large["x"][0, 7] = 1024
    plain, grown = (error_bounds(model(text), inputs, "pseudo-single")["y"] for inputs in (small, large))
    assert grown > 100 * plain


def test_a_bound_does_not_depend_on_what_was_expected() -> None:
    """The same inputs give the same bound, whatever else was asked before."""
    inputs = factors()
    first = error_bounds(model(PRODUCT), inputs, "single")
    assert error_bounds(model(PRODUCT), inputs, "single") == first
    assert SAMPLES % 2 == 0  # the closed form of the chi-square distribution


def test_a_mask_of_huge_numbers_rounds_nothing() -> None:
    """0 and 1 times 1e30 and its difference from 1e30 are exact: what is kept is known as well as without a mask."""
    text = """(float[4, 8] x, int64[8] m) => (float[4, 8] y) <float one = {1}, float far = {-1e30}> {
        f = Cast <to = 1> (m) n = Sub (one, f) b = Mul (n, far) s = Add (x, b) y = Softmax (s)
    }"""
    x = np.random.default_rng(3).standard_normal((4, 8)).astype(np.float32)
    masks = np.arange(8) % 2, np.ones(8, int)
    masked, whole = (error_bounds(model(text), {"x": x, "m": mask}, "single")["y"] for mask in masks)
    assert 0 < masked < 4 * whole < 1e-4


def test_counts_are_exact() -> None:
    """An order is found by counting: if counts were off by a rounding, no element would have its place, and what is
    made of the first ones would have the bound of any number, or none."""
    products = "(float[7,31,4] x) => (float[7,5] y) { q = ReduceSumSquare <keepdims = 0> (x, axes) "
    x = {"x": np.random.default_rng(4).standard_normal((7, 31, 4)).astype(np.float32)}
    text = products.replace(" {", " <int64[1] axes = {2}, int64[1] k = {5}> {")
    first, roots = (text + f"v, i = TopK <largest = 0> (q, k) y = {last} (v) }}" for last in ("Identity", "Sqrt"))
    whole = error_bounds(model(text.replace("[7,5]", "[7,31]") + "y = Identity (q) }"), x, "single")["y"]
    assert 0 < error_bounds(model(first), x, "single")["y"] < 8 * whole < 1e-3
    assert 0 < error_bounds(model(roots), x, "single")["y"] < 1e-4


def test_what_is_written_at_computed_places_is_exact() -> None:
    """The largest place that writes to an element is no sum and rounds nothing, not even next to zero. A sum of zeros
    and one update adds nothing."""
    text = "(float[4,5] x, int64[3,2] i, float[3] u) => (float[4,5] y) { y = ScatterND (x, i, u) }"
    rng = np.random.default_rng(6)
    x, u = (rng.standard_normal(shape).astype(np.float32) for shape in ((4, 5), 3))
    inputs = {"x": x, "i": np.array([[0, 1], [3, 4], [-1, 0]]), "u": u}
    assert error_bounds(model(text), inputs, "pseudo-single")["y"] == 0
    rounded = text.replace("(x, i, u)", "(x, i, e)").replace("{", "{ e = Exp (u)")
    assert 0 < error_bounds(model(rounded), inputs, "pseudo-single")["y"] < 1e-4


def test_a_sum_of_a_term_and_what_is_zero_but_for_rounding_rounds() -> None:
    text = """(float[1,1] x, float[1,1] a, float[1,1] b) => (float[1] y) <int64[1] axes = {1}> {
        c = Exp (a) e = Exp (b) d = Sub (c, e) s = Concat <axis = 1> (x, d) y = ReduceSum <keepdims = 0> (s, axes)
    }"""
    inputs = {"x": np.full((1, 1), 1e6, np.float32)} | dict.fromkeys("ab", np.ones((1, 1), np.float32))
    assert error_bounds(model(text), inputs, "single")["y"] > 1e6 * 2.0**-24


@pytest.mark.parametrize("op", ["Gather", "GatherElements"])
def test_a_place_that_rounding_moves_behind_the_end(op: str) -> None:
    """The last float below 100, over 10, is below 10, and not below it with an error."""
    text = f"""(float[2] x, float[10] t) => (float[2] y) <float tenth = {{0.1}}> {{
        q = Mul (x, tenth) f = Floor (q) i = Cast <to = 7> (f) y = {op} (t, i)
    }}"""
    inputs = {"x": np.nextafter(np.array([100, 95], np.float32), np.float32(0)), "t": np.arange(10, dtype=np.float32)}
    assert error_bounds(model(text), inputs, "single")["y"] >= 0


@pytest.mark.parametrize("precision", ["single", "pseudo-single"])
def test_a_product_of_small_integers_is_exact(precision: Any) -> None:
    text = "(float[4,9] x, float[9,3] w) => (float[4,3] y) { y = MatMul (x, w) }"
    rng = np.random.default_rng(5)
    x, w = (rng.integers(-900, 900, shape).astype(np.float32) for shape in ((4, 9), (9, 3)))
    assert error_bounds(model(text), {"x": x, "w": w}, precision)["y"] == 0
    assert error_bounds(model(text), {"x": 100 * x, "w": w}, precision)["y"] > 0
    assert error_bounds(model(text), {"x": x, "w": w + np.float32(0.1)}, precision)["y"] > 0


@pytest.mark.parametrize("body", ["y = Mul (x, s)", "y = MatMul (x, s)"])
def test_results_in_halves_that_are_below_the_normal_ones(body: str) -> None:
    """They lie on a grid, so that the error is no share of the value."""
    text = f"(float16[3,3] x, float16[3,3] s) => (float16[3,3] y) {{ {body} }}"
    inputs = {name: np.full((3, 3), 1e-4, np.float16) * np.arange(1, 4, dtype=np.float16) for name in "xs"}
    doubles = {name: value.astype(np.float64) for name, value in inputs.items()}
    exact: Any = evaluator(model(text.replace("float16[", "double["))).run(None, doubles)
    halves: Any = evaluator(model(text)).run(None, inputs)
    error = float(np.abs(halves[0] - exact[0]).max())
    assert error > 2 * np.abs(exact[0]).max() * 2.0**-11
    assert error <= error_bounds(model(text), inputs, "single")["y"] < 2.0**-20


QUANTISED = """(float[60,50] x, float[50,40] w) => (int8[60,40] y, int64[60,40] best, bool[60,40] positive)
<float scale = {0.1}, int8 zero = {0}, float nothing = {0.0}, int64[1] k = {40}>
{
    p = MatMul (x, w)
    y = QuantizeLinear (p, scale, zero)
    values, best = TopK (p, k)
    positive = Greater (p, nothing)
}"""


def test_quantised_results_may_come_out_on_the_other_side_of_an_edge() -> None:
    """Places in an order and comparisons may not."""
    rng = np.random.default_rng(3)
    inputs = {name: rng.standard_normal(n).astype(np.float32) for name, n in (("x", (60, 50)), ("w", (50, 40)))}
    bounds = error_bounds(model(QUANTISED), inputs, "pseudo-single")
    assert bounds == {"y": 1.0, "best": 0.0, "positive": 0.0}


def test_what_rounds_nothing_is_evaluated_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Large tensors in sixteen evaluations take minutes and fill the memory; progress is told while they do."""
    told: list[events.Event] = []
    calls: list[str] = []
    original = probable.evaluate_operation

    def counted(op: Any, *operands: Any, **how: Any) -> Any:
        calls.append(op.operation.name)
        return original(op, *operands, **how)

    for module in (probable, near_places):
        monkeypatch.setattr(module, "evaluate_operation", counted)
    text = "(float[4] x, float[4] z) => (float[4] y) { r = Relu (x) n = Neg (r) y = Mul (n, z) }"
    x = {name: np.array([1 / 3, 2, 3, 4], np.float32) for name in "xz"}
    with events.listening(told.append):
        assert error_bounds(model(text), x, "single")["y"] > 0
    assert calls.count("graph.relu") == 2 and calls.count("graph.mul") == 2 * (SAMPLES + 1)  # machine and reference
    assert [event.name for event in told if event.kind == "node"][-3:] == ["relu", "neg", "mul"]
