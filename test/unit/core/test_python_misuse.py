"""Mistakes in what Python hands over: one exception with a reason and a hint, never an error of numpy or onnx."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import mnc
from mnc.core.instrumentation import Timing
from mnc.decision_trace import compile_traced
from mnc.mncore_backend.emulator import Machine

X = np.zeros((4, 8), np.float32)


def one_node(op_type: str, *names: str, kind: int = TensorProto.FLOAT, extent: int | str = 4) -> onnx.ModelProto:
    """A model of one node with inputs of the shape [extent, 8]."""
    values = [helper.make_tensor_value_info(name, kind, [extent, 8]) for name in (*names, "out")]
    graph = helper.make_graph([helper.make_node(op_type, names, ["out"])], "g", values[:-1], values[-1:])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


OPEN, FIXED = one_node("Relu", "x", extent="B"), one_node("Add", "x", "w")


def refused(words: str, action: Callable[[], object]) -> None:
    with pytest.raises(mnc.CompileError, match=re.escape(words)) as caught:
        action()
    assert caught.value.hint


def text_of(model: onnx.ModelProto, **arguments: Any) -> str:
    return str(mnc.import_model(model, **arguments))


@pytest.mark.parametrize(
    "shapes",
    [{"B": 2}, {"B": np.int64(2)}, {"B": np.array(2)}, {"x": [2, 8]}, {"x": np.array([2, 8])}],
    ids=repr,
)
def test_shapes_are_written_in_many_ways(shapes: dict[str, Any]) -> None:
    assert "tensor<2x8xf32>" in text_of(OPEN, shapes=shapes)
    assert mnc.Options(shapes=shapes).shapes in ({"B": (2,)}, {"x": (2, 8)})


@pytest.mark.parametrize("shape", ["2,8", True, (True, 8), 2.5, -1, {2, 8}, {2: 8}, ((2,), 8), b"2"], ids=repr)
def test_what_is_no_shape_is_refused(shape: object) -> None:
    refused("the shape of 'x' cannot be", lambda: mnc.import_model(OPEN, shapes={"x": shape}))
    refused("the shape of 'x' cannot be", lambda: mnc.compile(OPEN, shapes={"x": shape}))


IMPORTS: dict[str, tuple[dict[str, Any], str]] = {
    "shapes": ({"shapes": [2]}, "the shapes are a value of type list"),
    "context": ({"context": 3}, "the context is a value of type int"),
    "constants": ({"constants": [X]}, "the constants are a value of type list"),
    "updates": ({"updates": ["x"]}, "the updates are a value of type list"),
    "type of a constant": ({"constants": {"w": X.astype(float)}}, "is DOUBLE, but the model wants FLOAT"),
    "no numbers": ({"constants": {"w": None}}, "the value given for input 'w' is no array"),
    "ragged": ({"constants": {"w": [[1], [2, 3]]}}, "the value given for input 'w' is no array"),
    "shape of a constant": ({"constants": {"w": X[:2]}}, "has shape [2, 8], but the model declares [4, 8]"),
    "rank of a constant": ({"constants": {"w": X[0]}}, "has shape [8], but the model declares [4, 8]"),
    "name of a constant": ({"constants": {"v": X}}, "'v', which is no input"),
}


@pytest.mark.parametrize("name", IMPORTS)
def test_imports_are_refused(name: str) -> None:
    arguments, words = IMPORTS[name]
    refused(words, lambda: mnc.import_model(FIXED, **arguments))


@pytest.mark.parametrize("model", [42, None, b"m.onnx", FIXED.graph], ids=lambda model: type(model).__name__)
def test_models_of_other_types_are_refused(model: Any) -> None:
    for take in (mnc.import_model, mnc.compile, compile_traced):
        refused(f"the model is a value of type {type(model).__name__}", lambda take=take: take(model))


def test_constants_lie_in_memory_as_they_like() -> None:
    value = np.arange(32, dtype=np.float32).reshape(4, 8)
    wanted = text_of(FIXED, constants={"w": value})
    for other in (np.asfortranarray(value), value.astype(">f4"), np.repeat(value, 2, axis=1)[:, ::2]):
        assert text_of(FIXED, constants={"w": other}) == wanted


def test_models_are_called_by_a_path(tmp_path: Path) -> None:
    assert mnc.import_model(FIXED, file_name=tmp_path / "m.onnx")  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize(("option", "value"), [("prefer", 3), ("room", True), ("room", "5"), ("region", 0.5)])
def test_options_are_refused(option: str, value: object) -> None:
    refused(option, lambda: mnc.Options.of({option: value}))


@pytest.fixture(scope="module")
def program() -> mnc.Executable:
    return mnc.compile(one_node("Relu", "x"))


def test_booleans_are_zero_or_one() -> None:
    """A program computes with the words of booleans; 2 went through Not as if it were 0."""
    program = mnc.compile(one_node("Not", "x", kind=TensorProto.BOOL))
    assert not program.run({"x": np.ones((4, 8), np.int64)})["out"].any()
    for wrong in (2, -1, 256):
        refused("has values outside 0 to 1", lambda wrong=wrong: program.run({"x": np.full((4, 8), wrong)}))


def test_integers_fit_into_words() -> None:
    program = mnc.compile(one_node("Identity", "x", kind=TensorProto.INT64))
    refused("has values outside -2147483648 to", lambda: program.run({"x": np.full((4, 8), 1 << 31)}))


def test_numbers_that_single_precision_lacks_are_warned_of(program: mnc.Executable) -> None:
    x = np.full((4, 8), -np.inf)
    x[1, 2] = 1e300
    with pytest.warns(UserWarning, match="one element of input 'x' is too large for single precision") as given:
        assert program.run({"x": x})["out"][1, 2] == np.inf
    assert len(given) == 1


def test_inputs_lie_in_memory_as_they_like(program: mnc.Executable) -> None:
    x = np.arange(-16, 16, dtype=np.float32).reshape(4, 8)
    read_only = x.copy()
    read_only.flags.writeable = False
    casts = [x.astype(kind) for kind in (">f4", ">f8", "f2", "i1", ">i8", np.longdouble)]
    for given in (x.tolist(), np.asfortranarray(x), np.repeat(x, 2, axis=0)[::2], read_only, *casts):
        assert program.run({"x": given})["out"].tobytes() == np.maximum(x, 0).tobytes()


RUNS: dict[str, tuple[Callable[[mnc.Executable], object], str]] = {
    "mask": (lambda p: p.run({"x": np.ma.masked_equal(X, 0)}), "input 'x' has masked elements"),
    "no numbers": (lambda p: p.run({"x": [[None] * 8] * 4}), "is object, the program takes float32"),
    "dates": (lambda p: p.run({"x": X.astype("M8[s]")}), "the program takes float32"),
    "dirty": (lambda p: p.run_with_statistics({"x": X}, mode="vendor", dirty=-1), "the seed is -1"),
    "dirty text": (lambda p: p.run_with_statistics({"x": X}, mode="vendor", dirty="a"), "the seed is 'a'"),  # pyright: ignore[reportArgumentType]
    "machine": (lambda p: p.run_on(3, p.text, {"x": X}), "a value of type int is no machine"),
    "inputs of a part": (lambda p: p.run_on(Machine(), p.text, [X]), "the inputs are a value of type list"),  # pyright: ignore[reportArgumentType]
    "load": (lambda p: p.load(Machine(), None), "the inputs are a value of type NoneType"),  # pyright: ignore[reportArgumentType]
    "null byte": (lambda p: mnc.save(p, "a\0b"), "no path has a null byte"),
    "no directory": (lambda p: mnc.save(p, ""), "the directory is an empty text"),
    "nothing to load": (lambda _: mnc.load(""), "the directory is an empty text"),
    "nothing to dump into": (lambda _: mnc.compile(FIXED, {"dump_dir": ""}), "dump_dir is an empty text"),
    "dump into a null byte": (lambda _: mnc.compile(FIXED, {"dump_dir": "\0"}), "no path has a null byte"),
    "intermediates": (lambda p: p.run({"x": X}, intermediates=["out"]), "intermediates is a value of type list"),  # pyright: ignore[reportArgumentType]
    "mode of arrays": (lambda p: p.run({"x": X}, mode=X), "there is no mode"),  # pyright: ignore[reportArgumentType]
    "machine of arrays": (lambda _: Machine(X), "mode is 'strict' or 'vendor'"),  # pyright: ignore[reportArgumentType]
    "precision of arrays": (lambda _: mnc.Options(precision=X), "there is no precision"),  # pyright: ignore[reportArgumentType]
    "tensors": (lambda p: mnc.Executable(p.text, ("x",)), "a tensor of the program is a value of type str"),  # pyright: ignore[reportArgumentType]
    "text": (lambda p: mnc.Executable(None, p.tensors), "the text of the program is a value of type NoneType"),  # pyright: ignore[reportArgumentType]
    "own report": (lambda _: mnc.Report({"steps": 3}), "a value of type dict is no report"),
    "report": (lambda p: mnc.save(p, "out", 3), "the report is a value of type int"),  # pyright: ignore[reportArgumentType]
    "report of arrays": (lambda p: mnc.save(p, "out", {"a": X}), "the report is no JSON"),
    "dump": (lambda _: mnc.default_pipeline().dump_after("decompose", 3), "the file is a value of type int"),  # pyright: ignore[reportArgumentType]
}


PIPELINES: dict[str, tuple[Callable[[Any, Any], object], str]] = {
    "number": (lambda p, m: p.run(m, instrumentation=3), "the instrumentation is a value of type int"),
    "text": (lambda p, m: p.run(m, "timing"), "the instrumentation is a value of type str"),
    "alone": (lambda p, m: p.run(m, Timing()), "the instrumentation is a value of type Timing"),
    "class": (lambda p, m: p.run(m, [Timing]), "a value of type type is no instrumentation"),
    "verify": (lambda p, m: p.run(m, verify=X), "verify is a value of type ndarray"),
    "reproducer": (lambda p, m: p.run(m, reproducer="no"), "reproducer is a value of type str"),
    "directory": (lambda p, m: p.run(m, reproducer_directory=3), "the directory of reproducers is a value of type int"),
    "file": (lambda p, m: p.run(m, reproducer_file=""), "the reproducer file is an empty text"),
    "dumps": (lambda p, m: mnc.Pipeline(p.entries, "cse"), "the dumps are no pairs of a pass and a file"),  # pyright: ignore[reportArgumentType]
    "dump": (lambda p, m: p.dump_after("cse", "\0"), "no path has a null byte"),
    "table": (lambda p, m: mnc.Pipeline.parse(str(p), 3), "the table of passes is a value of type int"),  # pyright: ignore[reportArgumentType]
}


@pytest.mark.parametrize("name", PIPELINES)
def test_runs_of_pipelines_are_refused_before_any_pass(name: str, tmp_path: Path) -> None:
    wrong, words = PIPELINES[name]
    pipeline = mnc.parse_pipeline("builtin.module(cse)").dump_after("cse", tmp_path / "cse.mlir")
    refused(words, lambda: wrong(pipeline, mnc.import_model(FIXED)))
    assert not list(tmp_path.iterdir())


def test_errors_of_ones_own_may_hold_an_exception() -> None:
    error = mnc.CompileError(ValueError("too wide"), 3, hint=Path("a"))  # pyright: ignore[reportArgumentType]
    assert str(error) == "error: node '3': too wide\n  hint: a"
    assert str(mnc.InternalError(KeyError("x"))) == "internal error: 'x'"  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize("name", RUNS)
def test_runs_are_refused(name: str, program: mnc.Executable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    wrong, words = RUNS[name]
    refused(words, lambda: wrong(program))
    assert not list(tmp_path.iterdir())


def test_hints_of_python_name_no_option(program: mnc.Executable, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(mnc.CompileError, match="it is a file") as caught:
        mnc.save(program, tmp_path / "file")
    assert caught.value.hint == "choose another directory"
