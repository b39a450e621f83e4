"""The C++ target: a model as C++17, and the compiled result called from Python."""

import contextlib
import ctypes
import os
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from mnc.core.context import make_context
from mnc.core.diagnostics import CompileError, InternalError
from mnc.core.files import whole_file
from mnc.core.pipeline import Pipeline
from mnc.core.run_time_extents import without_padding
from mnc.core.sequences import as_lists, given_tensors
from mnc.lowering.cpp import CppParameter, CppSource, print_cpp
from mnc.lowering.onnx_to_graph.importer import import_model
from mnc.options import Options
from mnc.registry import pass_table
from mnc.stage_dumps import dump
from mnc.stages import stage_pipeline

CPP = (
    "graph-to-linalg", "fuse-elementwise", "canonicalize", "cse", "order-loops", "tensor-to-memref{deallocate=true}",
    "linalg-to-affine",
)  # fmt: skip
"""The passes behind the graph stage: loops over whole tensors."""

FLAGS = ("-std=c++17", "-O2", "-ftree-vectorize", "-ffp-contract=off", "-Wall", "-Wextra")
"""Of our own builds. -ftree-vectorize: compilers differ in what they vectorize at -O2; results stay the same."""

_ENTRY = "entry.cpp"
_PROBE = "probe.cpp"
_FAILED, _MESSAGE_BYTES = 1, 256


def lower_to_loops(model: Any, options: Options, shapes: Mapping[str, Any] | None = None) -> Any:
    """Import a model (path or ``onnx.ModelProto``) and lower it to loops on buffers; `options` may ask for dumps."""
    return lower_module(import_model(model, make_context(), shapes={**options.shapes, **(shapes or {})}), options)


def lower_module(module: Any, options: Options) -> Any:
    """Lower a module of the graph dialect, which is changed, to loops on buffers."""
    loops = Pipeline.parse(f"builtin.module({','.join(CPP)})", pass_table())
    graph = stage_pipeline("graph", options).remove("settle-nan")  # processors compute with NaN, and all inputs hold it
    stages = {"import": None, "graph": graph, "loops": loops}
    for number, (stage, pipeline) in enumerate(stages.items()):
        if pipeline is not None:
            pipeline.run(module)
        if options.dump_dir is not None:
            dump(module, Path(options.dump_dir), number, stage)
    return module


def generate_cpp(
    model: Any, options: Options | None = None, *, name: str = "model", example: bool = False,
    shapes: Mapping[str, Any] | None = None,
) -> CppSource:  # fmt: skip
    """The model as C++17 text.

    Args:
        model: path of an ONNX file, or an ``onnx.ModelProto``.
        options: shapes of open inputs. Its precision does not apply: everything is in the types of the model.
        name: of the namespace.
        example: add a ``main.cpp``.

    Raises:
        CompileError: the model cannot be compiled.
    """
    return print_cpp(lower_to_loops(model, options or Options(), shapes), name, example=example)


def save_cpp(source: CppSource, directory: Path | str) -> list[Path]:
    """Write the files of a program; the paths in order.

    Raises:
        CompileError: the directory cannot be written.
    """
    target = Path(directory)
    paths = [target / name for name in source.files]
    try:
        target.mkdir(parents=True, exist_ok=True)
        for path, text in zip(paths, source.files.values(), strict=True):
            with whole_file(path, "choose another directory with -o") as file:
                file.write(text.encode())
    except OSError as error:
        message = f"cannot write {target}: {error.strerror}"
        raise CompileError(message, hint="choose another directory with -o") from None
    return paths


def find_compiler() -> str:
    """The C++ compiler: the environment variable CXX, else c++, g++ or clang++.

    Raises:
        CompileError: there is none.
    """
    named = os.environ.get("CXX")
    for candidate in [named] if named else ["c++", "g++", "clang++"]:
        if path := shutil.which(candidate):
            return path
    message = f"the C++ compiler '{named}' named by CXX does not exist" if named else "there is no C++ compiler"
    raise CompileError(message, hint="install g++ or clang++, or name one in the environment variable CXX")


def entry_text(source: CppSource) -> str:
    """A function with C linkage that takes all pointers in one array and reports exceptions as text."""
    every = [*source.inputs, *source.outputs]
    casts = [
        f"static_cast<{'const ' if i < len(source.inputs) else ''}{p.c_type}*>(arguments[{i}])"
        for i, p in enumerate(every)
    ]
    return f"""#include <cstdio>
#include <exception>

#include "model.h"

extern "C" int mnc_entry(void** arguments, char* message) {{
  static_cast<void>(arguments);
  try {{
    {source.namespace}::run({", ".join(casts)});
  }} catch (const std::exception& error) {{
    std::snprintf(message, {_MESSAGE_BYTES}, "%s", error.what());
    return {_FAILED};
  }}
  return 0;
}}
"""


def build_library(source: CppSource, directory: Path, compiler: str | None = None) -> Path:
    """Compile a program into a shared library inside `directory`.

    Raises:
        CompileError: there is no compiler, or it compiles nothing at all.
        InternalError: the compiler refuses the text, or warns.
    """
    command = compiler or find_compiler()
    files = [path.name for path in save_cpp(source, directory) if path.suffix == ".cpp" and path.name != "main.cpp"]
    (directory / _ENTRY).write_text(entry_text(source))
    library = directory / "model.so"
    line = [command, *FLAGS, "-Werror", "-fPIC", "-shared", *files, _ENTRY, "-o", library.name]
    said = _compiled(line, library)
    if said is None:
        return library
    (directory / _PROBE).write_text("int mnc_probe() { return 0; }\n")
    if _compiled([command, "-fPIC", "-shared", _PROBE, "-o", "probe.so"], directory / "probe.so") is not None:
        message = f"the C++ compiler '{command}' compiles nothing, not even an empty function: {said}"
        raise CompileError(message, hint="repair it, or name another one in the environment variable CXX")
    raise InternalError(f"{command} does not accept the generated C++: {said}")


