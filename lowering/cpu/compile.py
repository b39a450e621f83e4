"""Compile a module on the linalg, memref or affine level for this computer and call it with numpy arrays."""

import ctypes
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from mnc.core.bindings import ir, passmanager, submodule
from mnc.core.diagnostics import CompileError
from mnc.core.memory_spaces import map_memory_spaces
from mnc.lowering.cpu.loop_order import vectorizable_order
from mnc.lowering.cpu.weights import dtype_of, hoist_constants
from mnc.lowering.tensor_to_memref import RESULT_ATTRIBUTE, TensorToMemref

_LARGE_CONSTANT = 1024  # elements; larger ones are passed as arguments

_TO_LLVM = (
    "scf-forall-to-for,fold-memref-alias-ops,"
    "func.func(affine-scalrep),canonicalize,cse,lower-affine,convert-scf-to-cf,convert-vector-to-llvm,"
    "expand-strided-metadata,lower-affine,convert-math-to-funcs,"
    "func.func(math-extend-to-supported-types{target-type=f32},"
    "arith-emulate-unsupported-floats{source-types=bf16,f16 target-type=f32}),"
    "arith-expand{include-bf16=true},finalize-memref-to-llvm,"
    "convert-math-to-llvm,convert-math-to-libm,convert-arith-to-llvm,convert-index-to-llvm,"
    "convert-ub-to-llvm,convert-func-to-llvm,convert-cf-to-llvm,reconcile-unrealized-casts"
)


@dataclass(frozen=True)
class Parameter:
    """A function argument: its name for the caller, shape and dtype."""

    name: str
    shape: tuple[int, ...]
    dtype: np.dtype


@dataclass(frozen=True)
class CpuFunction:
    """A compiled function; call it with a dictionary of arrays to get a dictionary of arrays.

    Names are those of ``onnx.name`` where present, else ``arg0``, ``arg1`` ... and ``result0`` ...
    """

    entry: str
    inputs: tuple[Parameter, ...]
    outputs: tuple[Parameter, ...]
    weights: tuple[np.ndarray, ...]
    engine: Any

    def __call__(self, arrays: Mapping[str, Any]) -> dict[str, np.ndarray]:
        """Run once.

        Raises:
            CompileError: an input is missing, unknown, or of another shape or type.
        """
        unknown = sorted(set(arrays) - {parameter.name for parameter in self.inputs})
        if unknown:
            names = ", ".join(parameter.name for parameter in self.inputs)
            raise CompileError(f"there is no input '{unknown[0]}'", hint=f"the inputs are: {names}")
        given = [_checked(parameter, arrays) for parameter in self.inputs]
        results = [np.empty(parameter.shape, parameter.dtype) for parameter in self.outputs]
        # The out parameters follow the weights, because bufferization appends them.
        self._invoke([*given, *self.weights, *results])
        return {parameter.name: result for parameter, result in zip(self.outputs, results, strict=True)}

    def _invoke(self, arrays: Sequence[np.ndarray]) -> None:
        runtime = submodule("runtime")
        # The descriptor helper knows neither bool nor bf16: same bytes under another name.
        plain = [a.view(_PLAIN[a.dtype.name]) if a.dtype.name in _PLAIN else a for a in arrays]
        references = [ctypes.pointer(ctypes.pointer(runtime.get_ranked_memref_descriptor(a))) for a in plain]
        self.engine.invoke(self.entry, *references)


_PLAIN = {"bool": np.uint8, "bfloat16": np.uint16}


def _checked(parameter: Parameter, arrays: Mapping[str, Any]) -> np.ndarray:
    if parameter.name not in arrays:
        raise CompileError(f"input '{parameter.name}' is missing")
    array = np.ascontiguousarray(arrays[parameter.name]).reshape(np.shape(arrays[parameter.name]))
    if array.shape != parameter.shape:
        raise CompileError(f"input '{parameter.name}' has shape {array.shape}, expected {parameter.shape}")
    if not _same_bits(array.dtype, parameter.dtype):
        raise CompileError(f"input '{parameter.name}' has type {array.dtype}, expected {parameter.dtype}")
    return array


def _same_bits(given: np.dtype, wanted: np.dtype) -> bool:
    """Equal, or integers of one width: the level below the graph has lost their sign."""
    return given == wanted or (given.kind in "iu" and wanted.kind in "iu" and given.itemsize == wanted.itemsize)


