"""Choices between values that rounding can put in another order: they are undecided, and nothing else is."""

import numpy as np
import onnx
import pytest

from mnc.accuracy.margins import FAILURE, SAMPLES, margin_of_choices
from mnc.accuracy.probable import allowances
from mnc.reference import compare

THIRD = float(np.float32(1 / 3))
ADDED = np.array([[THIRD], [THIRD], [1]], np.float32)
X = np.array([[1, 1 + 2.0**-23], [1, 2], [1, 1]], np.float32)
"""With what is added: two numbers that rounding can exchange, two that it cannot, and two that are equal and exact."""


def model(body: str, result: str) -> onnx.ModelProto:
    text = f"(float[3,2] x, float[3,1] c, float limit) => ({result}) {{ p = Add (x, c) {body} }}"
    return onnx.parser.parse_model(f'<ir_version: 9, opset_import: ["" : 18]> g {text}')


def values() -> dict[str, np.ndarray]:
    return {"x": X, "c": ADDED, "limit": np.array(1 + THIRD, np.float32)}


CHOSEN = {
    "a place": ("y = ArgMax <axis = 1> (p)", "int64[3,1] y", [[1], [0], [0]]),
    "the last place": ("y = ArgMin <axis = 1, select_last_index = 1> (p)", "int64[3,1] y", [[1], [0], [0]]),
    "what a place gives": ("b = ArgMax <axis = 1, keepdims = 0> (p) y = Add (b, b)", "int64[3] y", [1, 0, 0]),
    "an order": ("n = Constant <value_ints = [1]> () v, y = TopK (p, n)", "int64[3,1] y", [[1], [0], [0]]),
    "a comparison": ("y = Greater (p, limit)", "bool[3,2] y", [[1, 1], [1, 0], [0, 0]]),
    "equality": ("y = Equal (p, limit)", "bool[3,2] y", [[1, 1], [1, 0], [0, 0]]),
    "two of one kind": ("a = Less (p, limit) b = Greater (p, limit) y = Xor (a, b)", "bool[3,2] y",
                        [[1, 1], [1, 0], [0, 0]]),
    "a selection": ("a = Less (p, limit) b = Where (a, x, c) d = Add (b, c) y = Greater (d, limit)", "bool[3,2] y",
                    [[1, 1], [1, 0], [0, 0]]),
    "an integer": ("d = Sub (p, c) y = Cast <to = 7> (d)", "int64[3,2] y", [[1, 1], [1, 1], [0, 0]]),
    "a sign": ("d = Sub (p, limit) e = Sign (d) y = Cast <to = 9> (e)", "bool[3,2] y", [[1, 1], [1, 0], [0, 0]]),
    "another number": ("n = IsNaN (p) y = Not (n)", "bool[3,2] y", [[0, 0], [0, 0], [0, 0]]),
    "the same error": ("q = Max (p, x) y = Greater (q, p)", "bool[3,2] y", [[0, 0], [0, 0], [0, 0]]),
}  # fmt: skip


@pytest.mark.parametrize("name", CHOSEN)
def test_what_is_closer_than_rounding_explains_is_undecided(name: str) -> None:
    body, result, want = CHOSEN[name]
    allowed = allowances(model(body, result), values(), "single")["y"]
    assert allowed.bound == 0
    np.testing.assert_array_equal(allowed.undecided, np.array(want, bool))


def test_only_undecided_elements_may_differ() -> None:
    graph, inputs = model("y = ArgMax <axis = 1> (p)", "int64[3,1] y"), values()
    (right,) = compare(graph, {"y": np.array([[1], [1], [0]])}, inputs, "single")
    (other,) = compare(graph, {"y": np.array([[0], [1], [0]])}, inputs, "single")
    (wrong,) = compare(graph, {"y": np.array([[0], [1], [1]])}, inputs, "single")
    assert [row.undecided for row in (right, other, wrong)] == [1, 1, 1]
    assert sorted([right.undecided_that_differ, other.undecided_that_differ]) == [0, 1]  # the reference rounds as well
    assert right.passed and other.passed and not wrong.passed and wrong.error == 1


def test_a_choice_that_is_decided_turns_rarely() -> None:
    """Normal errors at any distance, as large as their bounds: what the margin is made for."""
    trials, rng = 1_000_000, np.random.default_rng(1)
    spread = np.sqrt(rng.chisquare(SAMPLES, trials) / SAMPLES)
    error = np.abs(rng.standard_normal(trials))
    for distance in np.arange(0.5, 6, 0.5):
        decided = margin_of_choices(1) * spread < distance
        assert np.mean(decided & (error > distance)) < FAILURE
    assert margin_of_choices(1) < margin_of_choices(1000) < 4 * margin_of_choices(1)
