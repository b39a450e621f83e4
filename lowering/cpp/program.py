"""A module on the affine level as the files of a C++ program."""

import re
from dataclasses import dataclass

import numpy as np

from mnc.core.bindings import ir
from mnc.core.diagnostics import CompileError
from mnc.core.run_time_extents import RunTimeExtent
from mnc.core.sequences import HostSequence
from mnc.dialects.graph.attributes import numpy_dtype, to_numpy
from mnc.dialects.graph.run_time_extents import noted_extents
from mnc.dialects.graph.sequences import noted_sequences
from mnc.lowering.cpp.functions import Step, steps_of
from mnc.lowering.cpp.helpers import STRUCTURES, helper_text
from mnc.lowering.cpp.interface import CppParameter, example_text, header_text, signature
from mnc.lowering.cpp.text import Names, comment_text, identifier
from mnc.lowering.cpp.types import c_type, interface_type
from mnc.lowering.cpp.weights import Weight, weights_header, weights_source
from mnc.lowering.tensor_to_memref import RESULT_ATTRIBUTE

_INCLUDES = (
    "algorithm", "cmath", "cstdint", "cstring", "limits", "memory", "stdexcept", "string", "type_traits",
)  # fmt: skip
_PREAMBLE = """
// Results must not depend on the compiler: no fused multiply-add unless the text says so (GCC: -ffp-contract=off,
// which -std=c++17 implies).
#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#endif
"""


@dataclass(frozen=True)
class CppSource:
    """A printed program: what its function takes, and file name -> text. `outputs` hold padding where a run finds
    `extents`, and the counts of what they hold besides are further outputs."""

    namespace: str
    inputs: tuple[CppParameter, ...]
    outputs: tuple[CppParameter, ...]
    files: dict[str, str]
    extents: tuple[RunTimeExtent, ...] = ()
    sequences: tuple[HostSequence, ...] = ()


def print_cpp(module: ir.Module, name: str, entry: str = "main", example: bool = False) -> CppSource:
    """Print the function `entry` as C++17.

    Args:
        module: bufferized, results as arguments marked ``mnc.result``; loops in affine or scf.
        name: what the namespace is called after.
        example: add ``main.cpp``, a program around the function.

    Raises:
        CompileError: there is no such function.
        InternalError: an operation, a type or a layout that the printer does not know.
    """
    with module.context, ir.Location.unknown():
        return _Printer(module, name, entry).run(example)