def compile_for_cpu(module: ir.Module, entry: str = "main") -> CpuFunction:
    """Compile the function `entry` of `module`, which stays as it is.

    The function works on tensors, or on buffers with its results among the arguments (marked by
    `tensor-to-memref`). Memory spaces are ignored. Compiled code is kept for equal modules.

    Raises:
        CompileError: there is no such function.
    """
    with module.context, ir.Location.unknown():
        copy = ir.Module.parse(_bytecode(module))
        function = _find(copy, entry)
        weights: list[np.ndarray] = []
        if _works_on_tensors(function):
            weights = hoist_constants(function, _LARGE_CONSTANT)
            TensorToMemref(deallocate=True).run(copy)
            function = _find(copy, entry)
        map_memory_spaces(copy, lambda space: None)
        parameters, outputs = _parameters(function)
        inputs = parameters[: len(parameters) - len(weights)]
        function.attributes["llvm.emit_c_interface"] = ir.UnitAttr.get()
        engine = _engine(_bytecode(copy))
    return CpuFunction(entry, tuple(inputs), tuple(outputs), tuple(weights), engine)


def _bytecode(module: ir.Module) -> bytes:
    import io

    buffer = io.BytesIO()
    module.operation.write_bytecode(buffer)
    return buffer.getvalue()


@lru_cache(maxsize=64)
def _engine(bytecode: bytes) -> Any:
    """Engine for a module on the memref level; keyed by its contents."""
    with ir.Context() as context, ir.Location.unknown():
        context.enable_multithreading(False)
        module = ir.Module.parse(bytecode)
        _order_loops(module)
        # Extents that a loop computes cannot be bounds of affine loops.
        to_loops = "convert-linalg-to-loops" if _has_dynamic_extents(module) else "convert-linalg-to-affine-loops"
        passmanager.PassManager.parse(f"builtin.module({to_loops},{_TO_LLVM})").run(module.operation)
        return submodule("execution_engine").ExecutionEngine(module, opt_level=3)


def _has_dynamic_extents(module: ir.Module) -> bool:
    found: list[ir.Operation] = []

    def visit(op: ir.Operation) -> ir.WalkResult:
        types = [operand.type for operand in op.operands] if op.name.startswith("linalg.") else []
        if any(isinstance(type_, ir.MemRefType) and not type_.has_static_shape for type_ in types):
            found.append(op)
            return ir.WalkResult.INTERRUPT
        return ir.WalkResult.ADVANCE

    module.operation.walk(visit)
    return bool(found)


def _order_loops(module: ir.Module) -> None:
    def visit(op: ir.Operation) -> ir.WalkResult:
        if op.name == "linalg.generic":
            vectorizable_order(op)
        return ir.WalkResult.ADVANCE

    passmanager.PassManager.parse("builtin.module(linalg-generalize-named-ops)").run(module.operation)
    module.operation.walk(visit)


def _find(module: ir.Module, entry: str) -> ir.Operation:
    names = []
    for view in module.body.operations:
        op = view.operation
        if op.name == "func.func":
            names.append(ir.StringAttr(op.attributes["sym_name"]).value)
            if names[-1] == entry:
                return op
    raise CompileError(f"there is no function '{entry}'", hint=f"the module has: {', '.join(names) or 'none'}")


def _works_on_tensors(function: ir.Operation) -> bool:
    type_ = ir.FunctionType(ir.TypeAttr(function.attributes["function_type"]).value)
    return any(isinstance(t, ir.RankedTensorType) for t in (*type_.inputs, *type_.results))


def _parameters(function: ir.Operation) -> tuple[list[Parameter], list[Parameter]]:
    """Arguments that are read, and those that hold results."""
    inputs: list[Parameter] = []
    outputs: list[Parameter] = []
    attributes = list(function.attributes["arg_attrs"]) if "arg_attrs" in function.attributes else []
    for i, argument in enumerate(function.regions[0].blocks[0].arguments):
        entries = {entry.name: entry.attr for entry in attributes[i]} if attributes else {}
        target, prefix = (outputs, "result") if RESULT_ATTRIBUTE in entries else (inputs, "arg")
        type_ = ir.MemRefType(argument.type)
        name = ir.StringAttr(entries["onnx.name"]).value if "onnx.name" in entries else f"{prefix}{len(target)}"
        dtype = dtype_of(type_.element_type)
        if "mnc.unsigned" in entries:
            dtype = np.dtype(f"u{dtype.name}")
        target.append(Parameter(name, tuple(type_.shape), dtype))
    return inputs, outputs
