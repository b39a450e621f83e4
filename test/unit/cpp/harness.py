"""Many printed programs compiled at once: starting the compiler costs more than what it compiles."""

import ctypes
import re
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

import onnx
import pytest

from mnc.core.bindings import ir
from mnc.core.context import make_context
from mnc.core.diagnostics import CompileError
from mnc.cpp_target import CppProgram, entry_text, find_compiler
from mnc.lowering.cpp import CppSource, print_cpp


def _has_compiler() -> bool:
    try:
        find_compiler()
    except CompileError:
        return False
    return True


needs_compiler = pytest.mark.skipif(not _has_compiler(), reason="there is no C++ compiler: install g++ or clang++")

# CI may name several; the text must please each of them.
COMPILERS = [path for path in map(shutil.which, ("g++", "clang++")) if path]


class _Entry:
    """One of many functions of a library, where `CppProgram` expects the only one."""

    def __init__(self, function: object) -> None:
        self.mnc_entry = function


def build_together(sources: list[CppSource], directory: Path) -> list[CppProgram]:
    """Programs of sources with different namespaces, compiled as one file; a warning is an error."""
    parts = []
    for i, source in enumerate(sources):
        order = ("model.h", "weights.h", "weights.cpp", "model.cpp")
        texts = [source.files[name] for name in order if name in source.files]
        texts.append(entry_text(source).replace("mnc_entry", f"mnc_entry_{i}"))
        parts += [re.sub(r'#pragma once|#include "\w+\.h"', "", text) for text in texts]
    (directory / "all.cpp").write_text("\n".join(parts))
    flags = ["-std=c++17", "-O0", "-Wall", "-Wextra", "-Werror", "-ffp-contract=off", "-fPIC", "-shared"]
    command = [find_compiler(), *flags, "all.cpp", "-o", "all.so"]
    done = subprocess.run(command, cwd=directory, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[:3000]
    library = ctypes.CDLL(str(directory / "all.so"))
    return [CppProgram(s, _Entry(getattr(library, f"mnc_entry_{i}")), "together") for i, s in enumerate(sources)]


def printed(text: str, name: str = "model") -> CppSource:
    """A program from IR text."""
    with make_context(["graph"]) as context:
        return print_cpp(ir.Module.parse(text, context), name)


def model_of(
    nodes: list[onnx.NodeProto],
    inputs: Mapping[str, tuple[int, list[int]]],
    outputs: Mapping[str, tuple[int, list[int]]],
    constants: list[onnx.TensorProto] | None = None,
) -> onnx.ModelProto:
    """An ONNX model; inputs and outputs are name -> (element type, shape)."""
    infos = [
        [onnx.helper.make_tensor_value_info(name, kind, shape) for name, (kind, shape) in entries.items()]
        for entries in (inputs, outputs)
    ]
    graph = onnx.helper.make_graph(nodes, "test", infos[0], infos[1], constants or [])
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 21)], ir_version=10)
    onnx.checker.check_model(model)
    return model
