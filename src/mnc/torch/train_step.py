"""A whole training step of a PyTorch module as one ONNX graph: forward, loss, backward and update."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import torch

from mnc.torch import proof as proving
from mnc.torch import step_trace
from mnc.torch.reference import Arrays, StepReference, array_of
from mnc.torch.translation import to_onnx

STEPS = 3
_DRAWS = 3


@dataclass(frozen=True)
class TrainStep:
    """An exported step.

    Attributes:
        model: inputs are data, labels, parameters and state; outputs the loss, what replaces the parameters and the
            state in the next step, and the gradients if they were asked for.
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
    proof: proving.Proof = field(repr=False)
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
        """Write the model to a file."""
        onnx.save(self.model, str(path))


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
        optimizer: torch.optim.SGD, Adam or AdamW over parameters of the module; its state so far is kept.
        sample: ``(data, labels)``; either may be a tuple of tensors. Its shapes are those of the step.
        gradients: also give the gradients as outputs ``<parameter>.gradient``.
        name: of the graph.

    Raises:
        CompileError: what cannot be exported; an unsupported operator names the module it comes from.
        InternalError: the graph disagrees with torch; names the tensor.
    """
    traced = step_trace.trace_step(module, loss, optimizer, sample)
    base = [traced.loss, *traced.updates.values()]
    wanted = [*base, *traced.gradients.values()] if gradients else base
    model = to_onnx(traced.traced, name, wanted)
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
        proof=_prove(traced, model, exact),
        loss=traced.loss,
    )


def _prove(traced: "step_trace.StepTrace", model: onnx.ModelProto, exact: onnx.ModelProto) -> proving.Proof:
    """Both forms of the graph against torch; raises InternalError.

    In single precision a ReLU or a maximum whose inputs are nearly equal may decide otherwise than torch, which moves
    single gradients by more than rounding: only what deviates with every draw of data is a mistake.
    """
    double = _Trial(traced, seed=0).double(exact)
    proving.require(double, "double")
    single: list[proving.Deviation] = []
    for seed in range(_DRAWS):
        single = _Trial(traced, seed).single(model)
        if all(deviation.passed for deviation in single):
            break
    proving.require(single, "single")
    return proving.Proof(tuple(double), tuple(single))


class _Trial:
    """A few steps in torch from one draw of data and disturbed parameters."""

    def __init__(self, traced: "step_trace.StepTrace", seed: int) -> None:
        self._traced = traced
        generator = torch.Generator().manual_seed(seed)
        start = traced.reference.copied(torch.float32)
        start.disturb(generator)
        self._start = start
        drawn = [traced.drawn(generator) for _ in range(STEPS - 1)]
        # The sample itself comes first: it is what the user knows to be valid.
        self._batches = [(traced.sample_data, traced.sample_labels), *drawn]

    def _torch(self, reference: StepReference, found: Sequence[Arrays | None] = ()) -> list[dict[str, np.ndarray]]:
        """What the graph should give in every step; with `found`, from its gradients."""
        results = []
        for (data, labels), own in zip_longest(self._batches, found):
            step = reference.step(data, labels, self._traced.loss, own)
            after = reference.values()
            results.append({**step, **{out: after[name] for name, out in self._traced.updates.items()}})
        return results

    def _graph(self, model: onnx.ModelProto) -> list[dict[str, np.ndarray]]:
        """What the graph gives when each step gets the results of the one before."""
        runner = proving.Runner(model)
        first = self._traced.initial  # has the state that torch makes in its first step only
        values = {**first, **{name: value for name, value in self._start.values().items() if name in first}}
        results = []
        for data, labels in self._batches:
            feeds = dict(zip((*self._traced.data, *self._traced.labels), map(array_of, (*data, *labels)), strict=True))
            results.append(runner.run({**values, **feeds}))
            values = {name: results[-1][out] for name, out in self._traced.updates.items()}
        return results

    def double(self, model: onnx.ModelProto) -> list[proving.Deviation]:
        """The graph in double precision. Gradients are compared with torch's, then torch updates with the graph's: what
        is allowed of a gradient is no bound of what becomes of it. Adam divides by ``sqrt(v) + eps``, so an error of d
        in a gradient near 0 moves a parameter by up to ``lr * d / eps``, 10**8 times as much."""
        reference = self._start.copied(torch.float64)
        found = self._graph(model)
        exact = self._torch(reference, found)
        bound = proving.MIXED_BOUND if reference.mixes_precision else proving.DOUBLE_BOUND
        pairs = zip(exact, found, strict=True)
        return [d for i, (e, f) in enumerate(pairs) for d in proving.compare_double(e, f, i, bound)]

    def single(self, model: onnx.ModelProto) -> list[proving.Deviation]:
        """The graph that is returned."""
        exact = self._torch(self._start.copied(torch.float64))
        single = self._torch(self._start.copied(torch.float32))
        triples = zip(exact, single, self._graph(model), strict=True)
        return [d for i, (e, s, f) in enumerate(triples) for d in proving.compare_single(e, s, f, i)]
