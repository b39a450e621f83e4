"""Whole programs: files, constants, names, the interface, and what misuse says."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from mnc.core.diagnostics import CompileError
from mnc.cpp_target import CppProgram, build_library, compile_cpp, find_compiler, generate_cpp, save_cpp

from .harness import COMPILERS, build_together, model_of, needs_compiler, printed

F, I64, B, H, BF = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL, TensorProto.FLOAT16, TensorProto.BFLOAT16


def perceptron() -> onnx.ModelProto:
    rng = np.random.default_rng(0)
    weights = {"w": rng.standard_normal((20, 300)), "b": rng.standard_normal(300), "v": rng.standard_normal((300, 3))}
    nodes = [
        helper.make_node("Gemm", ["x", "w", "b"], ["h"], name="first layer"),
        helper.make_node("Relu", ["h"], ["r"], name="class"),
        helper.make_node("MatMul", ["r", "v"], ["y"], name="2nd"),
    ]
    constants = [numpy_helper.from_array(array.astype(np.float32), name) for name, array in weights.items()]
    return model_of(nodes, {"x": (F, [5, 20])}, {"y": (F, [5, 3])}, constants)


def reference(model: onnx.ModelProto, inputs: dict[str, np.ndarray]) -> list[Any]:
    results: Any = ReferenceEvaluator(model).run(None, inputs)
    return list(results)


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> CppProgram:
    return compile_cpp(perceptron(), directory=tmp_path_factory.mktemp("perceptron"))


@needs_compiler
def test_numbers_and_repetition(program: CppProgram) -> None:
    x = np.random.default_rng(1).standard_normal((5, 20)).astype(np.float32)
    first = program.run({"x": x})["y"]
    np.testing.assert_allclose(first, reference(perceptron(), {"x": x})[0], rtol=1e-4, atol=1e-4)
    np.testing.assert_array_equal(first, program.run({"x": x})["y"])
    # Any memory layout, and what converts without loss of meaning.
    np.testing.assert_array_equal(first, program.run({"x": np.asfortranarray(x.astype(np.float64))})["y"])


def test_text_is_deterministic_and_readable() -> None:
    first, second = (generate_cpp(perceptron(), name="my-model", example=True) for _ in range(2))
    assert first.files == second.files
    assert list(first.files) == ["model.h", "model.cpp", "weights.h", "weights.cpp", "main.cpp"]
    header, model = first.files["model.h"], first.files["model.cpp"]
    assert "input   x: float[5][20], 'x' of the model" in header
    assert "void run(const float* x, float* y);" in header and "inline constexpr std::size_t y_size = 15;" in header
    assert "namespace my_model {" in header
    for name in ("first layer", "class", "2nd"):
        assert any(line.startswith("//") and name in line for line in model.splitlines()), name
    assert all(len(line) <= 120 for text in first.files.values() for line in text.splitlines())


@needs_compiler
@pytest.mark.parametrize("misuse", [
    ({}, "no value for input 'x'"),
    ({"x": np.zeros((5, 20)), "z": np.zeros(1)}, "no input 'z'"),
    ({"x": np.zeros((4, 20))}, r"has shape \[4, 20\], the program takes \[5, 20\]"),
    ({"x": np.full((5, 20), "a")}, "the program takes float32"),
])  # fmt: skip
def test_misused_inputs(program: CppProgram, misuse: tuple[dict[str, Any], str]) -> None:
    with pytest.raises(CompileError, match=misuse[1]):
        program.run(misuse[0])


@needs_compiler
@pytest.mark.parametrize("compiler", COMPILERS)
def test_example_program(tmp_path: Path, compiler: str) -> None:
    """The files alone, as a user compiles them, without a warning; pedantic as well."""
    save_cpp(generate_cpp(perceptron(), example=True), tmp_path)
    flags = ["-std=c++17", "-O2", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-ffp-contract=off"]
    files = ["model.cpp", "weights.cpp", "main.cpp"]

    def call(*command: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)

    done = call(compiler, *flags, *files, "-o", "example")
    assert done.returncode == 0, done.stderr
    x = np.random.default_rng(1).standard_normal((5, 20)).astype(np.float32)
    x.tofile(tmp_path / "x.bin")
    assert call("./example", "x.bin", "y.bin").returncode == 0
    y = np.fromfile(tmp_path / "y.bin", np.float32).reshape(5, 3)
    np.testing.assert_allclose(y, reference(perceptron(), {"x": x})[0], rtol=1e-4, atol=1e-4)
    assert call("./example").returncode == 2
    (tmp_path / "x.bin").write_bytes(b"short")
    short = call("./example", "x.bin", "y.bin")
    assert short.returncode == 1 and "cannot read 100 elements from x.bin" in short.stderr


def _adding(constant: np.ndarray, kind: int) -> onnx.ModelProto:
    """y = where(c, constant, x): gives the bits of a constant back."""
    shape = list(constant.shape)
    nodes = [helper.make_node("Where", ["c", "k", "x"], ["y"])]
    inputs = {"c": (B, shape), "x": (kind, shape)}
    return model_of(nodes, inputs, {"y": (kind, shape)}, [numpy_helper.from_array(constant, "k")])


def _hard_floats(dtype: Any, count: int) -> np.ndarray:
    limits = np.finfo(dtype)
    special = [0.0, -0.0, np.inf, -np.inf, np.nan, limits.max, limits.min, limits.tiny, limits.smallest_subnormal, 0.1]
    rest = np.random.default_rng(0).standard_normal(count - len(special))
    return np.concatenate([special, rest]).astype(dtype)


HARD_CONSTANTS = {
    "float-short": (_hard_floats(np.float32, 40), F), "float-long": (_hard_floats(np.float32, 70_001), F),
    "double": (_hard_floats(np.float64, 30), TensorProto.DOUBLE),
    "double-long": (_hard_floats(np.float64, 5000), TensorProto.DOUBLE), "half": (_hard_floats(np.float16, 30), H),
    "int64": (np.array([[-(2**63), 2**63 - 1], [0, -1]]), I64),
    "int8-long": (np.arange(5001).astype(np.int8), TensorProto.INT8),
    "uint8": (np.arange(256).astype(np.uint8), TensorProto.UINT8), "bool": (np.array([True, False, True]), B),
    "scalar": (np.array(2.5, np.float32), F), "empty": (np.zeros((0, 3), np.float32), F),
}  # fmt: skip


@needs_compiler
def test_constants_keep_their_bits(tmp_path: Path) -> None:
    models = {name: _adding(*entry) for name, entry in HARD_CONSTANTS.items()}
    sources = [generate_cpp(model, name=name) for name, model in models.items()]
    for (name, (constant, _)), compiled in zip(HARD_CONSTANTS.items(), build_together(sources, tmp_path), strict=True):
        given = {"c": np.ones(constant.shape, bool), "x": np.zeros(constant.shape, constant.dtype)}
        result = compiled.run({p.name: given[p.name] for p in compiled.inputs})["y"]
        assert result.dtype == constant.dtype and result.tobytes() == constant.tobytes(), name


@needs_compiler
def test_conversions_of_short_floats() -> None:
    """Every half converts to float and back; floats round to nearest, ties to even, in both short formats."""
    halves = np.arange(65536, dtype=np.uint16).view(np.float16)
    singles = np.random.default_rng(0).integers(0, 2**32, 65536, dtype=np.uint64).astype(np.uint32)
    singles[:32768] = (singles[:32768] & 0x8FFFFFFF) | 0x38000000  # the range of halves, with their borders
    singles[:64] = (np.arange(64) * 0x1000 + 0x38800800).astype(np.uint32)  # ties
    floats = singles.view(np.float32)
    nodes = [
        helper.make_node("Cast", ["h"], ["widened"], to=F), helper.make_node("Cast", ["f"], ["half"], to=H),
        helper.make_node("Cast", ["f"], ["brain"], to=BF), helper.make_node("Cast", ["b"], ["wide"], to=F),
    ]  # fmt: skip
    size = [65536]
    inputs = {"h": (H, size), "f": (F, size), "b": (BF, size)}
    outputs = {"widened": (F, size), "half": (H, size), "brain": (BF, size), "wide": (F, size)}
    brains = np.arange(65536, dtype=np.uint16).view(ml_dtypes.bfloat16)
    results = compile_cpp(model_of(nodes, inputs, outputs)).run({"h": halves, "f": floats, "b": brains})
    with np.errstate(all="ignore"):
        wanted = [halves.astype(np.float32), floats.astype(np.float16), floats.astype(ml_dtypes.bfloat16)]
    for got, want in zip(results.values(), [*wanted, brains.astype(np.float32)], strict=True):
        a, b = got.astype(np.float64), want.astype(np.float64)
        np.testing.assert_array_equal(a, b)
        finite = ~np.isnan(a)
        np.testing.assert_array_equal(np.signbit(a[finite]), np.signbit(b[finite]))


@needs_compiler
def test_awkward_names(tmp_path: Path) -> None:
    """Keywords, spaces, digits, duplicates after cleaning, names of loops and of our own functions."""
    names = ["class", "a b", "a/b", "1", "i", "within", "run", "maximum", "std", "ünder", ""]
    inputs = {name or "weights": (F, [2, 3]) for name in names}
    nodes, total = [], "class"
    for number, name in enumerate(list(inputs)[1:]):
        nodes.append(helper.make_node("Max", [total, name], [f"t{number}"], name=["float", "i", "j"][number % 3]))
        total = f"t{number}"
    nodes.append(helper.make_node("Softmax", [total], ["int"], name="compute"))
    compiled = compile_cpp(model_of(nodes, inputs, {"int": (F, [2, 3])}), directory=tmp_path)
    rng = np.random.default_rng(0)
    values = {name: rng.standard_normal((2, 3)).astype(np.float32) for name in inputs}
    largest = np.maximum.reduce(list(values.values()))
    want = np.exp(largest) / np.exp(largest).sum(1, keepdims=True)
    np.testing.assert_allclose(compiled.run(values)["int"], want, rtol=1e-5)


@needs_compiler
def test_names_that_would_end_a_comment(tmp_path: Path) -> None:
    names = ["a\nb", "a\\", "a\rb", "\u2028", "*/", "??/"]
    weights = [
        numpy_helper.from_array(np.full((2, 3), number, np.float32), f"{name}w") for number, name in enumerate(names)
    ]
    nodes = [helper.make_node("Add", [name, f"{name}w"], [f"{name}s"], name=name) for name in names]
    model = model_of(nodes, {name: (F, [2, 3]) for name in names}, {f"{name}s": (F, [2, 3]) for name in names}, weights)
    results = compile_cpp(model, directory=tmp_path).run({name: np.ones((2, 3), np.float32) for name in names})
    assert [float(results[f"{name}s"][0, 0]) for name in names] == [1.0 + i for i in range(len(names))]


@needs_compiler
def test_indices_outside_are_an_error() -> None:
    nodes = [helper.make_node("Gather", ["x", "k"], ["y"])]
    compiled = compile_cpp(model_of(nodes, {"x": (F, [4, 2]), "k": (I64, [3])}, {"y": (F, [3, 2])}))
    x = np.arange(8, dtype=np.float32).reshape(4, 2)
    np.testing.assert_array_equal(compiled.run({"x": x, "k": np.array([3, -4, 0])})["y"], x[[3, 0, 0]])
    for wrong in (4, -5, 2**62):
        with pytest.raises(CompileError, match=r"the program stopped: index .* is outside 0 to 3"):
            compiled.run({"x": x, "k": np.array([0, wrong, 0])})


STATEMENTS = {
    "scf": """
      %c0 = arith.constant 0 : index %c1 = arith.constant 1 : index %c4 = arith.constant 4 : index
      %zero = arith.constant 0.0 : f32 %one = arith.constant 1.0 : f32
      scf.for %i = %c0 to %c4 step %c1 {
        %s:2 = scf.for %j = %c0 to %i step %c1 iter_args(%a = %zero, %b = %one) -> (f32, f32) {
          %n = arith.addf %a, %b : f32
          scf.yield %b, %n : f32, f32
        }
        %big = arith.cmpf ogt, %s#0, %one : f32
        %r = scf.if %big -> (f32) { %m = arith.mulf %s#0, %s#1 : f32 scf.yield %m : f32 } else { scf.yield %s#1 : f32 }
        memref.store %r, %y[%i] : memref<4xf32>
      } return""",
    "tile": """
      affine.for %t = 0 to 2 {
        %tile = memref.alloc() : memref<2xf32>
        %flat = memref.collapse_shape %x [[0, 1]] : memref<2x2xf32> into memref<4xf32>
        affine.for %i = 0 to 2 { %a = affine.load %flat[%t * 2 + %i] : memref<4xf32>
          affine.store %a, %tile[%i] : memref<2xf32> }
        affine.for %i = 0 to 2 { %a = affine.load %tile[1 - %i] : memref<2xf32>
          affine.store %a, %y[%t + 2 * %i] : memref<4xf32> }
        memref.dealloc %tile : memref<2xf32>
      } return""",
    "swap": """
      affine.for %i = 0 to 4 { %a = affine.load %x[%i floordiv 2, %i mod 2] : memref<2x2xf32>
        affine.store %a, %y[%i] : memref<4xf32> }
      %a = affine.load %y[0] : memref<4xf32> %b = affine.load %y[3] : memref<4xf32>
      affine.store %b, %y[0] : memref<4xf32> affine.store %a, %y[3] : memref<4xf32> return""",
    "view": """
      %sub = memref.subview %x[0, 1] [2, 1] [1, 1] : memref<2x2xf32> to memref<2x1xf32, strided<[2, 1], offset: 1>>
      affine.for %i = 0 to 4 {
        %0:2 = affine.delinearize_index %i into (2, 2) : index, index
        %1 = affine.linearize_index [%0#1, %0#0] by (2, 2) : index
        %2 = affine.max affine_map<(d0) -> (d0 - 2, 0)>(%i)
        %c0 = arith.constant 0 : index
        %a = memref.load %sub[%2, %c0] : memref<2x1xf32, strided<[2, 1], offset: 1>>
        memref.store %a, %y[%1] : memref<4xf32>
      } return""",
}  # fmt: skip


@needs_compiler
def test_statements_compute_what_they_say(tmp_path: Path) -> None:
    head = 'func.func @main(%x: memref<2x2xf32> {onnx.name = "x"}, %y: memref<4xf32> {mnc.result, onnx.name = "y"}) {'
    sources = [printed(f"{head}{body} }}", name) for name, body in STATEMENTS.items()]
    x = np.array([[1, 2], [3, 4]], np.float32)
    # Fibonacci numbers f(i), f(i + 1): their product once f(i) > 1. Tiles reversed and interleaved.
    wanted = {"scf": [1, 1, 2, 6], "tile": [2, 4, 1, 3], "swap": [4, 2, 3, 1], "view": [2, 2, 2, 4]}
    for name, compiled in zip(STATEMENTS, build_together(sources, tmp_path), strict=True):
        x_given = {"x": x} if compiled.inputs else {}
        np.testing.assert_array_equal(compiled.run(x_given)["y"], wanted[name], err_msg=name)


def test_no_compiler_is_one_message(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    onnx.save(perceptron(), path)
    monkeypatch.setenv("CXX", "no-such-compiler")
    with pytest.raises(CompileError, match="'no-such-compiler' named by CXX does not exist") as caught:
        find_compiler()
    assert caught.value.hint and "install g++" in caught.value.hint
    command = [sys.executable, "-m", "mnc.tools.mnc", "check", str(path), "--target", "cpp"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 2 and done.stderr.startswith("error: the C++ compiler") and "Traceback" not in done.stderr
    monkeypatch.delenv("CXX")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(CompileError, match="there is no C\\+\\+ compiler"):
        find_compiler()


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        ("#!/bin/sh\nexit 0\n", "made no 'model.so'"),
        ("#!/bin/sh\nexit 3\n", "exit code 3"),
        ("#!/bin/sh\nprintf 'error: \\377 no licence' >&2\nexit 1\n", "no licence"),
        ("#!/no/such/shell\n", "does not start"),
    ],
)
def test_a_compiler_that_compiles_nothing_is_no_mistake_of_ours(tmp_path: Path, script: str, reason: str) -> None:
    compiler = tmp_path / "c++"
    compiler.write_text(script)
    compiler.chmod(0o755)
    with pytest.raises(CompileError, match=reason) as caught:
        build_library(generate_cpp(perceptron()), tmp_path, str(compiler))
    assert caught.value.hint and "CXX" in caught.value.hint


@needs_compiler
def test_refused_text_is_our_mistake(tmp_path: Path) -> None:
    from dataclasses import replace

    from mnc.core.diagnostics import InternalError

    source = generate_cpp(perceptron())
    broken = replace(source, files={**source.files, "model.cpp": "int unused(int x) { return; }"})
    with pytest.raises(InternalError, match="does not accept the generated C"):
        build_library(broken, tmp_path)


@needs_compiler
def test_floats_become_integers_as_in_the_reference(tmp_path: Path) -> None:
    """Below zero, an unsigned integer has the bits of the signed one."""
    types = ["UINT8", "INT8", "UINT16", "INT16", "UINT32", "INT32", "UINT64", "INT64"]
    nodes = [helper.make_node("Cast", ["x"], [f"y{t}"], to=getattr(TensorProto, t)) for t in types]
    x = np.array([-1.5, -1.0, -0.5, 0.0, 3.7, 255.5, 256.0, -129.0, -300.0, 1e5, -1e5, 2.1e9, -2.1e9], np.float32)
    outputs = {f"y{t}": (getattr(TensorProto, t), [x.size]) for t in types}
    model = model_of(nodes, {"x": (F, [x.size])}, outputs)
    found = compile_cpp(model, directory=tmp_path).run({"x": x})
    for name, want in zip(outputs, reference(model, {"x": x}), strict=True):
        assert found[name].tolist() == want.tolist(), name


@needs_compiler
def test_nan_is_asked_for_and_computed_with(tmp_path: Path) -> None:
    """The machine has no NaN, and what asks for it is left out there where arithmetic reads the same input."""
    weights = {"w": np.array([1, 2, 3, 4], np.float32), "nan": np.array([0, 0, np.nan, 1], np.float32)}
    nodes = [
        *(helper.make_node("Constant", [], [n], value=onnx.numpy_helper.from_array(v)) for n, v in weights.items()),
        helper.make_node("IsNaN", ["x"], ["hole"]), helper.make_node("Where", ["hole", "w", "x"], ["filled"]),
        helper.make_node("Exp", ["x"], ["power"]), helper.make_node("Add", ["x", "nan"], ["sum"]),
    ]  # fmt: skip
    outputs = {name: (F, [4]) for name in ("filled", "power", "sum")}
    model = model_of(nodes, {"x": (F, [4])}, outputs)
    x = np.array([0, np.nan, 1, np.nan], np.float32)
    found = compile_cpp(model, directory=tmp_path).run({"x": x})
    for name, want in zip(outputs, reference(model, {"x": x}), strict=True):
        np.testing.assert_allclose(found[name], want, rtol=1e-6, err_msg=name)
