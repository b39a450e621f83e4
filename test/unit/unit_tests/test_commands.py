"""mnc unit-tests, mnc check of folders and mnc bisect: what they print, how they exit."""

import shutil
from pathlib import Path

import numpy as np
import onnx
import pytest
from click.testing import CliRunner, Result
from onnx import TensorProto, helper, numpy_helper

from mnc.core.diagnostics import CompileError
from mnc.tools.mnc import cli

from .models import needs_compiler, saved


def mnc(*arguments: object) -> Result:
    """Run a command; errors of ours stay exceptions of the result."""
    return CliRunner().invoke(cli, [str(argument) for argument in arguments])


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return saved(tmp_path_factory.mktemp("model"))


@pytest.fixture(scope="module")
def folders(model: Path) -> Path:
    directory = model.parent / "tests"
    done = mnc("unit-tests", model, "-o", directory)
    assert done.exit_code == 0, done.output
    assert "6 tests from 10 nodes" in done.output and "Gemm_6x5_8x5_8_transB" in done.output
    return directory


def _corrupt(folder: Path, target: Path) -> Path:
    """A copy that expects another result at one place."""
    shutil.copytree(folder, target)
    path = target / "test_data_set_0" / "output_0.pb"
    tensor = onnx.TensorProto()
    tensor.ParseFromString(path.read_bytes())
    array = numpy_helper.to_array(tensor).copy()
    array.flat[3] += 0.01
    path.write_bytes(numpy_helper.from_array(array, tensor.name).SerializeToString())
    return target


def test_folders_on_the_emulator(folders: Path, tmp_path: Path) -> None:
    done = mnc("check", folders / "Gemm_6x5_8x5_8_transB", folders / "Reshape_6x8")
    assert done.exit_code == 0, done.output
    assert "2 of 2 tests passed" in done.output and "6x8" in done.output
    wrong = _corrupt(folders / "Relu_6x8", tmp_path / "wrong")
    done = mnc("check", folders / "Relu_6x8", wrong)
    assert done.exit_code == 1 and "1 of 2 tests passed" in done.output
    assert any("wrong" in line and "FAIL" in line and "0.01" in line for line in done.output.splitlines())


@needs_compiler
def test_folders_as_cpp(folders: Path) -> None:
    done = mnc("check", folders, "--target", "cpp")
    assert done.exit_code == 0 and "6 of 6 tests passed" in done.output, done.output


@needs_compiler
def test_backend_layout_with_structural_inputs(tmp_path: Path) -> None:
    """As onnx writes them: model.onnx, several data sets, unnamed tensors, a shape that comes as an input."""
    nodes = [helper.make_node("Reshape", ["data", "shape"], ["reshaped"])]
    inputs = [helper.make_tensor_value_info(n, k, s) for n, k, s in (("data", 1, [2, 3]), ("shape", 7, [2]))]
    result = helper.make_tensor_value_info("reshaped", TensorProto.FLOAT, [3, 2])
    graph = helper.make_graph(nodes, "test", inputs, [result])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), tmp_path / "model.onnx")
    for number in range(2):
        data = np.full((2, 3), number, np.float32)
        directory = tmp_path / f"test_data_set_{number}"
        directory.mkdir()
        arrays = {"input_0": data, "input_1": np.array([3, 2]), "output_0": data.reshape(3, 2)}
        for name, array in arrays.items():
            (directory / f"{name}.pb").write_bytes(numpy_helper.from_array(array).SerializeToString())
    done = mnc("check", tmp_path, "--target", "cpp")
    assert done.exit_code == 0 and "2 of 2 tests passed" in done.output, done.output


def test_cumulative(model: Path, tmp_path: Path) -> None:
    done = mnc("unit-tests", model, "-o", tmp_path, "--cumulative")
    assert done.exit_code == 0 and "8 tests" in done.output, done.output
    assert sorted(path.name for path in tmp_path.iterdir())[-1] == "upto_009_softmax"
    assert mnc("check", tmp_path / "upto_004_second").exit_code == 0


def test_bisect_is_clean(model: Path, tmp_path: Path) -> None:
    done = mnc("bisect", model, "-o", tmp_path / "out")
    assert done.exit_code == 0 and "every node and every output is within its bound" in done.output, done.output
    assert not (tmp_path / "out").exists()


