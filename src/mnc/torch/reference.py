"""Torch itself, running what was exported step by step: the judge of an export."""

import contextlib
import copy
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

Arrays = dict[str, np.ndarray]


class SingleSpotter(TorchDispatchMode):
    """Notices float32 results, which a run in double precision has where a module converts by itself."""

    found = False

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        values = [value for value in tree_leaves(result) if isinstance(value, torch.Tensor)]
        self.found |= any(value.dtype == torch.float32 for value in values)
        return result


@contextlib.contextmanager
def default_type(dtype: torch.dtype) -> Iterator[None]:
    """Within the context, torch makes floating-point tensors of this type."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        yield
    finally:
        torch.set_default_dtype(before)


def converted(values: Sequence[torch.Tensor], dtype: torch.dtype) -> tuple[torch.Tensor, ...]:
    """Copies of the tensors, which a module may write; floating-point ones as `dtype`."""
    return tuple(value.to(dtype if value.is_floating_point() else value.dtype, copy=True) for value in values)


@dataclass
class StepReference:
    """A copy of module, loss and optimizer that takes the step in torch."""

    module: torch.nn.Module
    loss: Callable[..., torch.Tensor]
    optimizer: torch.optim.Optimizer
    dtype: torch.dtype = torch.float32
    mixes_precision: bool = False

    def copied(self, dtype: torch.dtype) -> "StepReference":
        """An independent copy in the precision `dtype`."""
        module, loss, optimizer = copy.deepcopy((self.module, self.loss, self.optimizer))
        module.to(dtype)
        if isinstance(loss, torch.nn.Module):
            loss.to(dtype)
        for state in optimizer.state.values():
            for slot, value in state.items():
                if isinstance(value, torch.Tensor) and value.is_floating_point() and slot != "step":
                    state[slot] = value.to(dtype)
        return StepReference(module, loss, optimizer, dtype)

    def disturb(self, generator: torch.Generator) -> None:
        """Add a little noise to what is trained: zeros and ones, as they are initialised, hide mistakes."""
        trained = {value for group in self.optimizer.param_groups for value in group["params"]}
        with torch.no_grad():
            for value in self.module.parameters():
                if value in trained and value.requires_grad and value.numel():
                    size = 0.1 * float(value.square().mean().sqrt()) + 0.01
                    value += (torch.randn(value.shape, generator=generator) * size).to(value.dtype)

    def outputs(self, inputs: Sequence[torch.Tensor]) -> Any:
        """The module's result."""
        with default_type(self.dtype):
            return self.module(*converted(inputs, self.dtype))

    def step(
        self, inputs: Sequence[torch.Tensor], labels: Sequence[torch.Tensor], name: str, found: Arrays | None = None
    ) -> Arrays:
        """The loss as `name` and gradients, as in the exported graph; parameters and state change. Gradients in `found`
        take the place of torch's own in the update."""
        self.optimizer.zero_grad(set_to_none=True)
        with SingleSpotter() as spotter, default_type(self.dtype):
            loss = self.loss(self.module(*converted(inputs, self.dtype)), *converted(labels, self.dtype))
            loss.backward()
        self.mixes_precision |= spotter.found
        gradients = {
            f"{name}.gradient": array_of(value.grad)
            for name, value in self.module.named_parameters()
            if value.grad is not None
        }
        for label, value in self.module.named_parameters():
            if found is not None and f"{label}.gradient" in found:
                value.grad = torch.as_tensor(found[f"{label}.gradient"]).to(value.dtype)
        self.optimizer.step()
        return {name: array_of(loss), **gradients}

    def values(self) -> Arrays:
        """Parameters, buffers and optimizer state by the names of the exported graph's inputs."""
        found = {name: array_of(value) for name, value in self.module.named_parameters()}
        found |= {name: array_of(value) for name, value in self.module.named_buffers()}
        names: dict[Any, str] = {value: name for name, value in self.module.named_parameters()}
        parameter: Any
        for parameter, state in self.optimizer.state.items():
            for slot, value in state.items():
                if isinstance(value, torch.Tensor) and parameter in names:
                    found[f"{names[parameter]}.{slot}"] = array_of(value)
        for index, group in enumerate(self.optimizer.param_groups):
            states: list[Any] = [self.optimizer.state.get(parameter, {}) for parameter in group["params"]]
            steps = [state["step"] for state in states if "step" in state]
            for number, beta in enumerate(group.get("betas", ()) if steps else (), 1):
                name = f"optimizer.group{index}.bias_correction{number}"
                found[name] = np.asarray(1 - float(beta) ** float(steps[0]))
        return found


def array_of(value: torch.Tensor) -> np.ndarray:
    """A copy as numpy."""
    return value.detach().cpu().numpy().copy()
