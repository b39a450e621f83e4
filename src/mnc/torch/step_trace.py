"""Tracing a training step, and which of its tensors are inputs, constants and results."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import fx
from torch.func import functional_call, grad_and_value

from mnc.core.diagnostics import CompileError
from mnc.torch import sample as samples
from mnc.torch.arguments import check_training
from mnc.torch.capture import capture
from mnc.torch.copies import sharing_copy
from mnc.torch.module_paths import inside
from mnc.torch.optimizers import Plan, plan
from mnc.torch.preconditions import Preconditions
from mnc.torch.reference import StepReference, array_of
from mnc.torch.surroundings import uncompiled
from mnc.torch.translation import Traced

_aten = torch.ops.aten
_COPIES = (_aten.clone.default, _aten.alias.default, _aten.detach.default)


@dataclass(frozen=True)
class StepTrace:
    """A traced step: the names of its tensors, as in `TrainStep`, and torch's own version of it."""

    traced: Traced
    reference: StepReference
    loss: str
    data: list[str]
    labels: list[str]
    parameters: list[str]
    state: list[str]
    updates: dict[str, str]
    gradients: dict[str, str]
    initial: dict[str, np.ndarray]
    sample_data: tuple[torch.Tensor, ...]
    sample_labels: tuple[torch.Tensor, ...]
    scores: list[int] | None

    def drawn(self, generator: torch.Generator) -> tuple[list[torch.Tensor], list[torch.Tensor]]:
        """Random data and labels like the sample's, whose loss is a number."""
        count = len(self.sample_data)

        def in_range() -> list[torch.Tensor]:
            data = [samples.drawn_like(value, generator) for value in self.sample_data]
            return data + [samples.drawn_like(value, generator, self.scores) for value in self.sample_labels]

        def is_defined(values: Sequence[torch.Tensor]) -> bool:
            return self.reference.gives_a_number(values[:count], values[count:])

        found = samples.drawn((*self.sample_data, *self.sample_labels), generator, is_defined, in_range)
        return found[:count], found[count:]


def trace_step(
    module: torch.nn.Module, loss: Callable[..., torch.Tensor], optimizer: torch.optim.Optimizer, sample: Any
) -> StepTrace:
    """Trace a step; arguments and errors as in `export_train_step`."""
    check_training(module, loss, optimizer)
    module = uncompiled(module)
    if not isinstance(sample, tuple | list) or len(sample) != 2:
        hint = "several tensors go into a tuple of their own"
        raise CompileError("the sample must be a pair (data, labels)", hint=hint)
    data, labels = samples.tensors_of(sample[0], "data"), samples.tensors_of(sample[1], "labels")
    reference = StepReference(module, loss, optimizer).copied(torch.float32)
    with_gradient, scores = _try(reference.copied(torch.float32), data, labels)
    trained = {name: p for name, p in reference.module.named_parameters() if name in with_gradient}
    planned = plan(reference.optimizer, trained)
    return _Tracing(reference, data, labels, planned, scores).run()


def _try(
    reference: StepReference, data: Sequence[torch.Tensor], labels: Sequence[torch.Tensor]
) -> tuple[set[str], list[int] | None]:
    """One step in torch on the sample: names of parameters with gradients, shape of the output if it is a tensor."""
    try:
        with Preconditions():
            output = reference.outputs(data)
            result = reference.loss(output, *labels)
    except Exception as error:  # whatever the user's code raises
        raise CompileError(f"module or loss fails on the sample: {type(error).__name__}: {error}") from error
    if not isinstance(result, torch.Tensor) or result.dim() != 0:
        what = f"a tensor of shape {list(result.shape)}" if isinstance(result, torch.Tensor) else type(result).__name__
        raise CompileError(f"the loss must be a scalar, but is {what}", hint="reduce it with mean() or sum()")
    if not bool(torch.isfinite(result)):
        raise CompileError(f"the loss of the sample is {float(result.detach())}")
    if not result.requires_grad:
        raise CompileError("the loss does not depend on a parameter that requires a gradient")
    try:
        result.backward()
    except RuntimeError as error:
        raise CompileError(f"torch cannot compute the gradients of the sample: {error}") from error
    found = {name for name, value in reference.module.named_parameters() if value.grad is not None}
    return found, list(output.shape) if isinstance(output, torch.Tensor) else None