class _Printer:
    def __init__(self, module: ir.Module, name: str, entry: str) -> None:
        self._operations = [view.operation for view in module.body.operations]
        self._namespace = identifier(name, "model")
        functions = [op for op in self._operations if op.name == "func.func"]
        matching = [op for op in functions if ir.StringAttr(op.attributes["sym_name"]).value == entry]
        if not matching:
            raise CompileError(f"there is no function '{entry}'")
        self._function = matching[0]
        self._extents, self._sequences = noted_extents(module), noted_sequences(module)
        self._names = Names()
        self._pointers: dict[ir.Value, str] = {}

    def run(self, example: bool) -> CppSource:
        inputs, outputs = self._parameters()
        weights = self._weights()
        block = self._function.regions[0].blocks[0]
        steps = steps_of(block, self._pointers, self._names)
        model = self._model_text(inputs, outputs, steps, weights)
        files = {"model.h": header_text(self._namespace, inputs, outputs, self._extents), "model.cpp": model}
        if weights:
            files["weights.h"] = weights_header(self._namespace, weights)
            files["weights.cpp"] = weights_source(self._namespace, weights)
        if example:
            files["main.cpp"] = example_text(self._namespace, inputs, outputs)
        return CppSource(self._namespace, tuple(inputs), tuple(outputs), files, self._extents, self._sequences)

    def _parameters(self) -> tuple[list[CppParameter], list[CppParameter]]:
        inputs: list[CppParameter] = []
        outputs: list[CppParameter] = []
        attributes = list(self._function.attributes["arg_attrs"]) if "arg_attrs" in self._function.attributes else []
        for i, argument in enumerate(self._function.regions[0].blocks[0].arguments):
            entries = {entry.name: entry.attr for entry in attributes[i]} if attributes else {}
            target, prefix = (outputs, "result") if RESULT_ATTRIBUTE in entries else (inputs, "argument")
            type_ = ir.MemRefType(argument.type)
            name = ir.StringAttr(entries["onnx.name"]).value if "onnx.name" in entries else f"{prefix}{len(target)}"
            unsigned, text = "mnc.unsigned" in entries, self._names.take(name, prefix)
            host = interface_type(type_.element_type, unsigned)
            dtype = numpy_dtype(type_.element_type)
            dtype = np.dtype(f"u{dtype.name}") if unsigned else dtype
            target.append(CppParameter(name, text, tuple(type_.shape), dtype, host))
            inner = c_type(type_.element_type)
            const = "" if RESULT_ATTRIBUTE in entries else "const "
            self._pointers[argument] = text if inner == host else f"reinterpret_cast<{const}{inner}*>({text})"
        return inputs, outputs

    def _weights(self) -> list[Weight]:
        """The constants that the function reads; fills in how their pointers are called."""
        globals_ = [op for op in self._operations if op.name == "memref.global"]
        values = {ir.StringAttr(op.attributes["sym_name"]).value: op for op in globals_}
        weights: dict[str, Weight] = {}
        names = Names()
        operations = [view.operation for view in self._function.regions[0].blocks[0].operations]
        # Bufferization lists them from the last to the first use.
        for op in reversed([op for op in operations if op.name == "memref.get_global"]):
            symbol = ir.FlatSymbolRefAttr(op.attributes["name"]).value
            if symbol not in weights:
                weights[symbol] = _weight(values[symbol], names)
            self._pointers[op.results[0]] = f"weights::{weights[symbol].name}()"
        return list(weights.values())

    def _model_text(
        self, inputs: list[CppParameter], outputs: list[CppParameter], steps: list[Step], weights: list[Weight]
    ) -> str:
        functions = [step.function for step in steps if step.function]
        helpers = {name for step in steps for name in step.helpers}
        body = "\n\n".join(functions)
        short = {name for name in STRUCTURES if re.search(rf"\b{name}\b|to_{name.lower()}\b", body)}
        lines = ["// Generated by mnc. One function per node of the model, called in order by run()."]
        lines += ['#include "model.h"', ""]
        lines += [f"#include <{name}>" for name in _INCLUDES]
        lines += ["", '#include "weights.h"'] if weights else []
        lines += [_PREAMBLE, f"namespace {self._namespace} {{"]
        lines += [STRUCTURES[name] for name in sorted(short - {weight.c_type for weight in weights})]
        inner = "\n\n".join(part for part in (helper_text(helpers | short), body) if part)
        lines += ["namespace {", "", inner, "", "}  // namespace"] if inner else []
        calls = [line for step in steps for line in step.calls]
        unused = [p.identifier for p in (*inputs, *outputs) if not re.search(rf"\b{p.identifier}\b", "\n".join(calls))]
        calls = [*(f"  static_cast<void>({name});  // not needed" for name in unused), *calls]
        lines += ["", f"{signature(inputs, outputs)} {{", *calls, "}"]
        return "\n".join([*lines, "", f"}}  // namespace {self._namespace}", ""])


def _weight(op: ir.Operation, names: Names) -> Weight:
    type_ = ir.MemRefType(op.attributes["type"].value)
    try:
        values = to_numpy(op.attributes["initial_value"])
    except ValueError as error:
        raise CompileError(str(error), location=op.location) from None
    location = op.location
    label = location.name_str if isinstance(location, ir.NameLoc) else ""
    comment = f"'{comment_text(label)}' " if label else ""
    return Weight(names.take(label, "constant"), c_type(type_.element_type), values, comment)
