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
from mnc.executable import Executable
from mnc.lowering.onnx_to_graph.importer import import_model
from mnc.options import Options, Precision
from mnc.passes.graph.nan_inputs import inputs_that_may_hold_nan

PRECISION: Precision = "single"
WORD = np.dtype(np.float32).itemsize


def output_types(model: onnx.ModelProto) -> dict[str, np.dtype]:
    """Element types of the outputs; the machine's words become values of these."""
    types = {}
    for value in model.graph.output:
        if value.type.WhichOneof("value") != "tensor_type":
            raise CompileError(f"output '{value.name}' is not a tensor", hint="pass tensors one by one")
        types[value.name] = np.dtype(onnx.helper.tensor_dtype_to_np_dtype(value.type.tensor_type.elem_type))
    return types


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
        check_values(values, self.executable.may_hold_nan)
        result = self.executable.run_with_statistics({name: widened(value) for name, value in values.items()})
        self.statistics = result.statistics
        return tuple(result.outputs[name].astype(self.types[name]) for name in self.names)


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
        **kwargs: Any,
    ) -> Prepared:
        """Compile. `constants`: values of inputs that decide shapes; they are no inputs any more.

        Raises:
            CompileError: the model is refused.
        """
        output_types(model)
        module = import_model(model, make_context(), file_name="model.onnx", constants=constants)
        harmless = inputs_that_may_hold_nan(module)
        run_stages(module, Options(precision=PRECISION))
        return Prepared(replace(to_executable(module), may_hold_nan=harmless), model)

    @classmethod
    def run_model(
        cls, model: onnx.ModelProto, inputs: Sequence[Any], device: str = "CPU", **kwargs: Any
    ) -> tuple[Any, ...]:
        """Compile and run once."""
        return cls.prepare(model, device, **kwargs).run(inputs)
