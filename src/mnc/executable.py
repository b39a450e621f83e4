"""A compiled program: text, the arrangement of its tensors in DRAM, and running it on the emulator."""

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import numpy as np

from mnc.core.diagnostics import CompileError
from mnc.mncore_backend.movement import DramImage

_MACHINE_DTYPE = {"float32": np.float32, "int32": np.int32, "bool": np.int32}


@dataclass(frozen=True)
class HostTensor:
    """A tensor that crosses the border between host and chip. `value` is set for constants only."""

    name: str
    role: str  # input, constant, output
    dtype: str  # float32, int32, bool
    image: DramImage
    value: np.ndarray | None = None

    @property
    def shape(self) -> tuple[int, ...]:
        return self.image.shape

    @property
    def elements(self) -> int:
        """Elements of the tensor."""
        return int(np.prod(self.image.shape, dtype=np.int64))

    @property
    def address(self) -> int:
        """Long-word address in the DRAM of every group that takes part."""
        assert self.image.buffer.base is not None  # allocated before emission
        return self.image.buffer.base


@dataclass
class RunResult:
    """Outputs by name and what the run cost."""

    outputs: dict[str, np.ndarray]
    statistics: Any


def check_input(tensor: HostTensor, value: Any) -> np.ndarray:
    """The input as an array of machine words; raises CompileError when shape or values do not fit."""
    array = np.asarray(value)
    if array.shape != tensor.shape:
        message = f"input '{tensor.name}' has shape {list(array.shape)}, the program takes {list(tensor.shape)}"
        raise CompileError(message)
    if tensor.dtype == "float32":
        if array.dtype.kind not in "fiub":
            raise CompileError(f"input '{tensor.name}' is {array.dtype}, the program takes float32")
        return array.astype(np.float32)
    if array.dtype.kind not in "iub":
        raise CompileError(f"input '{tensor.name}' is {array.dtype}, the program takes {tensor.dtype}")
    if array.size and (int(array.max()) > 2**31 - 1 or int(array.min()) < -(2**31)):
        raise CompileError(f"input '{tensor.name}' has values outside 32 bits")
    return array.astype(np.int32)


@dataclass(frozen=True)
class Executable:
    """A program and its host tensors. `line_nodes` names the ONNX nodes of every line of the text, `source` the text
    itself in messages, `unread` inputs of the model that nothing reads: values are accepted and left aside;
    `preferences` are those about layouts that it was compiled with.

    Where tensors stay in local memory between runs, `initialise` fills them and `read_back` brings those that runs
    update to DRAM; both are programs of their own, for the same machine.
    """

    text: str
    tensors: tuple[HostTensor, ...]
    line_nodes: tuple[str, ...] = ()
    source: str = "<program>"
    initialise: "Executable | None" = None
    read_back: "Executable | None" = None
    unread: tuple[str, ...] = ()
    preferences: tuple[str, ...] = ()

    @property
    def parts(self) -> tuple["Executable", ...]:
        """The programs in the order of a complete run."""
        return tuple(part for part in (self.initialise, self, self.read_back) if part is not None)

    def _with_role(self, role: str) -> tuple[HostTensor, ...]:
        found = [t for part in self.parts for t in part.tensors if t.role == role]
        return tuple({tensor.name: tensor for tensor in found}.values())

    @property
    def inputs(self) -> tuple[HostTensor, ...]:
        """What a complete run takes."""
        return self._with_role("input")

    @property
    def outputs(self) -> tuple[HostTensor, ...]:
        """What a complete run gives."""
        return self._with_role("output")

    def report(self) -> str:
        """What the program costs, as text: totals, the roofline, and the share of every ONNX node."""
        from mnc.report import report, report_text

        return report_text(report(self))

    def run(self, inputs: Mapping[str, Any], *, mode: str = "strict") -> dict[str, np.ndarray]:
        """Run on the emulator: numpy in, numpy out, by ONNX names.

        Raises:
            CompileError: a missing, surplus or unfitting input.
            EmulationError: the program breaks a rule of the machine.
        """
        return self.run_with_statistics(inputs, mode=mode).outputs

    def run_with_statistics(self, inputs: Mapping[str, Any], *, mode: str = "strict") -> RunResult:
        """As `run`, with steps, cycles and transfers of the program itself."""
        from mnc.mncore_backend.emulator import Machine

        machine = Machine(mode=mode)
        self._check_names(inputs)
        outputs: dict[str, np.ndarray] = {}
        statistics = None
        for part in self.parts:
            before = deepcopy(machine.statistics)
            outputs |= part.run_on(machine, part.text, inputs)
            if part is self:
                statistics = machine.statistics.since(before)
        return RunResult(outputs, statistics)

    def run_on(self, machine: Any, program: Any, inputs: Mapping[str, Any]) -> dict[str, np.ndarray]:
        """Run this program alone, on a machine that exists already, with the inputs among `inputs` that it takes.

        `program` is the text, or its statements if it is run many times.
        """
        self.load(machine, inputs)
        machine.run(program, self.source)
        return {tensor.name: self._read(machine, tensor) for tensor in self.tensors if tensor.role == "output"}

    def _check_names(self, inputs: Mapping[str, Any]) -> None:
        names = {tensor.name for tensor in self.inputs}
        if surplus := sorted(set(inputs) - names - set(self.unread)):
            hint = f"the inputs are: {', '.join(sorted(names)) or 'none'}"
            raise CompileError(f"there is no input '{surplus[0]}'", hint=hint)

    def load(self, machine: Any, inputs: Mapping[str, Any]) -> None:
        """Write constants and inputs of this program to the DRAM of a machine."""
        names = {tensor.name for tensor in self.tensors if tensor.role == "input"}
        if missing := sorted(names - set(inputs)):
            raise CompileError(f"no value for input '{missing[0]}'", hint=f"the inputs are: {', '.join(sorted(names))}")
        for tensor in self.tensors:
            if tensor.role == "output":
                continue
            value = tensor.value if tensor.role == "constant" else check_input(tensor, inputs[tensor.name])
            assert value is not None  # constants carry their value
            for group, longs in tensor.image.pack(value).items():
                for offset, part in tensor.image.parts:
                    machine.write_dram(group, tensor.address + offset, longs[part])

    @staticmethod
    def _read(machine: Any, tensor: HostTensor) -> np.ndarray:
        places = [(tensor.address + offset, part.stop - part.start) for offset, part in tensor.image.parts]
        contents = {
            group: np.concatenate([machine.read_dram(group, address, size) for address, size in places])
            for group in tensor.image.groups
        }
        array = tensor.image.unpack(contents, _MACHINE_DTYPE[tensor.dtype])
        return array.astype(bool) if tensor.dtype == "bool" else array  # pyright: ignore[reportReturnType]
