"""Modules, losses and optimizers that no export can do justice to, found before anything is traced."""

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch.nn.modules.batchnorm import _BatchNorm

from mnc.core.diagnostics import CompileError

_WRAPPERS = {
    torch.jit.ScriptModule: ("a script of torch.jit", "export the Python module that the script was made from"),
    torch.nn.DataParallel: ("wrapped in DataParallel", "export the module inside: wrapper.module"),
}

_NO_CLIPPING = (
    "remove it; gradients that are clipped need a step of one's own (docs/torch.md shows one that clips by the norm)"
)


def check_name(name: Any) -> None:
    """Raises CompileError for what cannot be the name of a graph."""
    if not isinstance(name, str) or not name:
        raise CompileError(f"the name of the graph is {name!r}", hint="give a text that is not empty")


def check_module(module: torch.nn.Module) -> None:
    """Raises CompileError for what is not a plain module in single precision on the CPU."""
    if not isinstance(module, torch.nn.Module):
        hint = "give a torch.nn.Module; a function can be called in the forward method of one"
        raise CompileError(f"the module is a {type(module).__name__}, not a torch.nn.Module", hint=hint)
    for part in module.modules():
        for kind, (what, hint) in _WRAPPERS.items():
            if isinstance(part, kind):
                raise CompileError(f"the module is {what}", hint=hint)
    for path, part in module.named_modules():
        if hasattr(part, "fake_quant_enabled") and hasattr(part, "observer_enabled"):
            hint = "put in its place a module that calls torch.fake_quantize_per_tensor_affine with its scale"
            message = f"module '{path}' ({type(part).__name__}) looks at values of its buffers, and observes ranges"
            raise CompileError(message, hint=hint)
    for name, value in (*module.named_parameters(), *module.named_buffers()):
        if torch.nn.parameter.is_lazy(value):
            raise CompileError(f"'{name}' has no shape yet", hint="call the module with a sample first")
        if value.is_floating_point() and value.dtype != torch.float32:
            hint = "convert the module with module.float()"
            raise CompileError(f"'{name}' has element type {value.dtype}, not float32", hint=hint)
        if value.is_complex():
            hint = "keep torch.view_as_real of it, and take torch.view_as_complex of that in forward"
            raise CompileError(f"'{name}' is complex, which no parameter or buffer can be", hint=hint)
        if value.device.type != "cpu":
            raise CompileError(f"'{name}' is on device {value.device}", hint="move the module with module.cpu()")


def check_training(
    module: torch.nn.Module, loss: Callable[..., torch.Tensor], optimizer: torch.optim.Optimizer
) -> None:
    """Raises CompileError for what changes gradients or parameters where a trace does not see it."""
    check_module(module)
    if not callable(loss):
        hint = "give a function of the module's output and the labels, such as torch.nn.CrossEntropyLoss()"
        raise CompileError(f"the loss is a {type(loss).__name__}, not a function or module", hint=hint)
    if not isinstance(optimizer, torch.optim.Optimizer):
        hint = "give one such as torch.optim.SGD(module.parameters()); where several take turns, export a step of each"
        raise CompileError(f"the optimizer is a {type(optimizer).__name__}, not a torch.optim.Optimizer", hint=hint)
    if any(group.get("capturable") for group in optimizer.param_groups):
        hint = "leave capturable=True out"
        raise CompileError("the optimizer is capturable, which torch runs on other devices only", hint=hint)
    for path, part in module.named_modules():
        if isinstance(part, _BatchNorm) and part.training and part.track_running_stats and part.momentum is None:
            message = f"module '{path}' ({type(part).__name__}) averages all batches, which depends on their number"
            raise CompileError(message, hint="give it a momentum, such as 0.1")
    for what, hint in _unseen(module, optimizer):
        raise CompileError(f"{what}, which is no part of the exported step", hint=hint)
    _warn_of_schedulers(optimizer)
    trained = {value for group in optimizer.param_groups for value in group["params"]}
    if isinstance(loss, torch.nn.Module):
        for name, value in loss.named_parameters():
            if value in trained:
                hint = "make the parameter part of the module, and let its forward return it"
                raise CompileError(f"the optimizer trains the parameter '{name}' of the loss", hint=hint)


def _warn_of_schedulers(optimizer: torch.optim.Optimizer) -> None:
    """The rate is a constant of the graph, which no scheduler of torch changes."""
    if hasattr(optimizer.step, "_wrapped_by_lr_sched"):
        rates = ", ".join(f"{float(group['lr']):g}" for group in optimizer.param_groups)
        message = (
            f"a scheduler of learning rates is attached to the optimizer, but the exported step keeps the rate of now, "
            f"{rates}: export again where the rate changes, or make it an input, by a step of one's own (docs/torch.md)"
        )
        warnings.warn(message, stacklevel=6)


def _unseen(module: torch.nn.Module, optimizer: Any) -> Iterator[tuple[str, str]]:
    """Hooks that act on gradients after, or on parameters beside, what is traced."""
    remedy = "remove it, and write what it does into forward or the loss"
    for name, value in module.named_parameters():
        if getattr(value, "_backward_hooks", None) or getattr(value, "_post_accumulate_grad_hooks", None):
            yield f"the gradient of '{name}' goes through a hook", remedy
    for path, part in module.named_modules():
        if getattr(part, "_backward_hooks", None) or getattr(part, "_backward_pre_hooks", None):
            yield f"module '{path}' ({type(part).__name__}) has a backward hook", remedy
    if optimizer._optimizer_step_pre_hooks or optimizer._optimizer_step_post_hooks:
        yield "the optimizer has a hook on its step", _NO_CLIPPING
    if any(group.get("differentiable") for group in optimizer.param_groups):
        yield "the optimizer is differentiable", "leave differentiable=True out"
