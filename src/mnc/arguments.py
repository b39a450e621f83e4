"""What users hand to `mnc.compile`, checked and brought into one form. Imports neither MLIR, onnx nor torch: whoever
has a model of theirs in memory has imported them."""

import os
import sys
from typing import TYPE_CHECKING, Any, Protocol

from mnc.core.diagnostics import CompileError

if TYPE_CHECKING:
    import onnx

    from mnc.core.pipeline import Pipeline


class TorchModule(Protocol):
    """What a ``torch.nn.Module`` is for type checkers, which may not find torch."""

    def eval(self) -> Any:
        """Switch to evaluation mode."""

    def state_dict(self) -> Any:
        """Parameters and buffers by name."""


def read_model(model: Any, sample: Any = None) -> "str | os.PathLike[str] | onnx.ModelProto":
    """A path or an ``onnx.ModelProto`` as it is; a ``torch.nn.Module`` exported for inference with the shapes of
    `sample`. Raises CompileError."""
    if _is_instance(model, "torch", "nn", "Module"):
        if sample is None:
            hint = "add sample=..., a tensor or a tuple of tensors with the shapes that the program shall have"
            raise CompileError("a torch module has no shapes of its own", hint=hint)
        import mnc.torch

        return mnc.torch.export_inference(model, sample)
    if sample is not None:
        raise CompileError("only a torch module takes a sample", hint="leave it out")
    if isinstance(model, str | os.PathLike) or _is_instance(model, "onnx", "ModelProto"):
        return model
    hint = "give the path of an ONNX file, an onnx.ModelProto, or a torch.nn.Module with sample=..."
    raise CompileError(f"the model is a value of type {type(model).__name__}", hint=hint)


def read_pipeline(given: Any) -> "Pipeline | None":
    """A pipeline, from its text if need be; None stays None. Raises CompileError."""
    if given is None:
        return None
    if isinstance(given, str):
        from mnc.stages import Pipeline

        return Pipeline.parse(given)
    from mnc.core.pipeline import Pipeline

    if isinstance(given, Pipeline):
        return given
    hint = "give mnc.default_pipeline() or text such as 'builtin.module(canonicalize)'"
    raise CompileError(f"the pipeline is a value of type {type(given).__name__}", hint=hint)


def _is_instance(value: object, package: str, *names: str) -> bool:
    """Whether `value` is of a class of a package, which is looked at only if somebody has imported it."""
    found: Any = sys.modules.get(package)
    for name in names:
        found = getattr(found, name, None)
    return isinstance(found, type) and isinstance(value, found)
