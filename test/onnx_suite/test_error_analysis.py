"""The bounds of the suite bound what they should, and are not much larger."""

import re
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest

sys.path.insert(0, str(Path(__file__).parent))
from tolerances import judge

from mnc.accuracy.error_rules import RULES
from mnc.accuracy.rounding import MACHINE, MEASURED
from mnc.accuracy.worst_case import error_bounds
from mnc.passes.graph.decomposition import HANDLERS
from mnc.passes.graph.semantics import DEFINITIONS


def _bound(text: str, **values: np.ndarray) -> np.ndarray:
    model = onnx.parser.parse_model(f'<ir_version: 9, opset_import: ["" : 18]> g {text}')
    return error_bounds(model, values, "single")[0]


def test_every_operation_has_a_rule_or_is_decomposed() -> None:
    integers_only = {"exp", "pool", "div"}  # handlers that refine an operation which has a rule as well
    assert set(DEFINITIONS) - set(RULES) <= set(HANDLERS) - integers_only


def test_moving_is_exact() -> None:
    bound = _bound("(float[2,3] x) => (float[3,2] y) { t = Transpose (x) y = Relu (t) }", x=np.ones((2, 3), np.float32))
    assert (bound == 0).all()


def test_integers_are_exact_also_where_they_decide() -> None:
    text = "(int64[4] x) => (int64[4] y) { y = Mul (x, x) }"
    assert (_bound(text, x=np.arange(4)) == 0).all()


def test_a_cancelled_sum_keeps_the_error_of_its_terms() -> None:
    x = np.array([1e4, -1e4, 1.0], np.float32)
    bound = _bound("(float[3] x) => (float y) { y = ReduceSum <keepdims = 0> (x) }", x=x)
    assert 2e4 * 2.0**-24 < bound < 2e4 * 2.0**-19


def test_an_error_grows_where_the_model_amplifies_it() -> None:
    text = "(float[2] x) => (float[2] y) {{ s = Mul (x, x) y = {op} (s) }}"
    x = np.array([5.0, 6.0], np.float32)
    grown, plain = _bound(text.format(op="Exp"), x=x), _bound(text.format(op="Tanh"), x=x)
    assert (grown / np.exp(x**2) > 10 * 2.0**-24).all()
    assert (plain < 20 * 2.0**-24).all()


def test_a_border_between_integers_that_an_error_reaches() -> None:
    """The product of 1/3 and 3 may be 1 or a little less; 2.5 is far from the next integer."""
    text = """(float[2] x) => (float[2] y) {
        c = Constant <value = float {3.0}> () r = Mul (x, c) y = Floor (r) }"""
    bound = _bound(text, x=np.array([1 / 3, 2.5 / 3], np.float32))
    assert bound[0] == pytest.approx(2, abs=1)
    assert bound[1] == 0


def test_a_selection_of_booleans_by_a_condition_that_may_change() -> None:
    """The product of 1/3 and 3 may be 1 or a little less; 2.5 is far from 1."""
    text = """(float[2] x, bool[2] a, bool[2] b) => (bool[2] y) {
        c = Constant <value = float {3.0}> () one = Constant <value = float {1.0}> ()
        r = Mul (x, c) m = Less (r, one) y = Where (m, a, b) }"""
    choices = {"a": np.array([True, True]), "b": np.array([False, False])}
    bound = _bound(text, x=np.array([1 / 3, 2.5 / 3], np.float32), **choices)
    assert bound[0] >= 1
    assert bound[1] == 0


def test_a_wrong_value_is_seen() -> None:
    x = np.random.default_rng(0).standard_normal((8, 16)).astype(np.float32)
    w = np.random.default_rng(1).standard_normal((16, 8)).astype(np.float32)
    bound = _bound("(float[8,16] x, float[16,8] w) => (float[8,8] y) { y = MatMul (x, w) }", x=x, w=w)
    want = x @ w
    assert judge(want, want, bound).passed
    wrong = want.copy()
    wrong[3, 4] *= 1 + 2.0**-10
    assert not judge(wrong, want, bound).passed
    assert not judge(want.astype(np.float64), want, bound).passed


def test_tables_come_from_the_measurements() -> None:
    page = (Path(__file__).parents[2] / "docs" / "transcendentals.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(\w+)` \|[^|]*\| ([0-9.]+) \|", page.partition("## Cost")[0], re.MULTILINE)
    for name, error in MEASURED.items():
        assert error == max(float(text) for function, text in rows if function == name)
    assert MEASURED["exp"] < 2 < MACHINE["single"].functions["tanh"] < 4
    assert MACHINE["pseudo-single"].conversion_bits == 18