class _Tracing:
    """State of one tracing."""

    def __init__(
        self, reference: StepReference, data: Sequence[torch.Tensor], labels: Sequence[torch.Tensor], planned: Plan,
        scores: list[int] | None,
    ) -> None:  # fmt: skip
        module = reference.module
        self.reference, self.plan, self.scores = reference, planned, scores
        self.sample_data, self.sample_labels = tuple(data), tuple(labels)
        self.module = sharing_copy(module)  # what the module keeps of a call must not be what a trace has
        parameters = {name: value.detach() for name, value in module.named_parameters()}
        self.trained = {name: parameters[name] for name in planned.trained}
        self.frozen = {name: value for name, value in parameters.items() if name not in self.trained}
        self.buffers = dict(module.named_buffers())
        taken = {*parameters, *self.buffers, *planned.state}
        (self.loss,) = samples.free_names(["loss"], taken)
        self.data = samples.free_names(samples.input_names(module.forward, len(data)), taken)
        names = ["labels"] if len(labels) == 1 else [f"labels{i}" for i in range(len(labels))]
        self.labels = samples.free_names(names, taken)

    def run(self) -> StepTrace:
        """Trace and sort."""
        groups = (
            dict(zip(self.data, self.sample_data, strict=True)),
            dict(zip(self.labels, self.sample_labels, strict=True)),
            self.trained, self.frozen, self.buffers, self.plan.state,
        )  # fmt: skip
        names = [name for group in groups for name in group]
        values = [value for group in groups for value in group.values()]
        sizes = [len(group) for group in groups]
        graph = capture(lambda *flat: self._step(_parts(flat, sizes)), values, self.module, training=True)
        changing = [*self.trained, *self.buffers, *self.plan.state]
        outputs = [self.loss, *(f"{n}.gradient" for n in self.trained), *(f"{n}.updated" for n in changing)]
        kept = set(changing) - _unchanged_or_counting(graph.graph, names, outputs)
        constants = {n: v.detach().clone() for g in (self.frozen, self.buffers) for n, v in g.items() if n not in kept}
        firsts = {**self.trained, **self.buffers, **self.plan.state}
        return StepTrace(
            traced=Traced(graph, names, outputs, constants),
            reference=self.reference, loss=self.loss, data=self.data, labels=self.labels, parameters=list(self.trained),
            state=[name for name in changing if name in kept and name not in self.trained],
            updates={name: f"{name}.updated" for name in changing if name in kept},
            gradients={name: f"{name}.gradient" for name in self.trained},
            initial={name: array_of(value) for name, value in firsts.items() if name in kept},
            sample_data=self.sample_data, sample_labels=self.sample_labels, scores=self.scores,
        )  # fmt: skip

    def _step(self, parts: list[tuple[torch.Tensor, ...]]) -> list[torch.Tensor]:
        """The step as a function without side effects, over and to flat tensors."""
        trained = dict(zip(self.trained, parts[2], strict=True))
        frozen = dict(zip(self.frozen, parts[3], strict=True))
        state = dict(zip(self.plan.state, parts[5], strict=True))

        def objective(
            parameters: dict[str, torch.Tensor], data: tuple[torch.Tensor, ...], labels: tuple[torch.Tensor, ...]
        ) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
            # Data are arguments, so that a module can take gradients by them.
            # Copies, so that a module may write its buffers and its input under differentiation.
            buffers = {name: value.clone() for name, value in zip(self.buffers, parts[4], strict=True)}
            values = {**parameters, **frozen, **buffers}
            output = functional_call(self.module, values, tuple(value.clone() for value in data))
            buffers = {name: values[name] for name in buffers}  # the module may have put others in their places
            with inside("loss", getattr(self.reference.loss, "__name__", type(self.reference.loss).__name__)):
                return self.reference.loss(output, *labels), buffers

        gradients, (loss, buffers) = grad_and_value(objective, has_aux=True)(trained, *parts[:2])
        updated, new_state = self.plan.apply(trained, gradients, state)
        new_state = [new_state[name] for name in self.plan.state]
        return [loss, *(gradients[n] for n in self.trained), *(updated[n] for n in self.trained),
                *(buffers[n] for n in self.buffers), *new_state]  # fmt: skip


def _parts(flat: Sequence[torch.Tensor], sizes: Sequence[int]) -> list[tuple[torch.Tensor, ...]]:
    rest = iter(flat)
    return [tuple(next(rest) for _ in range(size)) for size in sizes]


def _unchanged_or_counting(graph: fx.Graph, names: Sequence[str], outputs: Sequence[str]) -> set[str]:
    """Tensors that a step leaves alone, and integers that only count steps and that nothing else reads."""
    places = dict(zip((node for node in graph.nodes if node.op == "placeholder"), names, strict=True))
    (output,) = [node for node in graph.nodes if node.op == "output"]
    results = dict(zip(outputs, output.args[0], strict=True))
    result: set[str] = set()
    for place, name in places.items():
        updated = results.get(f"{name}.updated")
        if updated is None:
            continue
        others = [value for label, value in results.items() if label != f"{name}.updated"]
        is_counter = not place.meta["val"].is_floating_point() and place not in _reached(others)
        if _source(updated) is place or is_counter:
            result.add(name)
    return result


def _source(node: fx.Node) -> fx.Node:
    while node.op == "call_function" and node.target in _COPIES:
        node = node.args[0]  # pyright: ignore[reportAssignmentType]
    return node


def _reached(nodes: Sequence[fx.Node]) -> set[fx.Node]:
    """All that `nodes` are computed from, themselves included."""
    found, stack = set(), list(nodes)
    while stack:
        node = stack.pop()
        if node not in found:
            found.add(node)
            stack.extend(node.all_input_nodes)
    return found
