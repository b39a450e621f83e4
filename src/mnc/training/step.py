"""One optimizer step as one program: forward, loss, backward and update, compiled from a forward model."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mnc.core.bindings import ir
from mnc.core.context import make_context
from mnc.core.diagnostics import CompileError
from mnc.core.modules import module_bytes, module_from_bytes
from mnc.executable import Executable
from mnc.lowering.onnx_to_graph.importer import import_model
from mnc.options import Options
from mnc.passes.autodiff.graph_autodiff import GraphAutodiff
from mnc.passes.autodiff.signature import Signature, find_main
from mnc.training.forward import ForwardModel, LossName, prepare, with_loss


@dataclass(frozen=True)
class TrainingStep:
    """A training step before it is compiled for a backend.

    Attributes:
        forward: the model, its parameters among its inputs.
        labels: name of the input with the labels, int32 [batch] (cross entropy) or floats as the output (mse).
        loss: name of the output with the loss.
        initial: first value of every parameter and of the optimizer state, by input name.
        updates: input name -> output that is its value in the next step.
        settings: what makes two steps the same: optimizer, its numbers, loss, batch.
    """

    forward: ForwardModel
    labels: str
    loss: str
    initial: dict[str, np.ndarray]
    updates: dict[str, str]
    settings: dict[str, Any]
    bytecode: bytes = field(repr=False)

    @property
    def batch(self) -> int:
        """Samples per step."""
        return self.forward.batch

    def module(self) -> Any:
        """A fresh copy of the step in the graph dialect."""
        return module_from_bytes(self.bytecode)

    def compile(self, options: Options | Mapping[str, Any] | None = None) -> Executable:
        """The program for the chip: batch, labels and state in; loss and next state out. Takes options and raises
        CompileError as `mnc.compile` does."""
        from mnc.cached_compilation import compile_module

        return compile_module(self.module(), Options.of(options))


def training_step(
    model: Any,
    *,
    batch: int,
    loss: LossName = "cross-entropy",
    optimizer: str = "sgd",
    learning_rate: float = 0.01,
    file_name: str | None = None,
    **numbers: float,
) -> TrainingStep:
    """Make the training step of a forward model.

    Args:
        model: an ONNX model or its path, with one input and one output; its float initializers are trained, except
            the statistics of batch normalisations, which stay as they are.
        batch: samples per step.
        loss: ``cross-entropy`` of logits [batch, classes] with integer labels, or ``mse``, the mean of the squared
            differences of all elements between an output of any shape and labels of the same shape.
        optimizer: ``sgd``, ``momentum`` or ``adam``.
        file_name: how messages call the model; its path where one is given.
        numbers: momentum, beta1, beta2, epsilon, weight_decay.

    Raises:
        CompileError: the model has no such form, or an operator that cannot be differentiated.
    """
    forward = prepare(model, batch, file_name)
    proto, labels, result = with_loss(forward, loss)
    module = import_model(proto, make_context(), shapes=forward.shapes, file_name=forward.file_name)
    for name, number in {"learning_rate": learning_rate, **numbers}.items():
        if isinstance(number, float) and not math.isfinite(number):
            raise CompileError(f"{name} is {number}", hint="give a finite number")
    settings: dict[str, Any] = {"optimizer": optimizer, "learning_rate": learning_rate, **numbers}
    names = tuple(forward.parameters)
    text = " ".join(f"{key.replace('_', '-')}={value}" for key, value in settings.items())
    # Parsed, so that a wrong option is explained; names may hold characters that the option text cannot.
    parsed = GraphAutodiff.parse(text)
    GraphAutodiff(**{**vars(parsed), "loss": result, "parameters": names}).run(module)
    updates, initial = _state(module, forward.parameters)
    return TrainingStep(
        forward, labels, result, initial, updates, {**settings, "loss": loss, "batch": int(batch)}, module_bytes(module)
    )


def _state(module: Any, parameters: Mapping[str, np.ndarray]) -> tuple[dict[str, str], dict[str, np.ndarray]]:
    """Which output replaces which input, and the first values, as graph-autodiff notes them on the arguments."""
    function = find_main(module)
    block = function.regions[0].blocks[0]
    updates, initial = {}, {}
    for name, argument, entry in zip(
        Signature(function).argument_names(), block.arguments, function.attributes["arg_attrs"], strict=True
    ):
        attributes = {item.name: item.attr for item in ir.DictAttr(entry)}
        if "mnc.updated" not in attributes:
            continue
        updates[name] = ir.StringAttr(attributes["mnc.updated"]).value
        if "mnc.initial" in attributes:
            value = ir.FloatAttr(attributes["mnc.initial"]).value
            initial[name] = np.full(tuple(ir.RankedTensorType(argument.type).shape), value, np.float32)
        else:
            initial[name] = parameters[name]
    return updates, initial


def forward_module(forward: ForwardModel) -> Any:
    """The forward model in the graph dialect, for evaluation with parameters that change."""
    return import_model(forward.proto, make_context(), shapes=forward.shapes, file_name=forward.file_name)


__all__ = ["TrainingStep", "forward_module", "training_step"]
