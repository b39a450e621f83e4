"""A whole training step of a PyTorch module as one ONNX graph: forward, loss, backward and update."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import torch

from mnc.core.diagnostics import CompileError
from mnc.core.files import replace_file
from mnc.core.given_values import check_flag, given_path
from mnc.lowering.onnx_to_graph.updates import declare_updates
from mnc.torch import step_trace
from mnc.torch.arguments import check_name
from mnc.torch.proof import Proof
from mnc.torch.step_proof import prove
from mnc.torch.surroundings import own_surroundings
from mnc.torch.translation import to_onnx


@dataclass(frozen=True)
class TrainStep:
    """An exported step.

    Attributes:
        model: inputs are data, labels, parameters and state; outputs the loss, what replaces the parameters and the
            state in the next step, and the gradients if they were asked for. Its metadata declare the updates.
        data: names of the inputs of the module.
        labels: names of the further inputs of the loss.
        parameters: names of the trained parameters, as the module calls them.
        state: names of the optimizer state and of buffers that a step changes, such as running statistics.
        updates: input -> output that is its value in the next step.
        gradients: parameter -> output with its gradient; empty unless asked for.
        initial: first values of parameters and state.
        proof: the comparisons with torch.
        loss: name of the output with the loss.
    """

    model: onnx.ModelProto
    data: tuple[str, ...]
    labels: tuple[str, ...]
    parameters: tuple[str, ...]
    state: tuple[str, ...]
    updates: dict[str, str]
    gradients: dict[str, str]
    initial: dict[str, np.ndarray] = field(repr=False)
    proof: Proof = field(repr=False)
    loss: str = "loss"

    @property
    def inputs(self) -> tuple[str, ...]:
        """Names of all inputs, in the order of the model."""
        return (*self.data, *self.labels, *self.parameters, *self.state)

    @property
    def outputs(self) -> tuple[str, ...]:
        """Names of all outputs, in the order of the model."""
        return (self.loss, *self.updates.values(), *self.gradients.values())

    def save(self, path: str | Path) -> None:
        """Write the model to a file. Raises CompileError where it cannot be written; what stood there stays then."""
        target = given_path(path, "file")
        try:
            data = self.model.SerializeToString()
        except Exception as error:  # protobuf has a type of its own for more than 2 GB, and several versions of it
            hint = "keep large constants out of the module: make them inputs"
            raise CompileError(f"the model cannot be written: {error}", hint=hint) from None
        replace_file(target, data)


def export_train_step(
    module: torch.nn.Module,
    loss: Callable[..., torch.Tensor],
    optimizer: torch.optim.Optimizer,
    sample: Any,
    *,
    gradients: bool = False,
    name: str = "train_step",
) -> TrainStep:
    """Export one training step, with static shapes, and prove it against torch.

    Args:
        module: in single precision, in the mode (train or eval) that the step is to have. It is not changed.
        loss: ``loss(output, *labels)`` gives a scalar; a function or a module without parameters.
        optimizer: one of those that docs/torch.md lists, over parameters of the module; its state so far is kept.
        sample: ``(data, labels)``; either may be a tuple of tensors. Its shapes are those of the step.
        gradients: also give the gradients as outputs ``<parameter>.gradient``.
        name: of the graph.

    Raises:
        CompileError: what cannot be exported; an unsupported operator names the module it comes from.
        InternalError: the graph disagrees with torch; names the tensor.
    """
    check_name(name)
    check_flag(gradients, "gradients")
    with own_surroundings():
        return _exported(module, loss, optimizer, sample, gradients, name)


def _exported(
    module: torch.nn.Module, loss: Callable[..., torch.Tensor], optimizer: torch.optim.Optimizer, sample: Any,
    gradients: bool, name: str,
) -> TrainStep:  # fmt: skip
    traced = step_trace.trace_step(module, loss, optimizer, sample)
    base = [traced.loss, *traced.updates.values()]
    wanted = [*base, *traced.gradients.values()] if gradients else base
    model = to_onnx(traced.traced, name, wanted)
    declare_updates(model, traced.updates)
    exact = to_onnx(traced.traced, name, [*base, *traced.gradients.values()], double=True)
    return TrainStep(
        model=model,
        data=tuple(traced.data),
        labels=tuple(traced.labels),
        parameters=tuple(traced.parameters),
        state=tuple(traced.state),
        updates=traced.updates,
        gradients=traced.gradients if gradients else {},
        initial=traced.initial,
        proof=prove(traced, model, exact),
        loss=traced.loss,
    )
