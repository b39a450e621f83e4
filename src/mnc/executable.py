"""A compiled program: text, the arrangement of its tensors in DRAM, and running it on the emulator."""

from collections.abc import Iterable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from mnc.core import events
from mnc.core.diagnostics import CompileError
from mnc.core.given_values import check_flag
from mnc.core.run_time_extents import RunTimeExtent, without_padding
from mnc.core.sequences import HostSequence, as_lists, given_tensors, missing_hint
from mnc.input_checks import check_input, check_machine, check_mapping, check_seed, refuse_nan
from mnc.mncore_backend.codegen.report.ideal import Ideal
from mnc.mncore_backend.program.dram_image import DramImage
from mnc.mncore_backend.target import MN_CORE_2, named

if TYPE_CHECKING:
    from mnc.origin import Origin
    from mnc.program_report import Report

MODES = ("strict", "vendor")
_MOST_LINES = 20_000
"""Longer programs are shown without their costs, which take seconds to find."""
_MACHINE_DTYPE = {"float32": np.float32, "int32": np.int32, "uint32": np.uint32, "bool": np.int32}


@dataclass(frozen=True, repr=False)
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

    def __str__(self) -> str:
        """``image float32[360, 64]``."""
        return f"{self.name} {self.dtype}{list(self.shape)}"

    def __repr__(self) -> str:
        return f"<HostTensor {self}, {self.role}>"


@dataclass
class RunResult:
    """Outputs by name, sequences as lists of arrays, and what the run cost."""

    outputs: dict[str, Any]
    statistics: Any


