"""What the updates of all optimizers have in common."""

from collections.abc import Mapping
from typing import Any

import torch

from mnc.core.diagnostics import CompileError

Tensors = dict[str, torch.Tensor]


class Group:
    """A parameter group of an optimizer.

    Two kinds of state: `slots` of each parameter, as torch has them, and numbers that all parameters of the group share
    under short names: a count of steps, or what torch makes of that in each step.
    """

    slots: tuple[str, ...] = ()

    def __init__(self, index: int, settings: dict[str, Any], trained: dict[str, Any], state: Mapping[Any, Any]) -> None:
        self.index, self.settings, self.trained, self._state = index, settings, trained, state

    def number(self, name: str) -> float:
        """A setting."""
        return float(self.settings[name])

    def slots_of(self, parameter: torch.nn.Parameter) -> tuple[str, ...]:
        """Names of the state of one parameter."""
        del parameter
        return self.slots

    def state(self) -> Tensors:
        """First values: what torch has, zero where it has none yet."""
        own = {
            f"{name}.{slot}": self._first(parameter, slot)
            for name, parameter in self.trained.items()
            for slot in self.slots_of(parameter)
        }
        shared = {name: torch.tensor(value, dtype=torch.float32) for name, value in self.first_shared().items()}
        return {**own, **shared}

    def _first(self, parameter: torch.nn.Parameter, slot: str) -> torch.Tensor:
        found = self._state.get(parameter, {}).get(slot)
        return self.fresh(parameter, slot) if found is None else found.detach().clone()

    def fresh(self, parameter: torch.nn.Parameter, slot: str) -> torch.Tensor:
        """State of a parameter before its first step."""
        del slot
        return torch.zeros_like(parameter).detach()

    def first_shared(self) -> dict[str, float]:
        """First values of the shared state, by full names; raises CompileError where parameters differ in it."""
        if not self.trained:
            return {}
        states = [self._state.get(parameter, {}) for parameter in self.trained.values()]
        values = [self.shared_of(float(state.get("step", 0.0)), state) for state in states]
        if any(value != values[0] for value in values):
            hint = "export with a fresh optimizer, or one that trained all parameters from the start"
            raise CompileError("the parameters of one group have taken different numbers of steps", hint=hint)
        return {self._full(name): value for name, value in values[0].items()}

    def _full(self, name: str) -> str:
        return f"optimizer.group{self.index}.{name}"

    def shared_of(self, steps: float, state: Mapping[str, Any]) -> dict[str, float]:
        """Shared state after a number of steps; `state` is torch's, of one parameter."""
        del steps, state
        return {}

    def direction(self, value: torch.Tensor, gradient: torch.Tensor) -> torch.Tensor:
        """The gradient, its sign turned for maximising, with weight decay."""
        gradient = -gradient if self.settings["maximize"] else gradient
        decay = float(self.settings.get("weight_decay", 0))
        return gradient if decay == 0 else gradient + decay * value

    def decayed(self, value: torch.Tensor, gradient: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Parameter and gradient with weight decay: of the parameter where it is decoupled, else of the gradient."""
        if not self.settings.get("decoupled_weight_decay"):
            return value, self.direction(value, gradient)
        decay = self.number("weight_decay")
        value = value * (1 - self.number("lr") * decay) if decay else value
        return value, -gradient if self.settings["maximize"] else gradient

    def apply(self, values: Tensors, gradients: Tensors, state: Tensors) -> tuple[Tensors, Tensors]:
        """Next values and state of this group."""
        if not self.trained:
            return {}, {}
        prefix = self._full("")
        shared, numbers = self.shared({n.removeprefix(prefix): v for n, v in state.items() if n.startswith(prefix)})
        new_values: Tensors = {}
        new_state = {self._full(name): value for name, value in shared.items()}
        for name in self.trained:
            own = {slot: state[f"{name}.{slot}"] for slot in self.slots_of(self.trained[name])}
            new_values[name], changed = self.update(values[name], gradients[name], own, numbers)
            new_state.update({f"{name}.{slot}": value for slot, value in changed.items()})
        return new_values, new_state

    def shared(self, state: Tensors) -> tuple[Tensors, Tensors]:
        """Next value of the shared state, and the numbers that updates are made with."""
        return state, state

    def update(
        self, value: torch.Tensor, gradient: torch.Tensor, own: Tensors, numbers: Tensors
    ) -> tuple[torch.Tensor, Tensors]:
        """Next value of a parameter and of its slots."""
        raise NotImplementedError
