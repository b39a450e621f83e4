"""Reads at computed indices: every element exact, in a number of steps that does not grow with the table."""

import hypothesis.strategies as st
import numpy as np
import onnx
import pytest
from hypothesis import given, settings
from onnx import TensorProto, helper

import mnc
from mnc.mncore_backend.movement.lookup import _groups
from mnc.options import Options

TYPES = {"float32": TensorProto.FLOAT, "int32": TensorProto.INT32, "bool": TensorProto.BOOL}


def steps_of(
    operator: str,
    table: np.ndarray,
    indices: np.ndarray,
    want: np.ndarray,
    options: Options | None = None,
    **attributes: int,
) -> int:
    """Run one operator on the emulator, compare with what it must give, and return its steps."""
    kind = TYPES[str(table.dtype)]
    entries = [
        helper.make_tensor_value_info(name, type_, array.shape)
        for name, type_, array in (("x", kind, table), ("i", TensorProto.INT64, indices), ("y", kind, want))
    ]
    graph = helper.make_graph(
        [helper.make_node(operator, ["x", "i"], ["y"], **attributes)], "g", entries[:2], entries[2:]
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(model)
    result = mnc.compile(model, options).run_with_statistics({"x": table, "i": indices})
    assert np.array_equal(result.outputs["y"], want)
    return result.statistics.steps


def table_of(rng: np.random.Generator, kind: str, shape: tuple[int, ...]) -> np.ndarray:
    if kind == "bool":
        return rng.random(shape) < 0.5
    return (1000 * rng.standard_normal(shape)).astype(kind)


@given(st.data())
@settings(max_examples=8, deadline=None)
def test_slices_along_any_axis(data: st.DataObject) -> None:
    shape = data.draw(st.lists(st.sampled_from([1, 2, 7, 9, 16, 33]), min_size=1, max_size=3).map(tuple))
    axis = data.draw(st.integers(0, len(shape) - 1))
    chosen = data.draw(st.lists(st.sampled_from([1, 2, 5, 8]), max_size=2).map(tuple))
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    table = table_of(rng, data.draw(st.sampled_from(sorted(TYPES))), shape)
    indices = rng.integers(-shape[axis], shape[axis], chosen)
    steps_of("Gather", table, indices, table.take(indices, axis), axis=axis)


@pytest.mark.parametrize("kind", sorted(TYPES))
def test_elements_along_an_axis(kind: str) -> None:
    rng = np.random.default_rng(1)
    table = table_of(rng, kind, (40, 3, 10))
    indices = rng.integers(-40, 40, (9, 2, 10))
    steps_of("GatherElements", table, indices, np.take_along_axis(table[:, :2], indices, 0), axis=0)


def test_two_indices_at_once() -> None:
    rng = np.random.default_rng(2)
    table = table_of(rng, "float32", (30, 50, 4))
    indices = rng.integers(0, [30, 50], (11, 2))
    steps_of("GatherND", table, indices, table[indices[:, 0], indices[:, 1]])


def test_rows_of_a_larger_table_take_hardly_more_steps() -> None:
    """The table comes from DRAM, so what it takes to load it grows; what it takes to read it does not. For layouts of
    one kind: the larger one would be held by every L2B, which takes fewer cycles and more steps."""
    rng = np.random.default_rng(3)
    steps = []
    for rows in (200, 2000):
        table, indices = table_of(rng, "float32", (rows, 64)), rng.integers(0, rows, 100)
        steps.append(steps_of("Gather", table, indices, table[indices], Options(prefer=()), axis=0))
    assert steps[1] < 4 * steps[0]


def test_a_table_larger_than_local_memory_is_read_in_pieces() -> None:
    rng = np.random.default_rng(4)
    table = rng.standard_normal((70_001, 72), np.float32)
    indices = np.array([[0, -1, 69_999], [35_000, 23_334, -70_001]])
    graph = helper.make_graph(
        [helper.make_node("Gather", ["x", "i"], ["y"])], "g",
        [helper.make_tensor_value_info("i", TensorProto.INT64, indices.shape)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, (*indices.shape, 72))],
        [onnx.numpy_helper.from_array(table, "x")],
    )  # fmt: skip
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    assert np.array_equal(mnc.compile(model).run({"i": indices})["y"], table[indices])


def test_reads_come_in_fours_that_share_addresses() -> None:
    rows = [(0, row, 3 * row) for row in range(5)]
    assert [[p[1] for p in group] for group in _groups(rows)] == [[0, 1, 2, 3], [4, 4, 4, 4]]
    columns = [(column, 0, column) for column in range(6)]
    assert [[p[0] for p in group] for group in _groups(columns)] == [[0, 1, 2, 3], [4, 5, 5, 5]]