def _compiled(line: Sequence[str], library: Path) -> str | None:
    """Run a compiler in the directory of the library; None if it made it, else what it said."""
    try:
        done = subprocess.run(
            line, cwd=library.parent, capture_output=True, encoding="utf-8", errors="replace", check=False
        )
    except OSError as error:
        return f"it does not start ({error.strerror})"
    if done.returncode == 0 and library.is_file():
        return None
    said = next((text for text in done.stderr.splitlines() if "error" in text), done.stderr[:500].strip())
    return said or (f"it ended with exit code {done.returncode} and made no '{library.name}'")


@dataclass(frozen=True)
class CppProgram:
    """A model compiled by the C++ compiler, loaded into this process.

    Attributes:
        inputs, outputs: names, shapes and dtypes as in the model.
        source: the text that was compiled.
        compiler: path of the compiler.
    """

    source: CppSource
    library: Any
    compiler: str

    @property
    def inputs(self) -> tuple[CppParameter, ...]:
        return self.source.inputs

    @property
    def outputs(self) -> tuple[CppParameter, ...]:
        counts = {entry.count for entry in self.source.extents}
        return tuple(parameter for parameter in self.source.outputs if parameter.name not in counts)

    def run(self, inputs: Mapping[str, Any]) -> dict[str, Any]:
        """Compute the outputs: numpy in, numpy out, by ONNX names. A sequence of the model is a list of arrays, an
        optional value that is not there None.

        Raises:
            CompileError: a missing, surplus or unfitting input, or an index outside its tensor.
        """
        names = [parameter.name for parameter in self.inputs]
        hint = f"the inputs are: {', '.join(names) or 'none'}"
        values = given_tensors(inputs, self.source.sequences)
        if surplus := sorted(set(values) - set(names)):
            raise CompileError(f"there is no input '{surplus[0]}'", hint=hint)
        if missing := [name for name in names if name not in values]:
            raise CompileError(f"no value for input '{missing[0]}'", hint=hint)
        given = [_checked(parameter, values[parameter.name]) for parameter in self.inputs]
        made = self.source.outputs
        results = [np.empty(parameter.shape, parameter.dtype) for parameter in made]
        arrays = [*given, *results]
        pointers = (ctypes.c_void_p * len(arrays))(*(array.ctypes.data for array in arrays))
        message = ctypes.create_string_buffer(_MESSAGE_BYTES)
        if self.library.mnc_entry(pointers, message):
            raise CompileError(f"the program stopped: {message.value.decode()}")
        named = {parameter.name: result for parameter, result in zip(made, results, strict=True)}
        return as_lists(without_padding(named, self.source.extents), self.source.sequences, "output")


def _checked(parameter: CppParameter, value: Any) -> np.ndarray:
    array = np.asarray(value)
    if array.shape != parameter.shape:
        shapes = f"{list(array.shape)}, the program takes {list(parameter.shape)}"
        raise CompileError(f"input '{parameter.name}' has shape {shapes}")
    # Python numbers arrive as float64 or int64; a float is no substitute for an integer.
    wanted = parameter.dtype
    fits = array.dtype == wanted or (
        array.dtype.kind in "fiubV" if wanted.kind in "fV" else array.dtype.kind in "iub" and wanted.kind in "iu"
    )
    if not fits:
        raise CompileError(f"input '{parameter.name}' is {array.dtype}, the program takes {wanted}")
    if wanted.kind in "iu" and array.dtype != wanted and array.size:
        limits = np.iinfo(wanted)
        if int(array.max()) > limits.max or int(array.min()) < limits.min:
            raise CompileError(f"input '{parameter.name}' has values outside {wanted}")
    return np.require(array, dtype=wanted, requirements=["C", "A"])


def compile_cpp(
    model: Any,
    options: Options | None = None,
    *,
    directory: Path | str | None = None,
    shapes: Mapping[str, Any] | None = None,
) -> CppProgram:
    """Compile a model to C++ and load it.

    Args:
        model: path of an ONNX file, or an ``onnx.ModelProto``.
        directory: keeps the text and the library; by default they live in a temporary directory.

    Raises:
        CompileError: the model cannot be compiled, or there is no C++ compiler.
    """
    find_compiler()  # before the work, because it explains what is missing
    return load_cpp(generate_cpp(model, options, shapes=shapes), directory)


def load_cpp(source: CppSource, directory: Path | str | None = None) -> CppProgram:
    """Compile C++ text that `generate_cpp` or `lower_module` made, and load it; see `compile_cpp`."""
    compiler = find_compiler()
    scratch = contextlib.nullcontext(directory) if directory else tempfile.TemporaryDirectory(prefix="mnc-cpp-")
    with scratch as place:
        assert place is not None
        library = ctypes.CDLL(str(build_library(source, Path(place).absolute(), compiler)))
    library.mnc_entry.restype = ctypes.c_int
    return CppProgram(source, library, compiler)
