"""`mnc check --resident`: the program whose weights stay on the chip is judged like any other."""

import json
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from .running import Shell

ROWS, INNER, COLUMNS = 4, 64, 256


def product(path: Path) -> Path:
    """A product with a constant matrix, which takes longer to arrive than to be multiplied."""
    weight = np.random.default_rng(0).standard_normal((INNER, COLUMNS)).astype(np.float32)
    node = helper.make_node("MatMul", ["x", "w"], ["y"])
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [ROWS, INNER])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, [ROWS, COLUMNS])
    graph = helper.make_graph([node], "product", [x], [y], [numpy_helper.from_array(weight, "w")])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return path


def test_what_stays_is_judged(shell: Shell, tmp_path: Path) -> None:
    path = product(tmp_path / "product.onnx")
    cycles = {}
    for resident in ("nothing", "state"):
        done = shell("mnc", "check", str(path), "--resident", resident, "--format", "json")
        assert done.code == 0
        found = json.loads(done.out)
        assert found["passed"]
        cycles[resident] = int(found["summary"].split(" cycles")[0].split()[-1])
    assert cycles["state"] < cycles["nothing"]


def test_updates_are_given(shell: Shell, tmp_path: Path) -> None:
    """As for `mnc compile`."""
    text = '<ir_version: 9, opset_import: ["" : 20]> g (float[8] s, float[8] x) => (float[8] y) { y = Add(x, s) }'
    onnx.save(onnx.parser.parse_model(text), path := tmp_path / "sum.onnx")
    assert shell("mnc", "check", path, "--resident", "updates", "--update", "s=y").code == 0
    done = shell("mnc", "check", path, "--resident", "updates", "--update", "s=z")
    assert done.code == 2 and "there is no output 'z'" in done.err
    done = shell("mnc", "check", path, "--update", "s=y")
    assert done.code == 2 and "add --resident state" in done.err


def test_nothing_stays_in_a_program_for_this_computer(shell: Shell, tmp_path: Path) -> None:
    path = product(tmp_path / "product.onnx")
    done = shell("mnc", "check", str(path), "--resident", "state", "--target", "cpp")
    assert done.code == 2
    assert "--resident belongs to --target mncore" in done.err
