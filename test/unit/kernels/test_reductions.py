"""Reductions over local iterations: any grouping, kind and initial value; small integers, so that sums are exact."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mnc.core.diagnostics import InternalError
from mnc.mncore_backend.kernels.vector import Access, Body, Output, VectorKernel, emit_vector

from .harness import PE_COUNT, Bench

KINDS = {
    "addf": ("f32", np.add, 0.0),
    "maximumf": ("f32", np.maximum, -5.0),
    "minimumf": ("f32", np.minimum, 5.0),
    "mulf": ("f32", np.multiply, 1.0),
    "addi": ("i32", np.add, 3),
    "muli": ("i32", np.multiply, 1),
    "maxsi": ("i32", np.maximum, 0),
    "andi": ("i1", np.minimum, 1),
    "ori": ("i1", np.maximum, 0),
}


def draw(random: np.random.Generator, kind: str, longs: int) -> np.ndarray:
    shape = (PE_COUNT, longs, 2)
    if kind == "mulf":
        return random.choice([-1.0, 0.5, 2.0], shape).astype(np.float32)
    if KINDS[kind][0] == "f32":
        return random.integers(-50, 50, shape).astype(np.float32)
    return random.integers(0, 2 if KINDS[kind][0] == "i1" else 40, shape).astype(np.int32)


@settings(max_examples=30, deadline=None)
@given(
    segments=st.one_of(
        st.lists(st.integers(1, 20), min_size=1, max_size=12),
        st.integers(1, 70).map(lambda n: [n]),
        st.integers(1, 90).map(lambda n: [2] * n),
    ),
    kind=st.sampled_from(sorted(KINDS)),
    initial=st.sampled_from([None, "value", "previous"]),
    seed=st.integers(0, 999),
)
def test_reduction(segments: list[int], kind: str, initial: str | None, seed: int) -> None:
    random = np.random.default_rng(seed)
    type_, function, value = KINDS[kind]
    count = sum(segments)
    label = random.permutation(np.repeat(np.arange(len(segments)), segments))
    data, before = draw(random, kind, count), draw(random, kind, len(segments) + 1)
    bench, body = Bench(seed), Body()
    x, y = bench.buffer(count, data), bench.buffer(len(segments) + 1, before)
    x_offset, y_offset = random.permutation(count), random.permutation(len(segments) + 1)[:-1]
    start = value if initial == "value" else initial
    output = Output(Access(y, y_offset[label]), body.input(type_), kind, start)
    emit_vector(bench.builder, VectorKernel(count, (Access(x, x_offset),), body, (output,)))
    bench.run()
    result = bench.words(y).view(data.dtype).reshape(PE_COUNT, -1, 2)
    untouched = np.setdiff1d(np.arange(len(segments) + 1), y_offset)
    np.testing.assert_array_equal(result[:, untouched], before[:, untouched])
    for segment, target in enumerate(y_offset):
        expected = function.reduce(data[:, x_offset[label == segment]], axis=1, dtype=data.dtype)
        if initial is not None:
            expected = function(expected, before[:, target] if initial == "previous" else data.dtype.type(value))
        np.testing.assert_array_equal(result[:, target], expected)


def test_sum_of_products_beside_a_stored_value() -> None:
    """Row sums of x*w (fused) and, in the same kernel, the negated x."""
    random = np.random.default_rng(0)
    bench, body = Bench(), Body()
    x_data, w_data = (random.integers(-9, 9, (PE_COUNT, 21, 2)).astype(np.float32) for _ in range(2))
    x, w, total, negated = bench.buffer(21, x_data), bench.buffer(21, w_data), bench.buffer(3), bench.buffer(21)
    i = np.arange(21)
    a, b = body.input(), body.input()
    outputs = (
        Output(Access(total, i // 7), body.op("mulf", a, b), "addf"),
        Output(Access(negated, i), body.op("negf", a)),
    )
    emit_vector(bench.builder, VectorKernel(21, (Access(x, i), Access(w, i)), body, outputs))
    bench.run()
    sums = (x_data * w_data).reshape(PE_COUNT, 3, 7, 2).sum(2)
    np.testing.assert_array_equal(bench.words(total).view(np.float32).reshape(PE_COUNT, 3, 2), sums)
    np.testing.assert_array_equal(bench.words(negated).view(np.float32).reshape(PE_COUNT, 21, 2), -x_data)
    assert sum(op.opcode == "fvfma" for op in bench.program.operations) > 0


def test_rounding_error_of_a_long_sum() -> None:
    """Partial sums: far fewer roundings in a row than terms."""
    random = np.random.default_rng(1)
    bench, body = Bench(), Body()
    data = random.uniform(0, 1, (PE_COUNT, 500, 2)).astype(np.float32)
    x, y = bench.buffer(500, data), bench.buffer(1)
    output = Output(Access(y, np.zeros(500, int)), body.input(), "addf")
    emit_vector(bench.builder, VectorKernel(500, (Access(x, np.arange(500)),), body, (output,)))
    bench.run()
    exact = data.astype(np.float64).sum(1)
    error = np.abs(bench.words(y).view(np.float32).reshape(PE_COUNT, 2) - exact)
    chain = 500 // 16 + 1 + 5  # additions in a row: iterations of one of 16 parts, and the tree
    assert (error / exact).max() <= chain * 2.0**-24


def test_outputs_that_group_differently_are_refused() -> None:
    bench, body = Bench(), Body()
    x, y, z = bench.buffer(4), bench.buffer(4), bench.buffer(4)
    a = body.input()
    outputs = (
        Output(Access(y, np.array([0, 0, 1, 1])), a, "addf"),
        Output(Access(z, np.array([0, 1, 0, 1])), a, "addf"),
    )
    with pytest.raises(InternalError, match="differently"):
        emit_vector(bench.builder, VectorKernel(4, (Access(x, np.arange(4)),), body, outputs))


@pytest.mark.parametrize(("length", "constants"), [(1, 1), (2, 0), (9, 0)])
def test_a_neutral_start_takes_no_operation(length: int, constants: int) -> None:
    """But where nothing is added: the sum of one number is that number in normal form."""
    bench, body = Bench(), Body()
    data = np.random.default_rng(2).integers(-9, 9, (PE_COUNT, length, 2)).astype(np.float32)
    x, y = bench.buffer(length, data), bench.buffer(1)
    output = Output(Access(y, np.zeros(length, int)), body.input(), "addf", 0.0)
    emit_vector(bench.builder, VectorKernel(length, (Access(x, np.arange(length)),), body, (output,)))
    assert sum(op.opcode == "imm" for op in bench.program.operations) == constants
    bench.run()
    np.testing.assert_array_equal(bench.words(y).view(np.float32).reshape(PE_COUNT, 2), data.sum(1))
