"""Where a compiled model can run, behind one signature."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from mnc.core.diagnostics import CompileError
from mnc.options import Options, Precision

TARGETS = ("mncore", "cpp")
"""``mncore``: assembly on the emulator. ``cpp``: C++17 through the compiler of this computer."""

Run = Callable[[Mapping[str, Any]], tuple[dict[str, np.ndarray], str]]


@dataclass(frozen=True)
class Prepared:
    """A compiled model: the names of its inputs, and `run`, which gives outputs by name and one line about the run."""

    inputs: tuple[str, ...]
    run: Run
    precision: Precision


def prepare(model: Any, options: Options, target: str = "mncore") -> Prepared:
    """Compile `model`, a path or an ``onnx.ModelProto``, for one of `TARGETS`.

    Raises:
        CompileError: the model cannot be compiled, or there is no such target.
    """
    if target == "cpp":
        return _prepare_cpp(model, options)
    if target == "mncore":
        return _prepare_mncore(model, options)
    raise CompileError(f"there is no target '{target}'", hint=f"the targets are: {', '.join(TARGETS)}")


def check_available(target: str) -> None:
    """Raise CompileError when this computer lacks what a target needs: one message, not one for every test."""
    if target == "cpp":
        from mnc.cpp_target import find_compiler

        find_compiler()


def _prepare_mncore(model: Any, options: Options) -> Prepared:
    from mnc.cached_compilation import compile
    from mnc.report import statistics_line

    executable = compile(model, options)

    def run(inputs: Mapping[str, Any]) -> tuple[dict[str, np.ndarray], str]:
        result = executable.run_with_statistics(inputs)
        return result.outputs, statistics_line(result.statistics)

    names = (*(tensor.name for tensor in executable.inputs), *executable.unread)
    return Prepared(names, run, options.precision)


def _prepare_cpp(model: Any, options: Options) -> Prepared:
    from mnc.cpp_target import compile_cpp

    program = compile_cpp(model, options)

    def run(inputs: Mapping[str, Any]) -> tuple[dict[str, np.ndarray], str]:
        return program.run(inputs), f"compiled as C++17 by {program.compiler}"

    # Everything is computed in the types of the model.
    return Prepared(tuple(parameter.name for parameter in program.inputs), run, "single")
