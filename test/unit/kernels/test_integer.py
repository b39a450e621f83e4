"""Integer products and conversions: exact over the full range."""

import numpy as np
import pytest

from mnc.mncore_backend.kernels.vector.body import INTEGER_PREDICATES

from .harness import apply

RANDOM = np.random.default_rng(3)
EDGES = np.array([0, 1, -1, 2, 2047, 2048, 65535, 65536, 16777217, -16777217, 2**31 - 1, -(2**31)], dtype=np.int64)


def integers(count: int = 8192) -> np.ndarray:
    wide = RANDOM.integers(-(2**31), 2**31, count // 2)
    narrow = RANDOM.integers(-3, 4, count // 2)
    values = np.concatenate([wide, narrow])
    values[: len(EDGES)] = EDGES
    return values.astype(np.int32)


def wrap(values: np.ndarray) -> np.ndarray:
    return (values & 0xFFFFFFFF).astype(np.uint32).view(np.int32)


def test_product() -> None:
    x, y = integers(), np.roll(integers(), 5)
    result = apply(lambda b, u, v: b.op("muli", u, v), x, y, types=("i32", "i32"), result=np.int32)
    np.testing.assert_array_equal(result, wrap(x.astype(np.int64) * y))


@pytest.mark.parametrize("factor", [0, 1, -1, 5, 12345, -7, 0x7FFFFFFF, -(2**31), 1000003])
def test_product_with_a_constant(factor: int) -> None:
    x = integers()
    result = apply(lambda b, u: b.op("muli", u, b.constant(factor, "i32")), x, types=("i32",), result=np.int32)
    np.testing.assert_array_equal(result, wrap(x.astype(np.int64) * factor))


def test_integer_to_float_rounds_to_nearest_even() -> None:
    x = integers()
    result = apply(lambda b, u: b.op("sitofp", u), x, types=("i32",))
    np.testing.assert_array_equal(result, x.astype(np.float32))


def test_float_to_integer_truncates_and_saturates() -> None:
    x = np.concatenate([RANDOM.uniform(-3e9, 3e9, 4000), RANDOM.uniform(-9, 9, 4000), [np.inf, -np.inf, -0.0]])
    x = x.astype(np.float32)
    expected = np.clip(np.trunc(np.clip(x.astype(np.float64), -1e12, 1e12)), -(2**31), 2**31 - 1).astype(np.int64)
    result = apply(lambda b, u: b.op("fptosi", u), x, result=np.int32)
    np.testing.assert_array_equal(result, expected.astype(np.int32))


@pytest.mark.parametrize("predicate", INTEGER_PREDICATES)
def test_comparison(predicate: str) -> None:
    x, y = integers(), np.roll(integers(), 1)
    result = apply(
        lambda b, u, v: b.op("cmpi", u, v, predicate=predicate), x, y, types=("i32", "i32"), result=np.uint32
    )
    a, b = (x.view(np.uint32), y.view(np.uint32)) if predicate[0] == "u" else (x, y)
    compare = {"eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater}
    expected = {**compare, "ge": np.greater_equal}[predicate.lstrip("su")](a, b)
    np.testing.assert_array_equal(result, expected)


@pytest.mark.parametrize(
    ("name", "function"),
    [
        ("addi", np.add),
        ("subi", np.subtract),
        ("andi", np.bitwise_and),
        ("ori", np.bitwise_or),
        ("xori", np.bitwise_xor),
        ("maxsi", np.maximum),
        ("minsi", np.minimum),
    ],
)
def test_alu_operations(name: str, function: np.ufunc) -> None:
    x, y = integers(), np.roll(integers(), 1)
    result = apply(lambda b, u, v: b.op(name, u, v), x, y, types=("i32", "i32"), result=np.int32)
    np.testing.assert_array_equal(result, wrap(function(x.astype(np.int64), y.astype(np.int64))))


@pytest.mark.parametrize("name", ["shli", "shrsi", "shrui"])
def test_shifts(name: str) -> None:
    x, count = integers(), RANDOM.integers(0, 32, 8192).astype(np.int32)
    result = apply(lambda b, u, v: b.op(name, u, v), x, count, types=("i32", "i32"), result=np.int32)
    wide = x.view(np.uint32).astype(np.int64) if name == "shrui" else x.astype(np.int64)
    expected = wide << count if name == "shli" else wide >> count
    np.testing.assert_array_equal(result, wrap(expected))
