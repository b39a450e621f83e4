"""Compilation of kernels on first use, their call records, and the table runner."""

import ctypes
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mnc.mncore_backend.target import PES_PER_MAB, chip

from . import object_cache
from .builder import Builder
from .emitter import Value

WORDS_PER_OPERAND = 5
"""int64 words of an operand in a record: row addresses of cycles 0..3 and the block stride in bytes."""

CYCLES = 4


def pes() -> int:
    """PEs of an L1B of the machine in use: long words of a row, a multiple of 16."""
    return chip().mabs_per_l1b * PES_PER_MAB



Operand = NDArray[Any] | tuple[Sequence[int] | NDArray[Any], int] | Sequence[int]
Outputs = Mapping[str, Value]
Body = Callable[["Step"], None]

_PROTOTYPE = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)
_context: Any = None
_engines: list[Any] = []  # compiled code lives as long as its engine


# The engine hands out only a wrapper taking packed arguments; this function stores the address itself.
_LOCATE = """
llvm.func @locate(%result: !llvm.ptr) {{
  %address = llvm.mlir.addressof @{name} : !llvm.ptr
  llvm.store %address, %result : !llvm.ptr, !llvm.ptr
  llvm.return
}}
"""


def function_address(name: str, text: str) -> int:
    """The address of one LLVM-dialect function, from the cache on disk or compiled."""
    place = object_cache.place_of(text)
    address = None if place is None else object_cache.read(place, name)
    if address is not None:
        return address
    engine, address = compile_function(name, text, keeps_object=place is not None)
    _engines.append(engine)
    if place is not None:
        with tempfile.NamedTemporaryFile(suffix=".o") as file:
            engine.dump_to_object_file(file.name)
            object_cache.write(place, name, file.read())
    return address


def compile_function(name: str, text: str, *, keeps_object: bool) -> tuple[Any, int]:
    """Compile one LLVM-dialect function; its engine, which keeps the code alive, and its address.

    Optimisation level 0 is as fast as level 3 for code that is already vector code, and compiles
    four times as quickly.
    """
    from mnc.core import bindings  # takes as long to import as ten kernels to load

    global _context
    ir: Any = bindings.ir  # its names are invisible to type checkers
    if _context is None:  # making one costs as much as compiling a small kernel
        _context = ir.Context()
    with _context:
        module = ir.Module.parse(text + _LOCATE.format(name=name))
        engine_of = bindings.submodule("execution_engine").ExecutionEngine
        engine = engine_of(module, opt_level=0, enable_object_dump=keeps_object)
        locate = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(engine.raw_lookup("locate"))
    address = ctypes.c_int64()
    argument = ctypes.pointer(address)
    locate(ctypes.byref(ctypes.c_void_p(ctypes.cast(ctypes.byref(argument), ctypes.c_void_p).value)))
    return engine, address.value


@dataclass
class Step:
    """What a kernel body works with: the builder, the block, and rows of the operands."""

    builder: Builder
    record: Value
    block: Value
    operands: tuple[str, ...]

    def _word(self, name: str, index: "Value | int") -> Value:
        base = self.record.at(self.operands.index(name) * WORDS_PER_OPERAND * 8)
        offset = index * 8 if not isinstance(index, Value) else index << 3
        return base.at(offset)

    def row(self, name: str, cycle: "Value | int") -> Value:
        """Pointer to the row of operand `name` in `cycle` (0..3) of the current block."""
        return self.row_of(name, cycle, self.block)

    def row_of(self, name: str, cycle: "Value | int", number: Value) -> Value:
        """The same of another block, or of whatever the stride of the operand counts."""
        stride = self._word(name, CYCLES).load("i64")
        return self._word(name, cycle).load("ptr").at(stride * number)

    def scalar(self, name: str, cycle: "Value | int") -> Value:
        """The integer of a scalar operand in `cycle`."""
        return self._word(name, cycle).load("i64")


@dataclass
class _TwoPlaces:
    """A pointer into the rows of a result that is stored to other rows as well."""

    first: Value
    second: Value

    def at(self, offset: "Value | int") -> "_TwoPlaces":
        return _TwoPlaces(self.first.at(offset), self.second.at(offset))

    def store(self, value: Value) -> None:
        self.first.store(value)
        self.second.store(value)


class _StepInTwoPlaces(Step):
    """A step that stores the rows of "out" to those of "also", too. Nothing else can be done with them."""

    def row(self, name: str, cycle: "Value | int") -> Any:
        row = super().row(name, cycle)
        return _TwoPlaces(row, super().row("also", cycle)) if name == "out" else row