@dataclass(frozen=True, repr=False)
class Executable:
    """A program and its host tensors. `line_nodes` names the ONNX nodes of every line of the text, `source` the text
    itself in messages, `unread` inputs of the model that nothing reads: values are accepted and left aside;
    `machine` is the name of the machine that it is for; `may_hold_nan` inputs whose NaN no arithmetic reads;
    `extents` are those of outputs that a run finds, which is given back without its padding; `sequences` are those of
    the model, whose elements are inputs and outputs of their own here, and optional values without a tensor;
    `order` has the names of inputs, then of outputs, as the model lists them;
    `preferences` are those about layouts that it was compiled with; `ideal` is the work of the model, None where the
    pass `count-work` did not run; `cache_key` is the key of its entry in the cache, if it has one; `origin` says what
    it was compiled from, unless it was read from a directory.

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
    may_hold_nan: tuple[str, ...] = ()
    extents: tuple[RunTimeExtent, ...] = ()
    sequences: tuple[HostSequence, ...] = ()
    order: tuple[str, ...] = ()
    machine: str = MN_CORE_2.name
    preferences: tuple[str, ...] = ()
    ideal: Ideal | None = None
    cache_key: str = field(default="", compare=False, repr=False)
    origin: "Origin | None" = field(default=None, compare=False)

    def __post_init__(self) -> None:
        """Raises CompileError for what is no text, or no tuple of tensors."""
        tensors = self.tensors if isinstance(self.tensors, tuple) else (self.tensors,)
        wrong = next((one for one in tensors if not isinstance(one, HostTensor)), None)
        if not isinstance(self.text, str) or wrong is not None:
            what = "the text" if not isinstance(self.text, str) else "a tensor"
            kind = type(wrong if wrong is not None else self.text).__name__
            hint = "programs are made by mnc.compile, and read by mnc.load"
            raise CompileError(f"{what} of the program is a value of type {kind}", hint=hint)

    def __repr__(self) -> str:
        given, made = (", ".join(map(str, found)) or "nothing" for found in (self.inputs, self.outputs))
        return f"<Executable: {self.lines:,} lines; {given} -> {made}>"

    def _repr_html_(self) -> str:
        """Inputs, outputs and, unless that takes long, costs, for notebooks."""
        from mnc.program_report import html_table

        tensors = (*self.inputs, *self.outputs)
        rows = [{"role": t.role, "name": t.name, "type": t.dtype, "shape": str(list(t.shape))} for t in tensors]
        costs = self.report._repr_html_() if self.lines <= _MOST_LINES else f"<p>{self.lines:,} lines</p>"
        return html_table(rows) + costs

    @property
    def lines(self) -> int:
        """Lines of the text."""
        return self.text.count("\n")

    @property
    def parts(self) -> tuple["Executable", ...]:
        """The programs in the order of a complete run."""
        return tuple(part for part in (self.initialise, self, self.read_back) if part is not None)

    def _with_role(self, role: str) -> tuple[HostTensor, ...]:
        found = {t.name: t for part in self.parts for t in part.tensors if t.role == role}
        return tuple(found[name] for name in ordered(found, role, self.order))

    @property
    def inputs(self) -> tuple[HostTensor, ...]:
        """What a complete run takes."""
        return self._with_role("input")

    @property
    def outputs(self) -> tuple[HostTensor, ...]:
        """What a complete run gives; where a run finds an extent, its shape has the largest one."""
        counts = {entry.count for entry in self.extents}
        return tuple(tensor for tensor in self._with_role("output") if tensor.name not in counts)

    @cached_property
    def report(self) -> "Report":
        """What the program costs: totals, how close to the ideal, and the share of every ONNX node."""
        from mnc.cached_compilation import report_of
        from mnc.program_report import Report

        return Report(report_of(self))

    def random_inputs(self, seed: int = 0) -> dict[str, Any]:
        """Seeded values for every input: normal for floats, small for integers, fair for booleans. Sequences are lists,
        optional inputs without a value None.

        Where the model is known they are those of ``mnc check --seed``, for which the model is defined. A program that
        was read from a directory knows its tensors only: its integers are 0 or 1.

        Raises:
            CompileError: `seed` is no number from 0 on.
        """
        check_seed(seed)
        if self.origin is not None:
            return as_lists(self.origin.random_inputs(int(seed)), self.sequences, "input")
        rng = np.random.default_rng(seed)
        return as_lists({tensor.name: _drawn(tensor, rng) for tensor in self.inputs}, self.sequences, "input")

    def run(
        self, inputs: Mapping[str, Any], *, mode: str = "strict", intermediates: bool = False
    ) -> dict[str, Any]:
        """Run on the emulator: numpy in, numpy out, by ONNX names. A sequence of the model is a list of arrays; an
        optional value that is not there is None, and may be left out of the inputs.

        Args:
            mode: ``vendor`` skips checks of what the machine would not notice.
            intermediates: also return every float intermediate of the model. They come from a second program, which is
                compiled when first asked for and stores them; what it fuses may differ.

        Raises:
            CompileError: a missing, surplus or unfitting input.
            EmulationError: the program breaks a rule of the machine.
        """
        check_flag(intermediates, "intermediates")
        if intermediates:
            if self.origin is None:
                hint = "compile the model with mnc.compile, or use mnc check --intermediates"
                raise CompileError("a program that was read from a directory does not know its model", hint=hint)
            stored = self.origin.storing_intermediates()  # its inputs are tensors, also those of sequences
            return stored.run(self._given(inputs), mode=mode)
        return self.run_with_statistics(inputs, mode=mode).outputs

    def run_with_statistics(
        self, inputs: Mapping[str, Any], *, mode: str = "strict", dirty: int | None = None
    ) -> RunResult:
        """As `run`, with steps, cycles and transfers of the program itself.

        `dirty` is the seed of random words that all memories start with (vendor mode only)."""
        from mnc.mncore_backend.emulator import Machine

        if not isinstance(mode, str) or mode not in MODES:
            raise CompileError(f"there is no mode '{mode}'", hint=f"give one of: {', '.join(MODES)}")
        if dirty is not None:
            check_seed(dirty)
        if dirty is not None and mode != "vendor":
            hint = "strict mode follows the words that nobody wrote; give mode='vendor'"
            raise CompileError("random words in memory are for vendor mode", hint=hint)
        machine = Machine(mode=mode, dirty=dirty, target=named(self.machine))
        given = self._given(inputs)
        outputs: dict[str, np.ndarray] = {}
        statistics = None
        for part in self.parts:
            before = deepcopy(machine.statistics)
            with events.span("stage", "emulator"):
                outputs |= part.run_on(machine, part.text, given)
            if part is self:
                statistics = machine.statistics.since(before)
        outputs = {name: outputs[name] for name in ordered(outputs, "output", self.order)}
        return RunResult(as_lists(outputs, self.sequences, "output"), statistics)

    def run_on(self, machine: Any, program: Any, inputs: Mapping[str, Any]) -> dict[str, np.ndarray]:
        """Run this program alone, on a machine that exists already, with the inputs among `inputs` that it takes.

        `program` is the text, or its statements if it is run many times.
        """
        self.load(machine, inputs)
        machine.run(program, self.source)
        outputs: dict[str, np.ndarray] = {}
        for tensor in (tensor for tensor in self.tensors if tensor.role == "output"):
            part = self._read(machine, tensor)
            if tensor.name in outputs:  # a large result is stored in parts, each with zeros where the others are
                words = np.uint8 if part.dtype == bool else np.uint32
                part = (part.view(words) | outputs[tensor.name].view(words)).view(part.dtype)
            outputs[tensor.name] = part
        return without_padding(outputs, self.extents)

    def _given(self, inputs: Mapping[str, Any]) -> dict[str, Any]:
        """Values of a complete run by the names of tensors, all of which are inputs; raises CompileError."""
        names = {tensor.name for tensor in self.inputs}
        check_mapping(inputs, names)
        given = given_tensors(inputs, self.sequences)
        if surplus := sorted(set(given) - names - set(self.unread)):
            hint = f"the inputs are: {', '.join(sorted(names)) or 'none'}"
            raise CompileError(f"there is no input '{surplus[0]}'", hint=hint)
        for name in sorted(names & set(given) - set(self.may_hold_nan)):
            refuse_nan(name, given[name])
        return given

    def load(self, machine: Any, inputs: Mapping[str, Any]) -> None:
        """Write constants and inputs of this program to the DRAM of a machine. Raises CompileError."""
        names = {tensor.name for tensor in self.tensors if tensor.role == "input"}
        check_machine(machine, self.machine)
        check_mapping(inputs, names)
        if missing := sorted(names - set(inputs)):
            hint = missing_hint(missing[0], self.sequences) or f"the inputs are: {', '.join(sorted(names))}"
            raise CompileError(f"no value for input '{missing[0]}'", hint=hint)
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
        _refuse_poison(machine, tensor, places)
        contents = {
            group: np.concatenate([machine.read_dram(group, address, size) for address, size in places])
            for group in tensor.image.groups
        }
        array = tensor.image.unpack(contents, _MACHINE_DTYPE[tensor.dtype])
        return array.astype(bool) if tensor.dtype == "bool" else array  # pyright: ignore[reportReturnType]


def ordered(names: Iterable[str], role: str, order: Sequence[str]) -> list[str]:
    """Names of one role as `order` has them, which begins with the inputs: an output may be called as an input is. What
    is not in it comes last."""
    numbered = list(enumerate(order))
    place = {name: i for i, name in (reversed(numbered) if role == "input" else numbered)}
    return sorted(names, key=lambda name: place.get(name, len(order)))


def _drawn(tensor: HostTensor, rng: np.random.Generator) -> np.ndarray:
    if tensor.dtype == "float32":
        return rng.standard_normal(tensor.shape).astype(np.float32)
    return rng.integers(0, 2, tensor.shape).astype(np.bool_ if tensor.dtype == "bool" else _MACHINE_DTYPE[tensor.dtype])


def _refuse_poison(machine: Any, tensor: HostTensor, places: list[tuple[int, int]]) -> None:
    """Raise EmulationError if an element of an output depends on words that nobody wrote; padding may."""
    for group in tensor.image.groups:
        parts = [machine.dram_poison(group, address, size) for address, size in places]
        if all(part is None for part in parts):
            continue
        sizes = [np.zeros(size, np.uint64) for _, size in places]
        longs = np.concatenate([zeros if part is None else part for part, zeros in zip(parts, sizes, strict=True)])
        words = np.stack([longs >> np.uint64(32), longs & np.uint64(0xFFFFFFFF)], axis=-1)
        elements = tensor.image.index[group]
        bad = np.argwhere((words != 0) & (elements >= 0))
        if len(bad):
            addresses = np.concatenate([address + np.arange(size) for address, size in places])
            position = np.unravel_index(int(elements[tuple(bad[0])]), tensor.shape)
            what = f"element {[int(i) for i in position]} of output '{tensor.name}'"
            machine.refuse_poison(what, group, int(addresses[bad[0][0]]))
