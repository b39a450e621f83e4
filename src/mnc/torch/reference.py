"""Torch itself, running what was exported step by step: the judge of an export."""

import contextlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch.func import functional_call
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves, tree_map_only

from mnc.core.diagnostics import CompileError
from mnc.torch.copies import copied
from mnc.torch.optimizers import shared_state
from mnc.torch.optimizers.adafactor import SMALLEST
from mnc.torch.preconditions import Preconditions

Arrays = dict[str, np.ndarray]

_NEARBY = "the proof disturbs parameters and takes three steps: clamp what must stay in a range"


class SingleSpotter(TorchDispatchMode):
    """Notices float32 results, which a run in double precision has where a module converts by itself."""

    found = False

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        values = [value for value in tree_leaves(result) if isinstance(value, torch.Tensor)]
        self.found |= any(value.dtype == torch.float32 for value in values)
        return result


_SINGLE_SCALES = torch.ops.aten.fake_quantize_per_channel_affine_cachemask.default
"""Takes scales in single precision, whatever the precision of the elements is."""


class _Widening(TorchDispatchMode):
    """Takes float32 operands of an operation in double precision as double: those are tensors that are no parameters,
    or that a module converted by itself, and products and convolutions refuse a mixture."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if func is _SINGLE_SCALES:
            return func(args[0], *map(_narrowed, args[1:3]), *args[3:], **kwargs)
        found = {value.dtype for value in tree_leaves((args, kwargs)) if isinstance(value, torch.Tensor)}
        if func._schema.is_mutable or not {torch.float32, torch.float64} <= found:
            return func(*args, **kwargs)
        args, kwargs = tree_map_only(torch.Tensor, _widened, (args, kwargs))
        return func(*args, **kwargs)


def _narrowed(value: torch.Tensor) -> torch.Tensor:
    return value.float() if value.dtype == torch.float64 else value


def _widened(value: torch.Tensor) -> torch.Tensor:
    return value.double() if value.dtype == torch.float32 else value


class _SingleEpsilon(TorchFunctionMode):
    """An RMSNorm without an epsilon adds that of the precision it runs in; the graph has the one of float32."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if func not in (torch.rms_norm, torch.nn.functional.rms_norm):
            return func(*args, **kwargs)
        given = dict(zip(("input", "normalized_shape", "weight", "eps"), args, strict=False)) | kwargs
        return func(**given | {"eps": torch.finfo(torch.float32).eps if given.get("eps") is None else given["eps"]})


@contextlib.contextmanager
def default_type(dtype: torch.dtype) -> Iterator[None]:
    """Within the context, torch makes floating-point tensors of this type, and takes the constants of float32."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        with _SingleEpsilon(), _Widening():
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
        made = StepReference(*copied((self.module, self.loss, self.optimizer), self.module, self.loss))
        made.convert(dtype)
        return made

    def convert(self, dtype: torch.dtype) -> None:
        """Go on in the precision `dtype`."""
        self.dtype = dtype
        self.module.to(dtype)
        if isinstance(self.optimizer, torch.optim.Adafactor):
            for group in self.optimizer.param_groups:  # where it depends on the precision, that of the graph
                group["eps"] = (SMALLEST if group["eps"][0] is None else group["eps"][0], group["eps"][1])
        if isinstance(self.loss, torch.nn.Module):
            self.loss.to(dtype)
        state: Any
        for state in self.optimizer.state.values():
            for slot, value in state.items():
                if isinstance(value, torch.Tensor) and value.is_floating_point() and slot != "step":
                    state[slot] = value.to(dtype)

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

    def gives_a_number(self, inputs: Sequence[torch.Tensor], labels: Sequence[torch.Tensor]) -> bool:
        """Whether the loss is one. Buffers stay as they are."""
        buffers = {name: value.clone() for name, value in self.module.named_buffers()}
        try:
            with default_type(self.dtype), Preconditions():
                output = functional_call(self.module, buffers, converted(inputs, self.dtype))
                loss = self.loss(output, *converted(labels, self.dtype))
        except Exception:  # whatever torch and the user's code raise
            return False
        return bool(torch.isfinite(loss))

    def differentiate(self, inputs: Sequence[torch.Tensor], labels: Sequence[torch.Tensor], name: str) -> Arrays:
        """The loss as `name` and gradients, as in the exported graph, until the update; buffers change."""
        self.forget()
        try:
            with SingleSpotter() as spotter, default_type(self.dtype):
                loss = self.loss(self.module(*converted(inputs, self.dtype)), *converted(labels, self.dtype))
                loss.backward()
        except Exception as error:  # whatever torch and the user's code raise
            message = f"module or loss fails when parameters differ a little: {type(error).__name__}: {error}"
            raise CompileError(message, hint=_NEARBY) from error
        self.mixes_precision |= spotter.found
        gradients = {f"{label}.gradient": _view(value.grad) for label, value in self._differentiated()}
        return {name: _view(loss), **gradients}

    def update(self, found: Arrays | None = None) -> None:
        """Let the optimizer change parameters and state. Gradients in `found` take the place of torch's own."""
        for label, value in self._differentiated() if found else ():
            if f"{label}.gradient" in found:
                value.grad.copy_(torch.as_tensor(found[f"{label}.gradient"]))
        self.optimizer.step()

    def forget(self) -> None:
        """Free the gradients."""
        self.module.zero_grad(set_to_none=True)

    def _differentiated(self) -> list[tuple[str, Any]]:
        return [(name, value) for name, value in self.module.named_parameters() if value.grad is not None]

    def values(self) -> Arrays:
        """Parameters, buffers and optimizer state by the names of the exported graph's inputs, until they change."""
        found = {name: _view(value) for name, value in self.module.named_parameters()}
        found |= {name: _view(value) for name, value in self.module.named_buffers()}
        names: dict[Any, str] = {value: name for name, value in self.module.named_parameters()}
        parameter: Any
        for parameter, state in self.optimizer.state.items():
            for slot, value in state.items():
                if isinstance(value, torch.Tensor) and parameter in names:
                    found[f"{names[parameter]}.{slot}"] = _view(value)
        trained = {name: value for value, name in names.items() if value in self.optimizer.state}
        found |= {name: np.asarray(value) for name, value in shared_state(self.optimizer, trained).items()}
        return found


def _view(value: torch.Tensor) -> np.ndarray:
    """The tensor's own memory as numpy."""
    return value.detach().cpu().numpy()


def array_of(value: torch.Tensor) -> np.ndarray:
    """A copy as numpy. Zeros, as state begins, take no memory until they are written."""
    found = _view(value)
    return found.copy() if found.any() else np.zeros(found.shape, found.dtype)