@needs_compiler
def test_models_with_open_extents(tmp_path: Path) -> None:
    nodes = [helper.make_node("Gemm", ["x", "w"], ["h"], name="gemm"), helper.make_node("Relu", ["h"], ["y"])]
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["batch", 3]) for name in ("x", "y")]
    weight = numpy_helper.from_array(np.eye(3, dtype=np.float32), "w")
    graph = helper.make_graph(nodes, "open", ends[:1], ends[1:], [weight])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), tmp_path / "open.onnx")
    given = [tmp_path / "open.onnx", "--shape", "batch=4"]
    done = mnc("bisect", *given, "--target", "cpp", "-o", tmp_path / "out")
    assert done.exit_code == 0 and "every node and every output is within its bound" in done.output, done.output
    assert mnc("unit-tests", *given, "-o", tmp_path / "tests").exit_code == 0
    folders = sorted((tmp_path / "tests").iterdir())
    assert len(folders) == 2 and mnc("check", *folders, "--target", "cpp").exit_code == 0


@needs_compiler
def test_bisect_writes_what_reproduces(model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A printer that multiplies where it should compare is found, and the folder fails by itself."""
    from mnc.lowering.cpp import helpers

    monkeypatch.setitem(helpers._TEXT, "maximum", "template <typename T>\nT maximum(T a, T b) {\n  return a * b;\n}")
    done = mnc("bisect", model, "--target", "cpp", "-o", tmp_path)
    assert done.exit_code == 1 and "the first node out of its bound is 'relu0' (Relu), node 1" in done.output, (
        done.output
    )
    command = done.output.strip().splitlines()[-1]
    assert command.startswith("reproduce it with: mnc check ") and command.endswith("Relu_6x8 --target cpp")
    arguments = command.removeprefix("reproduce it with: mnc ").split()
    assert mnc(*arguments).exit_code == 1
    monkeypatch.undo()
    assert mnc(*arguments).exit_code == 0


@pytest.mark.parametrize(("arguments", "message"), [
    (["check", "MODEL", "MODEL"], "2 models were given"),
    (["check", "FOLDERS", "MODEL"], "is no folder of a unit test"),
    (["check", "EMPTY"], "is no unit test: it needs node.onnx or model.onnx"),
    (["check", "FOLDERS", "--intermediates"], "unit tests bring their inputs"),
    (["check", "DAMAGED"], "cannot read a tensor"),
    (["check", "WITHOUT"], "no expected value for output"),
    (["check", "ABSENT"], "cannot read the file"),
    (["unit-tests", "ABSENT", "-o", "EMPTY"], "cannot read the file"),
    (["unit-tests", "MODEL", "-o", "FILE"], "cannot write"),
    (["unit-tests", "MODEL", "-o", "EMPTY", "--input", "x=FILE"], "as a .npy array"),
    (["unit-tests", "MODEL", "-o", "EMPTY", "--shape", "z=1"], "a shape was given for 'z'"),
    (["bisect", "FILE"], "not an ONNX model"),
    (["compile", "MODEL", "--example"], "--example belongs to --target cpp"),
    (["compile", "MODEL", "--target", "cpp", "-o", "FILE"], "cannot write"),
    (["compile", "ABSENT", "--target", "cpp"], "cannot read the file"),
])  # fmt: skip
def test_misuse(model: Path, folders: Path, tmp_path: Path, arguments: list[str], message: str) -> None:
    places = {name: tmp_path / name for name in ("EMPTY", "DAMAGED", "WITHOUT", "ABSENT", "FILE")}
    places["EMPTY"].mkdir()
    places["FILE"].write_text("no model, no array")
    relu = folders / "Relu_6x8"
    (shutil.copytree(relu, places["DAMAGED"]) / "test_data_set_0" / "input_0.pb").write_bytes(b"\xff\xff\xff")
    (shutil.copytree(relu, places["WITHOUT"]) / "test_data_set_0" / "output_0.pb").unlink()
    places |= {"MODEL": model, "FOLDERS": folders}
    texts = list(arguments)
    for name, path in places.items():
        texts = [text.replace(name, str(path)) for text in texts]
    done = mnc(*texts)
    assert isinstance(done.exception, CompileError), done.output
    assert done.exception.exit_code == 2 and message in done.exception.render()
