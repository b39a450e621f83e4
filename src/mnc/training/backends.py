"""Where a training step runs: on the emulated chip, or on this computer's CPU through the LLVM JIT or C++."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Protocol

import numpy as np

from mnc.core.diagnostics import CompileError
from mnc.executable import Executable
from mnc.mncore_backend.target import named
from mnc.options import Options
from mnc.training.step import TrainingStep

Arrays = dict[str, np.ndarray]


class Program(Protocol):
    """A compiled function; the same inputs give the same bits."""

    def __call__(self, inputs: Mapping[str, np.ndarray], /) -> Arrays:
        """Run once, by names."""
        ...


class Stepper(Protocol):
    """A compiled training step with its state: parameters and what the optimizer remembers."""

    def start(self, state: Mapping[str, np.ndarray]) -> None:
        """Set the state."""
        ...

    def step(self, batch: Mapping[str, np.ndarray], following: Mapping[str, np.ndarray] | None = None, /) -> Arrays:
        """Take a step; the outputs besides the state. `following` is the batch of the next step, where it is known."""
        ...

    def state(self) -> Arrays:
        """The state now."""
        ...


class HostStepper:
    """A step whose state goes through the host: what a run gives is what the next one takes."""

    def __init__(self, program: Program, updates: Mapping[str, str]) -> None:
        self._program, self._updates = program, updates
        self._state: Arrays = {}

    def start(self, state: Mapping[str, np.ndarray]) -> None:
        """Set the state."""
        self._state = dict(state)

    def step(self, batch: Mapping[str, np.ndarray], following: Mapping[str, np.ndarray] | None = None, /) -> Arrays:
        """Take a step."""
        outputs = self._program({**batch, **self._state})
        self._state = {name: outputs.pop(output) for name, output in self._updates.items()}
        return outputs

    def state(self) -> Arrays:
        """The state now."""
        return dict(self._state)


class _Emulated:
    """A program on a machine that lives as long as it does. Text is parsed once; constants stay from run to run."""

    def __init__(self, executable: Executable) -> None:
        from mnc.mncore_backend.assembly import parse_program
        from mnc.mncore_backend.emulator import Machine

        self.executable = executable
        self._statements = {id(part): parse_program(part.text) for part in executable.parts}
        self._machine = Machine(target=named(executable.machine))

    def run(self, part: Executable | None, inputs: Mapping[str, np.ndarray]) -> Arrays:
        """Run the program or one of those that belong to it; None stands for one that is not needed."""
        return part.run_on(self._machine, self._statements[id(part)], inputs) if part is not None else {}


class EmulatedProgram(_Emulated):
    """A program on the emulator."""

    def __init__(self, module: Any, options: Options) -> None:
        from mnc.cached_compilation import compile_module

        super().__init__(compile_module(module, options))

    def __call__(self, inputs: Mapping[str, np.ndarray], /) -> Arrays:
        """Run once."""
        return self.run(self.executable, inputs)


class EmulatedStepper(_Emulated):
    """A step on the emulator. The state stays in the local memories; only batches move, each while the step before it
    is computed, where two of them fit into the memories."""

    def __init__(self, step: TrainingStep, options: Options) -> None:
        try:
            compiled, self._ahead = step.compile(replace(options, resident="batch")), True
        except CompileError:  # most likely there is no room for the batch that comes
            compiled, self._ahead = step.compile(replace(options, resident="state")), False
        super().__init__(compiled)
        self._names = step.updates
        self._state: Arrays | None = {}  # until it is in the local memories
        self._loaded: Mapping[str, np.ndarray] = {}  # the batch that is there

    def start(self, state: Mapping[str, np.ndarray]) -> None:
        """Set the state."""
        self._state = dict(state)

    def step(self, batch: Mapping[str, np.ndarray], following: Mapping[str, np.ndarray] | None = None, /) -> Arrays:
        """Take a step."""
        if self._state is not None or (self._ahead and not _same(batch, self._loaded)):
            self.run(self.executable.initialise, {**self.state(), **batch})
            self._state = None
        given = (following or batch) if self._ahead else batch
        self._loaded = {}  # whatever happens
        outputs = self.run(self.executable, given)
        self._loaded = given
        return outputs

    def state(self) -> Arrays:
        """The state now."""
        if self._state is not None:
            return self._state
        outputs = self.run(self.executable.read_back, {})
        return {name: outputs[output] for name, output in self._names.items()}


def _same(one: Mapping[str, np.ndarray], other: Mapping[str, np.ndarray]) -> bool:
    """The same bits under the same names; NaN is itself."""
    return one.keys() == other.keys() and all(one[name].tobytes() == other[name].tobytes() for name in one)


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


def _vendor(module: Any, options: Options) -> Program:
    """The interface of the vendor's assembler and emulator is not public, so there is nothing to look for and start."""
    hint = "train on the emulator; the program.vsm of mnc compile is the text that the vendor's tools take"
    raise CompileError("mnc cannot start the vendor's tools: how they are called is not public", hint=hint)


BACKENDS: dict[str, Callable[[Any, Options], Program]] = {"emulator": EmulatedProgram, "cpu": _cpu, "cpp": _cpp,
                                                             "vendor": _vendor}  # fmt: skip
"""Name -> compiler of a module in the graph dialect, which it changes."""


def compile_program(module: Any, backend: str, options: Options) -> Program:
    """Compile for a backend.

    Raises:
        CompileError: there is no such backend.
    """
    if backend not in BACKENDS:
        raise CompileError(f"there is no backend '{backend}'", hint=f"the backends are: {', '.join(BACKENDS)}")
    return BACKENDS[backend](module, options)


def compile_step(step: TrainingStep, backend: str, options: Options) -> Stepper:
    """Compile a training step for a backend, its state wherever that backend keeps it.

    Raises:
        CompileError: there is no such backend, or the step cannot be compiled.
    """
    if backend == "emulator":
        return EmulatedStepper(step, options)
    return HostStepper(compile_program(step.module(), backend, options), step.updates)
