"""The compiler and the emulator as an ONNX backend (``onnx.backend.base``)."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import onnx
from onnx.backend.base import Backend, BackendRep

from mnc.compiler import run_stages, to_executable
from mnc.core.context import make_context
from mnc.core.diagnostics import CompileError
from mnc.core.float_types import is_floating
from mnc.core.sequences import Shapes, tensors_of
from mnc.executable import Executable
from mnc.lowering.onnx_to_graph.importer import import_model
from mnc.lowering.onnx_to_graph.sequence_inputs import list_type
from mnc.options import Options, Precision
from mnc.passes.autodiff.signature import Signature, find_main
from mnc.passes.graph.nan_inputs import inputs_that_may_hold_nan

PRECISION: Precision = "single"
WORD = np.dtype(np.float32).itemsize


def output_types(model: onnx.ModelProto) -> dict[str, np.dtype]:
    """Element types of outputs, of sequences those of their elements; the machine's words become values of these."""
    types = {}
    for value in model.graph.output:
        kind = list_type(value.type)
        tensor = (value.type if kind is None else kind.tensor).tensor_type
        types[value.name] = np.dtype(onnx.helper.tensor_dtype_to_np_dtype(tensor.elem_type))
    return types


def in_types(value: Any, type_: np.dtype) -> Any:
    """A result, or those in a list, as values of a type; None stays."""
    if isinstance(value, list):
        return [own.astype(type_) for own in value]
    return None if value is None else value.astype(type_)


def check_values(values: Mapping[str, Any], may_hold_nan: Collection[str] = ()) -> None:
    """Refuse run-time values that the machine cannot hold; raises CompileError."""
    for name, value in values.items():
        array = np.asarray(value)
        if array.dtype == np.float64 and (np.isfinite(array) & (np.abs(array) > np.finfo(np.float32).max)).any():
            raise CompileError(f"input '{name}' holds values beyond the range of single, in which float64 is computed")
        if name not in may_hold_nan and is_floating(array.dtype) and np.isnan(array.astype(np.float64)).any():
            raise CompileError(f"input '{name}' holds NaN, which the machine does not have")


def widened(value: Any) -> np.ndarray:
    """Floats of fewer bits as the singles that the machine computes with, which hold them exactly."""
    array = np.asarray(value)
    return array.astype(np.float32) if is_floating(array.dtype) and array.dtype.itemsize < WORD else array


class Prepared(BackendRep):
    """A compiled model."""

    def __init__(self, executable: Executable, model: onnx.ModelProto) -> None:
        self.executable = executable
        self.names = [value.name for value in model.graph.output]
        self.types = output_types(model)
        self.statistics: Any = None

    def run(self, inputs: Any, **kwargs: Any) -> tuple[Any, ...]:
        """Run on the strict emulator; `inputs` in the order of the executable, or by name."""
        order = [tensor.name for tensor in self.executable.inputs]
        values = dict(inputs) if isinstance(inputs, Mapping) else dict(zip(order, inputs, strict=True))
        check_values(tensors_of(values), self.executable.may_hold_nan)
        given = {
            name: [widened(own) for own in value] if isinstance(value, list) else widened(value)
            for name, value in values.items()
            if value is not None
        }
        result = self.executable.run_with_statistics(given)
        self.statistics = result.statistics
        return tuple(in_types(result.outputs[name], self.types[name]) for name in self.names)


class MncBackend(Backend):
    """Compiles for the machine and runs on the emulator in strict mode."""

    @classmethod
    def supports_device(cls, device: str) -> bool:
        """Only the emulated machine, which ONNX calls CPU."""
        return device == "CPU"

    @classmethod
    def prepare(
        cls,
        model: onnx.ModelProto,
        device: str = "CPU",
        constants: Mapping[str, np.ndarray] | None = None,
        shapes: Shapes | None = None,
        **kwargs: Any,
    ) -> Prepared:
        """Compile. `constants`: values of inputs that decide shapes; they are no inputs any more. `shapes`: those of
        inputs that the model leaves open.

        Raises:
            CompileError: the model is refused.
        """
        output_types(model)
        module = import_model(model, make_context(), shapes, "model.onnx", constants)
        harmless, names = inputs_that_may_hold_nan(module), Signature(find_main(module)).argument_names()
        run_stages(module, Options(precision=PRECISION))
        executable = to_executable(module)
        unread = tuple(set(names) - {tensor.name for tensor in executable.inputs})
        return Prepared(replace(executable, unread=unread, may_hold_nan=harmless), model)

    @classmethod
    def run_model(
        cls, model: onnx.ModelProto, inputs: Sequence[Any], device: str = "CPU", **kwargs: Any
    ) -> tuple[Any, ...]:
        """Compile and run once."""
        return cls.prepare(model, device, **kwargs).run(inputs)
