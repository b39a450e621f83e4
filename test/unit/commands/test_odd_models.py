"""Models that are legal and unusual, as users bring them: compiled and right, or refused with the place."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import mnc
from mnc import onnx_runtime
from mnc.build_directory import load
from mnc.tools.commands.run import file_names

from .model_files import model, tiny
from .running import Shell
from .test_bad_models import assert_refused


def _with_unread_input() -> onnx.ModelProto:
    result = tiny(4)
    result.graph.input.append(helper.make_tensor_value_info("unread", TensorProto.FLOAT, [3]))
    return result


def _with_negative_extent() -> onnx.ModelProto:
    result = tiny(4)
    for value in (*result.graph.input, *result.graph.output):
        value.type.tensor_type.shape.dim[0].dim_value = -1
    return result


def test_an_input_that_nothing_reads(shell: Shell) -> None:
    onnx.save(_with_unread_input(), shell.directory / "m.onnx")
    np.save(shell.directory / "x.npy", np.ones((4, 8), np.float32))
    for extra in ((), ("--target", "cpp")):
        done = shell("mnc", "check", "m.onnx", *extra)
        assert done.code == 0, done.err
    assert shell("mnc", "compile", "m.onnx", "-o", "out").code == 0
    assert load(shell.directory / "out").unread == ("unread",)
    for extra in ((), ("--input", "unread=x.npy")):
        done = shell("mnc", "run", "out", "--input", "x=x.npy", *extra)
        assert done.code == 0, done.err


def test_an_extent_written_as_minus_one_is_open(shell: Shell) -> None:
    onnx.save(_with_negative_extent(), shell.directory / "m.onnx")
    assert_refused(shell("mnc", "compile", "m.onnx"), "'x'", "dynamic", "--shape x=1,8")
    assert shell("mnc", "check", "m.onnx", "--shape", "x=3,8").code == 0


@pytest.mark.parametrize("text", ["batch=99999999999999999999", "x=99999999999999999999,8"])
def test_an_extent_beyond_all_bounds(shell: Shell, text: str) -> None:
    onnx.save(tiny("batch"), shell.directory / "m.onnx")
    assert_refused(shell("mnc", "compile", "m.onnx", "--shape", text), "99999999999999999999", "hint")


def test_intermediates_of_a_model_with_a_named_extent(shell: Shell) -> None:
    onnx.save(tiny("batch"), shell.directory / "m.onnx")
    done = shell("mnc", "check", "m.onnx", "--shape", "batch=3", "--intermediates")
    assert done.code == 0, done.err
    assert "3x4" in done.out


TWICE = '<ir_version: 8, opset_import: ["" : 18]> g (float[5,8] x) => (float[5,8] y, float[5,8] y) { y = Relu (x) }'
OLD = '<ir_version: 3, opset_import: ["" : 6]> g (float[5,8] x) => (float[5,8] y) { y = Sigmoid (x) }'
NO_TRIPS = """<ir_version: 8, opset_import: ["" : 18]> g (float[5,8] x) => (float[5,8] y, float[0,5,8] each)
<int64 n = {0}>
{
    y, each = Loop <body = b (int64 i, bool c, float[5,8] held) => (bool more, float[5,8] next, float[5,8] copy) {
        more = Identity (c) next = Tanh (held) copy = Identity (next)
    }> (n, , x)
}"""


@pytest.mark.parametrize("text", [TWICE, OLD, NO_TRIPS], ids=["an output twice", "opset 6", "a loop without trips"])
def test_what_compiles_is_checked(shell: Shell, text: str) -> None:
    (shell.directory / "m.onnx").write_bytes(onnx.parser.parse_model(text).SerializeToString())
    done = shell("mnc", "check", "m.onnx")
    assert done.code == 0, done.err


def test_a_model_without_outputs(shell: Shell) -> None:
    result = tiny()
    del result.graph.output[:]
    onnx.save(result, shell.directory / "m.onnx")
    for command in ("compile", "check"):
        assert_refused(shell("mnc", command, "m.onnx"), "no outputs", "hint")


@pytest.mark.parametrize("op_type", ["Relu", "Exp", "Softmax"])
def test_double_precision_is_judged_by_what_the_machine_reads(shell: Shell, op_type: str) -> None:
    x, y = ([helper.make_tensor_value_info(name, TensorProto.DOUBLE, [5])] for name in "xy")
    graph = helper.make_graph([helper.make_node(op_type, ["x"], ["y"])], "test", x, y)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), shell.directory / "m.onnx")
    done = shell("mnc", "check", "m.onnx")
    assert done.code == 0, done.out


@pytest.mark.parametrize(
    ("node", "words"),
    [
        (helper.make_node("Relu", ["absent"], ["y"], name="culprit"), ["absent", "culprit"]),
        (helper.make_node("Frobnicate", ["x"], ["y"], name="culprit"), ["Frobnicate", "culprit"]),
        (helper.make_node("Relu", ["x"], ["y"], name="culprit", domain="org.example"), ["org.example", "culprit"]),
    ],
)
def test_what_onnx_refuses_names_the_node(shell: Shell, node: onnx.NodeProto, words: list[str]) -> None:
    onnx.save(model([node], {"x": [2]}, {"y": [2]}), shell.directory / "m.onnx")
    assert_refused(shell("mnc", "compile", "m.onnx"), *words)


def test_every_output_has_a_file_of_its_own(shell: Shell) -> None:
    names = ["a/b", "a_b", "y" * 300, "../up", "\u65e5" * 120]
    nodes = [helper.make_node("Neg", ["x"], [name]) for name in names]
    onnx.save(model(nodes, {"x": [2]}, {name: [2] for name in names}), shell.directory / "m.onnx")
    np.save(shell.directory / "x.npy", np.ones(2, np.float32))
    assert shell("mnc", "compile", "m.onnx", "-o", "out").code == 0
    done = shell("mnc", "run", "out", "--input", "x.npy", "-o", "result")
    assert done.code == 0, done.err
    files = list((shell.directory / "result").iterdir())
    assert len(files) == len(names)
    assert all((np.load(path) == -1).all() for path in files)


def test_names_of_files_differ() -> None:
    assert file_names(["a_b", "a/b", "a_b_2", "a\0b"]) == ["a_b", "a_b_2", "a_b_2_2", "a_b_3"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--input", "x=empty.npy"), ["empty.npy", "numpy.save"]),
        (("--input", "x=several.npz"), ["several.npz", "first, second"]),
        (("--input", "x=x.npy", "--input", "x=x.npy"), ["'x'", "twice"]),
        (("--input", "x=x.npy", "--dump", "lines"), ["--dump", "hint"]),
    ],
)
def test_inputs_of_a_run(shell: Shell, arguments: tuple[str, ...], words: list[str]) -> None:
    mnc.save(mnc.compile(tiny(4)), shell.directory / "out")
    array = np.ones((4, 8), np.float32)
    np.save(shell.directory / "x.npy", array)
    np.savez(shell.directory / "several.npz", first=array, second=array)
    (shell.directory / "empty.npy").touch()
    assert_refused(shell("mnc", "run", "out", *arguments), *words)


def test_a_model_is_not_run_as_assembly(shell: Shell) -> None:
    onnx.save(tiny(), shell.directory / "m.onnx")
    assert_refused(shell("mnc", "run", "m.onnx"), "m.onnx", "mnc compile")


def test_two_compilations_into_one_directory_leave_one_of_them(tmp_path: Path) -> None:
    """The files of a build directory belong together, whoever was last."""
    for name, batch in (("a", 4), ("b", 40)):
        onnx.save(tiny(batch), tmp_path / f"{name}.onnx")
    script = (
        "import os, sys, time, mnc\n"
        "replace = os.replace\n"
        "os.replace = lambda *paths: (time.sleep(0.005), replace(*paths))\n"
        "program = mnc.compile(sys.argv[1])\n"
        "for _ in range(40): mnc.save(program, sys.argv[2])\n"
    )
    target = tmp_path / "out"
    running = [
        subprocess.Popen([sys.executable, "-c", script, tmp_path / f"{name}.onnx", target]) for name in ("a", "b")
    ]
    seen = set()
    while any(process.poll() is None for process in running):
        if (target / "memory_map.json").exists():
            program = load(target)
            rows = program.inputs[0].shape[0]
            assert program.run({"x": np.zeros((rows, 8), np.float32)})["y"].shape == (rows, 4)
            seen.add((rows, program.text))
    assert [process.returncode for process in running] == [0, 0]
    assert len(seen) <= len({rows for rows, _ in seen}), "a program beside the map of another"


@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize(
    "command", [["mnc", "machine"], ["mnc", "check", "m.onnx"], ["mnc-opt", "--list-passes"], ["mnc-opt", "in.mlir"]]
)
def test_output_that_nothing_takes(tmp_path: Path, command: list[str], unbuffered: str) -> None:
    onnx.save(tiny(), tmp_path / "m.onnx")
    (tmp_path / "in.mlir").write_text("func.func private @f()\n")
    program = [Path(sys.executable).parent / command[0], *command[1:]]
    environment = {**os.environ, "PYTHONUNBUFFERED": unbuffered}
    with open("/dev/full", "w") as full:
        done = subprocess.run(program, cwd=tmp_path, stdout=full, stderr=subprocess.PIPE, env=environment)
    assert done.returncode == 2
    assert done.stderr.decode() == "error: cannot write the output: No space left on device\n"


def test_names_that_the_terminal_cannot_show(tmp_path: Path) -> None:
    onnx.save(model([helper.make_node("Relu", ["x"], ["\u00fc"])], {"x": [2]}, {"\u00fc": [2]}), tmp_path / "m.onnx")
    command = [Path(sys.executable).parent / "mnc", "check", "m.onnx"]
    surroundings = {"PATH": "/usr/bin:/bin", "LC_ALL": "POSIX", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    done = subprocess.run(command, cwd=tmp_path, env=surroundings, capture_output=True)
    assert done.returncode == 0, done.stderr
    assert b"\\xfc" in done.stdout


def test_weights_given_as_inputs_with_a_value() -> None:
    """Old exporters list initializers among the inputs."""
    result = tiny(4)
    weight = result.graph.initializer[0]
    result.graph.input.append(helper.make_tensor_value_info("w", TensorProto.FLOAT, list(weight.dims)))
    x = np.random.default_rng(0).standard_normal((4, 8)).astype(np.float32)
    want = np.maximum(x @ numpy_helper.to_array(weight), 0)
    np.testing.assert_allclose(mnc.compile(result).run({"x": x})["y"], want, atol=1e-4)


@pytest.mark.parametrize("op_type", ["Sqrt", "Log"])
def test_a_model_that_is_undefined_for_some_inputs(
    shell: Shell, op_type: str, recwarn: pytest.WarningsRecorder
) -> None:
    """Random inputs are positive there; what the user gives may be negative."""
    onnx.save(model([helper.make_node(op_type, ["x"], ["y"])], {"x": [30]}, {"y": [30]}), shell.directory / "m.onnx")
    done = shell("mnc", "check", "m.onnx")
    assert done.code == 0 and "NaN" not in done.out
    np.save(shell.directory / "x.npy", np.linspace(-1, 9, 30, dtype=np.float32))
    done = shell("mnc", "check", "m.onnx", "--input", "x.npy")
    assert done.code == 1 and "elements of 'y' are NaN on the reference" in done.out and "--input" in done.out
    assert not [entry for entry in recwarn if "encountered" in str(entry.message)]


def _external(location: str) -> onnx.TensorProto:
    tensor = onnx.TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[2], data_location=TensorProto.EXTERNAL)
    tensor.external_data.add(key="location", value=location)
    return tensor


@pytest.mark.parametrize("location", ["a" * 5000, "\u00e9" * 3000, "../" * 2000, "a\0b", "."])
@pytest.mark.parametrize("command", ["compile", "check"])
def test_external_data_at_odd_places(shell: Shell, command: str, location: str) -> None:
    result = model([helper.make_node("Add", ["x", "w"], ["y"])], {"x": [2]}, {"y": [2]})
    result.graph.initializer.append(_external(location))
    (shell.directory / "m.onnx").write_bytes(result.SerializeToString())
    assert_refused(shell("mnc", command, "m.onnx"), "m.onnx", "cannot read", "hint")


@pytest.mark.parametrize("size", [None, 4])
def test_external_data_that_was_left_behind(shell: Shell, size: int | None) -> None:
    """The message names the file to fetch: the model itself is complete."""
    result = model([helper.make_node("Add", ["x", "w"], ["y"])], {"x": [2]}, {"y": [2]})
    result.graph.initializer.append(_external("weights.bin"))
    result.graph.initializer[0].external_data.add(key="length", value="8")
    (shell.directory / "m.onnx").write_bytes(result.SerializeToString())
    if size is not None:
        (shell.directory / "weights.bin").write_bytes(bytes(size))
    assert_refused(shell("mnc", "compile", "m.onnx"), "m.onnx", "hint: its weights are in 'weights.bin'", "beside")


def test_a_unit_test_whose_values_are_elsewhere(shell: Shell) -> None:
    """Nothing outside of the folder is read."""
    data = shell.directory / "case" / "test_data_set_0"
    data.mkdir(parents=True)
    onnx.save(model([helper.make_node("Neg", ["x"], ["y"])], {"x": [2]}, {"y": [2]}), data.parent / "model.onnx")
    (shell.directory / "secret.bin").write_bytes(bytes(8))
    for name in ("input_0.pb", "output_0.pb"):
        (data / name).write_bytes(_external("secret.bin").SerializeToString())
    assert_refused(shell("mnc", "check", "case"), "input_0.pb", "another file", "hint")


def test_celu_of_a_scalar(shell: Shell) -> None:
    node = helper.make_node("Celu", ["x"], ["y"], alpha=2.0)
    onnx.save(model([node], {"x": []}, {"y": []}), shell.directory / "m.onnx")
    done = shell("mnc", "check", "m.onnx")
    assert done.code == 0, done.err
    assert "judged by " in done.out


def test_exclusive_sums_along_one_element(shell: Shell) -> None:
    nodes = [
        helper.make_node("CumSum", ["x", "axis"], ["sums"], exclusive=1),
        helper.make_node("Cast", ["sums"], ["y"], to=TensorProto.FLOAT),
    ]
    result = model(nodes, {"x": [3, 1]}, {"y": [3, 1]}, {"axis": np.array(1)})
    result.graph.input[0].type.tensor_type.elem_type = TensorProto.INT64
    onnx.save(result, shell.directory / "m.onnx")
    done = shell("mnc", "check", "m.onnx")
    assert done.code == 0, done.err


@pytest.mark.parametrize("shape", [[1, 2, 5], [1, 2, 3, 2, 2]])
def test_a_right_result_that_the_evaluator_of_onnx_calls_wrong(shell: Shell, shape: list[int]) -> None:
    node, one = helper.make_node("GlobalMaxPool", ["x"], ["y"]), [*shape[:2], *[1] * (len(shape) - 2)]
    onnx.save(model([node], {"x": shape}, {"y": one}), shell.directory / "m.onnx")
    done = shell("mnc", "check", "m.onnx")
    assert done.code == 0, done.out


def _with_functions() -> onnx.ModelProto:
    """y = twice(x), a function that calls another one with an attribute of its own."""
    opsets = [helper.make_opsetid("", 18), helper.make_opsetid("own", 1)]
    slope = helper.make_node("LeakyRelu", ["a"], ["b"])
    slope.attribute.append(onnx.AttributeProto(name="alpha", ref_attr_name="alpha", type=onnx.AttributeProto.FLOAT))
    inner = helper.make_function("own", "Leaky", ["a"], ["b"], [slope], opsets[:1], attributes=["alpha"])
    calls = [helper.make_node("Leaky", [a], [b], domain="own", alpha=0.25) for a, b in ("ab", "bc")]
    outer = helper.make_function("own", "Twice", ["a"], ["c"], calls, opsets)
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [4, 8]) for name in "xy")
    graph = helper.make_graph([helper.make_node("Twice", ["x"], ["y"], domain="own")], "functions", [x], [y])
    return helper.make_model(graph, opset_imports=opsets, functions=[outer, inner], ir_version=9)


@pytest.mark.parametrize("judge", ["ONNX Runtime", "evaluator"])
def test_functions_of_the_model_are_judged(shell: Shell, monkeypatch: pytest.MonkeyPatch, judge: str) -> None:
    if judge == "evaluator":
        monkeypatch.setattr(onnx_runtime, "NAME", "no_such_module")
    onnx.save(_with_functions(), shell.directory / "m.onnx")
    for extra in ((), ("--intermediates",)):
        done = shell("mnc", "check", "m.onnx", *extra)
        assert done.code == 0, done.err
