"""Reads at computed indices: every element exact, in a number of steps that does not grow with the table."""

import hypothesis.strategies as st
import numpy as np
import onnx
import pytest
from hypothesis import given, settings
from onnx import TensorProto, helper, numpy_helper

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


def _read_of_input(operator: str, table: np.ndarray, indices: np.ndarray, **attributes: int) -> tuple[np.ndarray, int]:
    """What a lookup at constant indices gives, and the long words of DRAM that it reads."""
    points = indices.shape[:-1] if operator == "GatherND" else indices.shape
    want = (*points, table.shape[1]) if operator == "Gather" else points
    graph = helper.make_graph(
        [helper.make_node(operator, ["x", "i"], ["y"], **attributes)], "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, table.shape)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, want)],
        [onnx.numpy_helper.from_array(indices, "i")],
    )  # fmt: skip
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    result = mnc.compile(model).run_with_statistics({"x": table})
    return result.outputs["y"], result.statistics.longs["DRAM read by MV"]


def test_of_a_large_input_only_rows_that_are_known_when_compiling_are_read() -> None:
    rng = np.random.default_rng(5)
    table = rng.standard_normal((20_000, 64), np.float32)
    indices = rng.integers(-20_000, 20_000, 128)
    got, longs = _read_of_input("Gather", table, indices)
    assert np.array_equal(got, table[indices])
    assert longs == 128 * 64 // 2


def test_elements_and_points_at_known_indices_of_an_input() -> None:
    """Of a table that local memory would hold as much is read as of one that is larger."""
    rng = np.random.default_rng(6)
    longs: list[list[int]] = []
    for rows in (300, 70_001):
        table = rng.standard_normal((rows, 72), np.float32)
        elements = rng.integers(-rows, rows, (5, 72))
        got, of_elements = _read_of_input("GatherElements", table, elements, axis=0)
        assert np.array_equal(got, np.take_along_axis(table, elements, 0))
        points = rng.integers(0, [rows, 72], (11, 2))
        got, of_points = _read_of_input("GatherND", table, points)
        assert np.array_equal(got, table[points[:, 0], points[:, 1]])
        longs.append([of_elements, of_points])
    assert longs[0] == longs[1]
    assert max(longs[0]) < 300 * 72 // 2 // 4


def test_rows_that_are_read_more_often_than_there_are_come_with_the_table() -> None:
    rng = np.random.default_rng(7)
    table = rng.standard_normal((5, 64), np.float32)
    indices = rng.integers(0, 5, (40, 10))
    got, longs = _read_of_input("Gather", table, indices)
    assert np.array_equal(got, table[indices])
    assert longs < 400 * 64 // 2


def test_an_embedding_joined_to_a_perceptron() -> None:
    """Rows of a table, spread over PEs in another way than the perceptron, go where their part of the join is."""
    rng = np.random.default_rng(0)
    shapes = {"v": (13, 64), "w": (64, 16), "t": (100, 16)}
    values = {name: rng.standard_normal(shape) for name, shape in shapes.items()}
    model = onnx.parser.parse_model("""<ir_version: 8, opset_import: ["" : 17]>
        g (float[32, 13] x, int64[32] i) => (float[32, 32] y) {
        h = MatMul(x, v)  a = Relu(h)  o = MatMul(a, w)  r = Gather(t, i)  y = Concat<axis = 1>(o, r)
        }""")
    model.graph.initializer.extend(numpy_helper.from_array(w.astype(np.float32), name) for name, w in values.items())
    inputs = {"x": rng.standard_normal((32, 13)).astype(np.float32), "i": rng.integers(0, 100, 32)}
    found = mnc.compile(model, Options(prefer=("alike",))).run(inputs)["y"]
    assert np.array_equal(found[:, 16:], values["t"].astype(np.float32)[inputs["i"]])
