"""Where a training step runs: on the emulated chip, or on this computer's CPU through the LLVM JIT or C++."""

from collections.abc import Callable, Mapping
from typing import Any, Protocol

import numpy as np

from mnc.core.diagnostics import CompileError
from mnc.options import Options


class Program(Protocol):
    """A compiled function; the same inputs give the same bits."""

    def __call__(self, inputs: Mapping[str, np.ndarray], /) -> dict[str, np.ndarray]:
        """Run once, by names."""
        ...


class EmulatedProgram:
    """A program on the emulator. Text is parsed once; machine and constants stay from run to run."""

    def __init__(self, module: Any, options: Options) -> None:
        from mnc.compiler import run_stages, to_executable
        from mnc.mncore_backend.assembly import parse_program
        from mnc.mncore_backend.emulator import Machine

        run_stages(module, options)
        self.executable = to_executable(module)
        self._statements = parse_program(self.executable.text)
        self._machine = Machine()

    def __call__(self, inputs: Mapping[str, np.ndarray], /) -> dict[str, np.ndarray]:
        """Run once."""
        return self.executable.run_on(self._machine, self._statements, inputs)


def _cpu(module: Any, options: Options) -> Program:
    """Everything in single precision: `options.precision` is about the matrix unit of the chip."""
    from mnc.lowering.cpu import compile_for_cpu
    from mnc.registry import parse_pipeline

    parse_pipeline("builtin.module(graph-to-linalg,fuse-elementwise,canonicalize,cse)").run(module)
    return compile_for_cpu(module)


def _cpp(module: Any, options: Options) -> Program:
    """C++ made from the same loops, compiled by the compiler of this computer; in single precision, too."""
    from mnc.cpp_target import load_cpp, lower_module
    from mnc.lowering.cpp import print_cpp

    return load_cpp(print_cpp(lower_module(module, options), "training_step")).run


BACKENDS: dict[str, Callable[[Any, Options], Program]] = {"emulator": EmulatedProgram, "cpu": _cpu, "cpp": _cpp}
"""Name -> compiler of a module in the graph dialect, which it changes."""


def compile_program(module: Any, backend: str, options: Options) -> Program:
    """Compile for a backend.

    Raises:
        CompileError: there is no such backend.
    """
    if backend not in BACKENDS:
        raise CompileError(f"there is no backend '{backend}'", hint=f"the backends are: {', '.join(BACKENDS)}")
    return BACKENDS[backend](module, options)