@dataclass(frozen=True, eq=False)
class Kernel:
    """A kernel. See the package docstring for the calling convention."""

    name: str
    operands: tuple[str, ...]
    body: Body
    kind: type[Step] = Step

    @cached_property
    def address(self) -> int:
        """Where it is in memory: it is compiled when this is first asked for."""
        builder = Builder()
        record = Value(builder, "%record", "ptr")
        first, last = Value(builder, "%first", "i64"), Value(builder, "%last", "i64")
        with builder.loop(first, last) as block:
            self.body(self.kind(builder, record, block, self.operands))
        text = builder.function(self.name, "%record: !llvm.ptr, %first: i64, %last: i64")
        return function_address(self.name, text)

    @cached_property
    def function(self) -> Callable[[int, int, int], None]:
        """It as a Python function."""
        return _PROTOTYPE(self.address)

    def record(self, **operands: Operand) -> NDArray[np.int64]:
        """The int64 record of one call; raises TypeError when the operands do not match."""
        if set(operands) != set(self.operands):
            raise TypeError(f"{self.name} takes {self.operands}, not {tuple(operands)}")
        record = np.zeros(len(self.operands) * WORDS_PER_OPERAND, dtype=np.int64)
        for position, name in enumerate(self.operands):
            words = record[position * WORDS_PER_OPERAND :][:WORDS_PER_OPERAND]
            _fill(words, operands[name])
        return record

    def call(self, record: NDArray[np.int64], first_block: int, last_block: int) -> None:
        """Run on blocks first_block <= b < last_block; releases the interpreter lock."""
        self.function(record.ctypes.data, first_block, last_block)

    def __call__(self, **operands: Operand) -> None:
        """Run on arrays of shape [blocks, 4, 64], all blocks."""
        blocks = max(value.shape[0] for value in operands.values() if isinstance(value, np.ndarray))
        self.call(self.record(**operands), 0, blocks)


def _fill(words: NDArray[np.int64], operand: Operand) -> None:
    """Write the five record words of one operand."""
    if isinstance(operand, np.ndarray):
        base = operand.ctypes.data
        block_stride, row_stride = operand.strides[0], operand.strides[1]
        words[:CYCLES] = [base + cycle * row_stride for cycle in range(CYCLES)]
        words[CYCLES] = block_stride
    elif isinstance(operand, tuple) and len(operand) == 2:
        words[:CYCLES] = operand[0]
        words[CYCLES] = operand[1]
    else:
        words[:CYCLES] = operand


_kernels: dict[tuple[str, int], Kernel] = {}
"""By name and the length of rows, which their text depends on."""


def kernel(name: str, operands: Sequence[str], body: Body, kind: type[Step] = Step) -> Kernel:
    """The kernel `name`; `body` prints the work on one block."""
    known = _kernels.get((name, pes()))
    if known is None:
        known = _kernels[name, pes()] = Kernel(name, tuple(operands), body, kind)
    return known


def storing_twice(known: Kernel) -> Kernel:
    """The same kernel with an operand ``also`` behind the others: rows that receive what ``out`` receives. They must
    not be rows of an input."""
    return kernel(f"{known.name}_also", (*known.operands, "also"), known.body, _StepInTwoPlaces)


def chunked(lanes: int, work: "Callable[[Inputs], Outputs]", flag_operand: str = "") -> Body:
    """Body of an element-wise kernel: `work` maps `lanes` longs of each input to those of each output.

    The inputs are every operand `work` asks for by name; it returns the vectors to store. A
    vector returned for `flag_operand` has i8 lanes.
    """

    def body(step: Step) -> None:
        chunks = pes() // lanes
        with step.builder.loop(0, CYCLES * chunks) as index:
            cycle = index >> (chunks.bit_length() - 1)
            position = (index & (chunks - 1)) * lanes
            inputs = Inputs(step, cycle, position << 3, lanes)
            for name, value in work(inputs).items():
                offset = position if name == flag_operand else position << 3
                step.row(name, cycle).at(offset).store(value)

    return body


class Inputs(dict[str, Value]):
    """Loads a row chunk when a kernel body first asks for it."""

    def __init__(self, step: Step, cycle: Value, offset: Value, lanes: int):
        super().__init__()
        self._step, self._cycle, self._offset, self._lanes = step, cycle, offset, lanes

    def __missing__(self, name: str) -> Value:
        value = self._step.row(name, self._cycle).at(self._offset).load("i64", self._lanes)
        self[name] = value
        return value

    def scalar(self, name: str) -> Value:
        """The integer of a scalar operand in this cycle."""
        return self._step.scalar(name, self._cycle)


_table_runner: Callable[[int, int, int, int], None] | None = None


def _compile_table_runner() -> Callable[[int, int, int, int], None]:
    builder = Builder()
    table, size = Value(builder, "%table", "ptr"), Value(builder, "%size", "i64")
    first, last = Value(builder, "%first", "i64"), Value(builder, "%last", "i64")
    with builder.loop(first, last) as block:
        following = block + 1
        with builder.loop(0, size) as index:
            entry = table.at(index << 4)
            function, record = entry.load("ptr"), entry.at(8).load("ptr")
            arguments = f"{record.name}, {block.name}, {following.name}"
            builder.line(f"llvm.call {function.name}({arguments}) : !llvm.ptr, (!llvm.ptr, i64, i64) -> ()")
    text = builder.function("run_table", "%table: !llvm.ptr, %size: i64, %first: i64, %last: i64")
    prototype = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64, ctypes.c_int64)
    return prototype(function_address("run_table", text))


def run_table(table: NDArray[np.int64], first_block: int, last_block: int) -> None:
    """Run a sequence of kernels block-major.

    `table` is a contiguous int64 array [n, 2] of (`Kernel.address`, address of the record); the records and
    their buffers must stay alive during the call, which releases the interpreter lock.
    """
    global _table_runner
    if _table_runner is None:
        _table_runner = _compile_table_runner()
    if table.dtype != np.int64 or table.ndim != 2 or table.shape[1] != 2 or not table.flags.c_contiguous:
        raise TypeError("a table is a contiguous int64 array of shape [n, 2]")
    _table_runner(table.ctypes.data, len(table), first_block, last_block)
