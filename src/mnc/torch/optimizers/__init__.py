"""Optimizer updates as functions: the formulas of torch.optim without their loops and side effects."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import torch

from mnc.core.diagnostics import CompileError
from mnc.torch.optimizers import adafactor, adam, plain, squares
from mnc.torch.optimizers.group import Group, Tensors

_KINDS: dict[type, type[Group]] = {
    torch.optim.SGD: plain.Sgd, torch.optim.ASGD: plain.Asgd, torch.optim.Rprop: plain.Rprop,
    torch.optim.Adam: adam.Adam, torch.optim.AdamW: adam.Adam, torch.optim.Adamax: adam.Adamax,
    torch.optim.NAdam: adam.NAdam, torch.optim.RAdam: adam.RAdam,
    torch.optim.Adafactor: adafactor.Adafactor,
    torch.optim.RMSprop: squares.RMSprop, torch.optim.Adagrad: squares.Adagrad, torch.optim.Adadelta: squares.Adadelta,
}  # fmt: skip
_REASONS: dict[type, str] = {
    torch.optim.LBFGS: ": one step of it takes as many losses and gradients as their values say",
    torch.optim.Muon: ": it makes products in bfloat16, to which no other numbers can be compared",
    torch.optim.SparseAdam: ": it takes sparse gradients alone; Adam takes those of embeddings with sparse=False",
}


@dataclass(frozen=True)
class Plan:
    """What an optimizer does.

    Attributes:
        trained: names of the parameters that it changes.
        state: first values of its state, by name.
        apply: (parameters, gradients, state) -> the next parameters and state.
    """

    trained: list[str]
    state: Tensors
    apply: Callable[[Tensors, Tensors, Tensors], tuple[Tensors, Tensors]]


def plan(optimizer: torch.optim.Optimizer, parameters: Mapping[str, torch.nn.Parameter]) -> Plan:
    """Read an optimizer over `parameters`, those that have a gradient, by name.

    Raises:
        CompileError: a kind of optimizer or a setting that is not supported.
    """
    groups = _groups(optimizer, parameters)
    trained = [name for group in groups for name in group.trained]
    if not trained:
        raise CompileError("the optimizer holds no parameter of the module", hint="make it from module.parameters()")

    def apply(values: Tensors, gradients: Tensors, state: Tensors) -> tuple[Tensors, Tensors]:
        new_values, new_state = {}, {}
        for group in groups:
            group_values, group_state = group.apply(values, gradients, state)
            new_values.update(group_values)
            new_state.update(group_state)
        return new_values, new_state

    return Plan(trained, {name: value for group in groups for name, value in group.state().items()}, apply)


def shared_state(optimizer: torch.optim.Optimizer, parameters: Mapping[str, torch.nn.Parameter]) -> dict[str, float]:
    """What torch computes anew in each step and a graph keeps as state, at the step in which the optimizer is."""
    return {name: value for group in _groups(optimizer, parameters) for name, value in group.first_shared().items()}


def _groups(optimizer: torch.optim.Optimizer, parameters: Mapping[str, torch.nn.Parameter]) -> list[Group]:
    if type(optimizer) not in _KINDS:
        names = ", ".join(kind.__name__ for kind in _KINDS)
        message = f"optimizer {type(optimizer).__name__} is not supported{_REASONS.get(type(optimizer), '')}"
        hint = f"use one of these of torch.optim: {names}; or write a step of your own (docs/torch.md)"
        raise CompileError(message, hint=hint)
    names = {parameter: name for name, parameter in parameters.items()}
    groups = []
    for index, settings in enumerate(optimizer.param_groups):
        trained = {names[p]: p for p in settings["params"] if p in names}
        groups.append(_KINDS[type(optimizer)](index, settings, trained, optimizer.state))
    return groups
