"""Problems of compiled models, saved and solved again, and what the command `mnc placement` makes of them."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from click.testing import CliRunner
from onnx import TensorProto, helper, numpy_helper

from mnc.mncore_backend.placement.candidates import policy_of
from mnc.mncore_backend.placement.cost.movements import Movements
from mnc.mncore_backend.placement.problem.saved import from_json, to_json
from mnc.mncore_backend.placement.report import price_without_movements, rows
from mnc.mncore_backend.placement.solve.search import Search
from mnc.options import Options
from mnc.placement_problem import problem_of_model
from mnc.tools.commands.placement import command


def model() -> onnx.ModelProto:
    """A strided convolution, a product, and what is between them: windows, strides, views, loops and sums."""
    rng = np.random.default_rng(0)
    weights = {"w": (16, 3, 3, 3), "b": (16,), "m": (256, 40)}
    nodes = [
        helper.make_node("Conv", ["x", "w", "b"], ["c"], name="conv", pads=[1, 1, 1, 1], strides=[2, 2]),
        helper.make_node("Relu", ["c"], ["r"]),
        helper.make_node("MaxPool", ["r"], ["p"], kernel_shape=[2, 2], strides=[2, 2]),
        helper.make_node("Flatten", ["p"], ["f"]),
        helper.make_node("MatMul", ["f", "m"], ["d"], name="dense"),
        helper.make_node("Softmax", ["d"], ["y"]),
    ]
    info = helper.make_tensor_value_info
    entries = [info("x", TensorProto.FLOAT, [4, 3, 16, 16])], [info("y", TensorProto.FLOAT, [4, 40])]
    values = [numpy_helper.from_array(rng.standard_normal(s).astype(np.float32), n) for n, s in weights.items()]
    graph = helper.make_graph(nodes, "small", *entries, initializer=values)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


@pytest.fixture(scope="module")
def problem() -> Any:
    return problem_of_model(model(), Options())


def test_a_saved_problem_is_the_same(problem: Any) -> None:
    kinds = {type(op).__name__ for op in problem.operations}
    assert {"Product", "Loops", "Reshape"} <= kinds
    assert from_json(json.loads(json.dumps(to_json(problem)))) == problem


def test_rows_add_up_to_the_price(problem: Any) -> None:
    state = Search(problem, [policy_of(())], Movements()).run()
    found = rows(problem, state)
    assert sum(row.price for row in found) == pytest.approx(state.price)
    assert [row.name for row in found[:-1]] == [op.name for op in problem.operations]


def test_free_movements_cost_no_more(problem: Any) -> None:
    price, is_bound = price_without_movements(problem)
    state = Search(problem, [policy_of(())], Movements()).run()
    assert not is_bound or price <= state.price


@pytest.mark.parametrize("text", ["", "{", "[1]", '{"is": "Problem"}', '{"is": "Unknown"}', '{"shape": 3}'])
def test_a_bad_file_is_a_mistake_of_the_user(text: str, tmp_path: Path) -> None:
    file = tmp_path / "problem.json"
    file.write_text(text)
    result = CliRunner().invoke(command, [str(file)])
    assert result.exit_code != 0
    assert "problem" in str(result.exception) and "Traceback" not in result.output


def test_the_command_saves_and_solves(tmp_path: Path) -> None:
    onnx.save(model(), tmp_path / "model.onnx")
    saved = tmp_path / "problem.json"
    first = CliRunner().invoke(command, [str(tmp_path / "model.onnx"), "--save", str(saved)])
    assert first.exit_code == 0, first.output
    assert "conv" in first.output and "if movements took no time" in first.output
    assert CliRunner().invoke(command, [str(saved)]).output == first.output
    data = json.loads(CliRunner().invoke(command, [str(saved), "--json"]).output)
    assert {"dense", "results"} <= {own["name"] for own in data["operations"]} and data["price"] > 0
