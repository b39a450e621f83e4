"""The Python interface as a user sees it."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import mnc
from mnc.mncore_backend.layout.text import parse as parse_layout
from mnc.reference import random_inputs


def relu_model() -> onnx.ModelProto:
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [4, 8]) for name in "xy")
    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"], name="act")], "g", [x], [y])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


def test_default_pipeline_can_be_edited_and_printed(tmp_path) -> None:  # pyright: ignore[reportMissingParameterType]
    pipeline = mnc.Pipeline.default().remove("verify-schedule").dump_after("distribute", tmp_path / "spmd.mlir")
    assert "verify-schedule" not in str(pipeline)
    assert str(mnc.Pipeline.parse(str(pipeline))) == str(pipeline)
    program = mnc.compile(relu_model(), pipeline=pipeline)
    assert "affine.for" in (tmp_path / "spmd.mlir").read_text()
    assert program.text


@pytest.fixture(scope="module")
def program() -> mnc.Executable:
    return mnc.compile(relu_model())


def test_everything_public_can_be_listed_and_found() -> None:
    assert {name for name in dir(mnc) if not name.startswith("__")} == set(mnc.__all__) - {"__version__"}
    assert all(getattr(mnc, name) is not None for name in mnc.__all__)
    assert re.fullmatch(r"\d+\.\d+.*", mnc.__version__)
    assert mnc.torch.__name__ == "mnc.torch"
    assert (Path(mnc.__file__).parent / "py.typed").exists()


def test_a_model_is_imported_into_a_context_of_its_own() -> None:
    assert "graph.relu" in str(mnc.import_model(relu_model()))


def test_type_checkers_see_what_is_public() -> None:
    """The imports under TYPE_CHECKING name what `__getattr__` finds."""
    text = Path(mnc.__file__).read_text()
    imported = set(re.findall(r"^    from [\w.]+ import (\w+) as \1$", text, re.MULTILINE))
    assert imported | {"__version__"} == set(mnc.__all__)


def late_first_output() -> onnx.ModelProto:
    """The result `a` is listed before `b`, takes `b` and is made behind it, and so it is with the inputs."""
    nodes = [helper.make_node("Relu", ["y"], ["b"]), helper.make_node("Add", ["b", "x"], ["a"])]
    x, y, a, b = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [4, 8]) for name in "xyab")
    graph = helper.make_graph(nodes, "g", [x, y], [a, b])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


def test_inputs_and_outputs_come_in_the_order_of_the_model(tmp_path: Path) -> None:
    made = mnc.compile(late_first_output(), mnc.Options(effort="quick"))
    mnc.save(made, tmp_path / "p")
    for program in (made, mnc.load(tmp_path / "p")):
        assert [tensor.name for tensor in program.inputs] == ["x", "y"]
        assert [tensor.name for tensor in program.outputs] == ["a", "b"]
        assert [*program.run(made.random_inputs())] == ["a", "b"]
    assert [*made.random_inputs()] == ["x", "y"]
    entries = json.loads((tmp_path / "p" / "memory_map.json").read_text())["tensors"]
    assert [entry["name"] for entry in entries] == ["x", "y", "a", "b"]


def test_outputs_that_only_the_last_part_of_a_run_gives_keep_their_places() -> None:
    model = late_first_output()
    updated = mnc.Options(effort="quick", updates={"x": "a"}, resident="updates")
    program = mnc.compile(model, updated)
    assert program.read_back is not None
    assert [*program.run(program.random_inputs())] == ["a", "b"]


def test_report_has_totals_and_rows(program: mnc.Executable) -> None:
    report = program.report
    assert re.match(r"\d+ steps, \d+ cycles, \d+ MV transfers", str(report))
    assert "act" in str(report)
    assert report.steps == report.data["total"]["steps"] and report.cycles >= 4 * report.steps
    assert "act" in [row["node"] for row in report.rows()]
    assert [(node.node, node.steps) for node in report.nodes] == [(r["node"], r["steps"]) for r in report.rows()]
    assert report is program.report
    assert "act" in report._repr_html_()
    with pytest.warns(DeprecationWarning, match=re.escape("str(program.report)")):
        assert report() == str(report)


def test_everything_is_printed_in_one_line(program: mnc.Executable) -> None:
    assert repr(program).endswith("lines; x float32[4, 8] -> y float32[4, 8]>")
    for shown in (program, program.report, program.inputs[0], mnc.default_pipeline().remove("verify-schedule")):
        assert "\n" not in repr(shown)
    assert len(repr(program)) < 200
    html = program._repr_html_()
    assert html.count("<table>") == 2 and "float32" in html


def test_layouts_are_shown() -> None:
    layout = parse_layout("((2_L1B:1, 4:1), (4_PE:1, 2_W:1))", (8, 8))
    assert repr(layout) == "<Layout of 8x8: ((2_L1B:1, 4:1), (4_PE:1, 2_W:1))>"
    assert layout._repr_html_().count("<tr>") == 5


def test_models_come_as_path_and_options_as_mapping(tmp_path: Path) -> None:
    onnx.save(relu_model(), tmp_path / "m.onnx")
    text = mnc.compile(str(tmp_path / "m.onnx"), {"precision": "single", "dump_dir": str(tmp_path / "ir")}).text
    assert text == mnc.compile(tmp_path / "m.onnx", mnc.Options("single")).text
    assert (tmp_path / "ir" / "1-graph.mlir").exists()


def test_pipelines_come_as_text() -> None:
    default = mnc.default_pipeline()
    assert mnc.compile(relu_model(), pipeline=str(default)).text == mnc.compile(relu_model(), pipeline=default).text
    assert mnc.default_pipeline().insert_before("decompose", "tile{sizes=8,8}").remove("tile").entries


def test_random_inputs_are_those_of_the_command(program: mnc.Executable, tmp_path: Path) -> None:
    x = program.random_inputs(3)["x"]
    assert np.array_equal(x, random_inputs(relu_model(), {}, 3)["x"])
    assert not np.array_equal(x, program.random_inputs(4)["x"])
    mnc.save(program, str(tmp_path / "out"))
    loaded = mnc.load(str(tmp_path / "out"))
    assert loaded.random_inputs(3)["x"].shape == (4, 8)
    assert loaded.run(loaded.random_inputs())["y"].shape == (4, 8)


def chain_model() -> onnx.ModelProto:
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n", 8]) for name in "xy")
    nodes = [helper.make_node("Exp", ["x"], ["e"]), helper.make_node("Relu", ["e"], ["y"])]
    graph = helper.make_graph(nodes, "g", [x], [y])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


def test_intermediates_are_returned() -> None:
    program = mnc.compile(chain_model(), shapes={"n": 3})
    inputs = program.random_inputs()
    assert set(program.run(inputs)) == {"y"}
    found = program.run(inputs, intermediates=True)
    assert set(found) == {"e", "y"}
    assert np.allclose(found["e"], np.exp(inputs["x"]), rtol=1e-5)


def test_a_loaded_program_knows_no_intermediates(program: mnc.Executable, tmp_path: Path) -> None:
    mnc.save(program, tmp_path / "out")
    with pytest.raises(mnc.CompileError, match="does not know its model"):
        mnc.load(tmp_path / "out").run({}, intermediates=True)


X = np.zeros((4, 8), np.float32)
MISUSE: dict[str, tuple[Callable[[mnc.Executable], object], str]] = {
    "model": (lambda _: mnc.compile(42), "the model is a value of type int"),  # pyright: ignore[reportArgumentType]
    "sample": (lambda _: mnc.compile(relu_model(), sample=X), "only a torch module takes a sample"),
    "options": (lambda _: mnc.compile(relu_model(), "single"), "of type str"),  # pyright: ignore[reportArgumentType]
    "option": (lambda _: mnc.compile(relu_model(), {"precison": "single"}), "did you mean 'precision'"),
    "precision": (lambda _: mnc.compile(relu_model(), {"precision": "quarter"}), "no precision 'quarter'"),
    "resident": (lambda _: mnc.compile(relu_model(), {"resident": "all"}), "no resident 'all'"),
    "preference": (lambda _: mnc.compile(relu_model(), {"prefer": ("alik",)}), "no preference 'alik'"),
    "updates": (lambda _: mnc.compile(relu_model(), {"updates": {"x": 3}}), "the updates are"),
    "dump_dir": (lambda _: mnc.compile(relu_model(), {"dump_dir": 3}), "dump_dir is a value of type int"),
    "shapes": (lambda _: mnc.compile(relu_model(), shapes=[4]), "of type list"),  # pyright: ignore[reportArgumentType]
    "shape": (lambda _: mnc.compile(relu_model(), shapes={"x": "4,8"}), "cannot be '4,8'"),
    "extent": (lambda _: mnc.compile(relu_model(), shapes={"x": (4, -8)}), "cannot be (4, -8)"),
    "pipeline": (lambda _: mnc.compile(relu_model(), pipeline=3), "of type int"),  # pyright: ignore[reportArgumentType]
    "pass": (lambda _: mnc.compile(relu_model(), pipeline="builtin.module(csee)"), "there is no pass 'csee'"),
    "stage": (lambda _: mnc.compile(relu_model(), pipeline="builtin.module(cse)"), "of an earlier stage"),
    "edit": (lambda _: mnc.default_pipeline().remove("decompos"), "did you mean 'decompose'"),
    "new pass": (lambda _: mnc.default_pipeline().replace("decompose", "decompos"), "there is no pass 'decompos'"),
    "no pass": (lambda _: mnc.Pipeline().insert_after("a", 3), "no pass"),  # pyright: ignore[reportArgumentType]
    "text": (lambda _: mnc.parse_pipeline(3), "no pipeline"),  # pyright: ignore[reportArgumentType]
    "mode": (lambda p: p.run({"x": X}, mode="fast"), "there is no mode 'fast'"),
    "inputs": (lambda p: p.run([X]), "the inputs are a value of type list"),  # pyright: ignore[reportArgumentType]
    "missing": (lambda p: p.run({}), "no value for input 'x'"),
    "surplus": (lambda p: p.run({"x": X, "z": X}), "there is no input 'z'"),
    "ragged": (lambda p: p.run({"x": [[1], [2, 3]]}), "input 'x' is no array"),
    "wrong shape": (lambda p: p.run({"x": X[:3]}), "has shape [3, 8], the program takes [4, 8]"),
    "wrong type": (lambda p: p.run({"x": X.astype(complex)}), "is complex128, the program takes float32"),
    "load": (lambda _: mnc.load(3), "the directory is a value of type int"),  # pyright: ignore[reportArgumentType]
    "save": (lambda _: mnc.save(relu_model(), "out"), "is no program"),  # pyright: ignore[reportArgumentType]
}


@pytest.mark.parametrize("name", MISUSE)
def test_misuse_is_explained(name: str, program: mnc.Executable) -> None:
    """One exception with reason and hint, as on the command line."""
    wrong, words = MISUSE[name]
    with pytest.raises(mnc.CompileError, match=re.escape(words)) as caught:
        wrong(program)
    assert caught.value.hint


def test_torch_modules_are_compiled() -> None:
    torch = pytest.importorskip("torch")
    module = torch.nn.Sequential(torch.nn.Linear(8, 4), torch.nn.ReLU())
    sample = torch.randn(2, 8)
    outputs = mnc.compile(module, {"precision": "single"}, sample=sample).run({"input": sample})
    assert np.allclose(outputs["output"], module(sample).detach().numpy(), atol=1e-5)
    with pytest.raises(mnc.CompileError, match="has no shapes of its own"):
        mnc.compile(module)
