"""Optimizer updates as functions: the formulas of torch.optim without their loops and side effects."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch

from mnc.core.diagnostics import CompileError

Tensors = dict[str, torch.Tensor]
Update = Callable[[torch.Tensor, torch.Tensor, Tensors], tuple[torch.Tensor, Tensors]]
"""(parameter, gradient, its state) -> the same in the next step."""


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
    kinds: dict[type, type[_Group]] = {
        torch.optim.SGD: _Sgd, torch.optim.Adam: _Adam, torch.optim.AdamW: _Adam, torch.optim.RMSprop: _RMSprop,
        torch.optim.Adagrad: _Adagrad,
    }  # fmt: skip
    if type(optimizer) not in kinds:
        message = f"optimizer {type(optimizer).__name__} is not supported"
        raise CompileError(message, hint="use SGD, Adam, AdamW, RMSprop or Adagrad of torch.optim")
    names = {parameter: name for name, parameter in parameters.items()}
    groups = []
    for index, settings in enumerate(optimizer.param_groups):
        trained = {names[p]: p for p in settings["params"] if p in names}
        groups.append(kinds[type(optimizer)](index, settings, trained, optimizer.state))
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


class _Group:
    """A parameter group of an optimizer."""

    slots: tuple[str, ...] = ()  # names, in torch, of the state that each parameter has

    def __init__(self, index: int, settings: dict[str, Any], trained: dict[str, Any], state: Mapping[Any, Any]) -> None:
        self.index, self.settings, self.trained, self._state = index, settings, trained, state

    def state(self) -> Tensors:
        """First values: what torch has, zero where it has none yet."""
        return {
            f"{name}.{slot}": self._first(parameter, slot)
            for name, parameter in self.trained.items()
            for slot in self.slots
        }

    def _first(self, parameter: torch.nn.Parameter, slot: str) -> torch.Tensor:
        found = self._state.get(parameter, {}).get(slot)
        return torch.zeros_like(parameter).detach() if found is None else found.detach().clone()

    def direction(self, value: torch.Tensor, gradient: torch.Tensor) -> torch.Tensor:
        """The gradient, its sign turned for maximising, with weight decay."""
        gradient = -gradient if self.settings["maximize"] else gradient
        decay = float(self.settings["weight_decay"])
        return gradient if decay == 0 else gradient + decay * value

    def apply(self, values: Tensors, gradients: Tensors, state: Tensors) -> tuple[Tensors, Tensors]:
        """Next values and state of this group."""
        shared = self.shared(state)
        new_values, new_state = {}, dict(shared)
        for name in self.trained:
            own = {slot: state[f"{name}.{slot}"] for slot in self.slots}
            new_values[name], changed = self.update(values[name], gradients[name], own, shared)
            new_state.update({f"{name}.{slot}": value for slot, value in changed.items()})
        return new_values, new_state

    def shared(self, state: Tensors) -> Tensors:
        """Next value of the state that belongs to no single parameter."""
        return {}

    def update(
        self, value: torch.Tensor, gradient: torch.Tensor, own: Tensors, shared: Tensors
    ) -> tuple[torch.Tensor, Tensors]:
        """Next value of a parameter and of its state."""
        raise NotImplementedError


class _Sgd(_Group):
    """Stochastic gradient descent."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.slots = ("momentum_buffer",) if self.settings["momentum"] else ()
        if self.settings["momentum"] and self.settings["dampening"]:
            # torch leaves the first step undamped, so that it is another program than the rest.
            raise CompileError("SGD with dampening is not supported", hint="set dampening=0")

    def update(
        self, value: torch.Tensor, gradient: torch.Tensor, own: Tensors, shared: Tensors
    ) -> tuple[torch.Tensor, Tensors]:
        step, momentum = self.direction(value, gradient), float(self.settings["momentum"])
        if momentum:
            own = {"momentum_buffer": own["momentum_buffer"] * momentum + step}
            step = step + momentum * own["momentum_buffer"] if self.settings["nesterov"] else own["momentum_buffer"]
        return value - float(self.settings["lr"]) * step, own


class _Adam(_Group):
    """Adam and AdamW.

    The bias corrections ``c = 1 - beta**t`` are state, made by ``c += (1 - beta) * (1 - c)``: in single precision
    ``1 - 0.999**1`` computed as such would have lost four digits.
    """

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.slots = ("exp_avg", "exp_avg_sq", *(("max_exp_avg_sq",) if self.settings["amsgrad"] else ()))
        self.betas = [float(beta) for beta in self.settings["betas"]]
        self.corrections = [f"optimizer.group{self.index}.bias_correction{i}" for i in (1, 2)]

    def state(self) -> Tensors:
        steps = {float(self._state.get(p, {}).get("step", 0.0)) for p in self.trained.values()}
        if len(steps) > 1:
            hint = "export with a fresh optimizer, or one that trained all parameters from the start"
            raise CompileError("the parameters of one group have taken different numbers of steps", hint=hint)
        taken = steps.pop() if steps else 0.0
        first = {
            name: torch.tensor(1 - beta**taken, dtype=torch.float32)
            for name, beta in zip(self.corrections, self.betas, strict=True)
        }
        return {**super().state(), **(first if self.trained else {})}

    def shared(self, state: Tensors) -> Tensors:
        if not self.trained:
            return {}
        pairs = zip(self.corrections, self.betas, strict=True)
        return {name: state[name] + (1 - beta) * (1 - state[name]) for name, beta in pairs}

    def update(
        self, value: torch.Tensor, gradient: torch.Tensor, own: Tensors, shared: Tensors
    ) -> tuple[torch.Tensor, Tensors]:
        rate, (beta1, beta2) = float(self.settings["lr"]), self.betas
        if self.settings.get("decoupled_weight_decay"):
            gradient = -gradient if self.settings["maximize"] else gradient
            decay = float(self.settings["weight_decay"])
            value = value * (1 - rate * decay) if decay else value
        else:
            gradient = self.direction(value, gradient)
        mean = own["exp_avg"] * beta1 + gradient * (1 - beta1)
        square = own["exp_avg_sq"] * beta2 + gradient * gradient * (1 - beta2)
        next_own = {"exp_avg": mean, "exp_avg_sq": square}
        if self.settings["amsgrad"]:
            square = next_own["max_exp_avg_sq"] = torch.maximum(own["max_exp_avg_sq"], square)
        correction1, correction2 = (shared[name] for name in self.corrections)
        # Scalars are divided by, not tensors; what is left is one division per element.
        deviation = square.sqrt() * correction2.rsqrt() + float(self.settings["eps"])
        return value - mean * (rate / correction1) / deviation, next_own


class _RMSprop(_Group):
    """RMSprop, also centred and with momentum."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        more = {"grad_avg": self.settings["centered"], "momentum_buffer": self.settings["momentum"]}
        self.slots = ("square_avg", *(slot for slot, used in more.items() if used))

    def update(
        self, value: torch.Tensor, gradient: torch.Tensor, own: Tensors, shared: Tensors
    ) -> tuple[torch.Tensor, Tensors]:
        gradient, alpha = self.direction(value, gradient), float(self.settings["alpha"])
        square = own["square_avg"] * alpha + gradient * gradient * (1 - alpha)
        new = {"square_avg": square}
        if self.settings["centered"]:
            new["grad_avg"] = own["grad_avg"] * alpha + gradient * (1 - alpha)
            square = square - new["grad_avg"] * new["grad_avg"]
        step = gradient / (square.sqrt() + float(self.settings["eps"]))
        if self.settings["momentum"]:
            step = new["momentum_buffer"] = own["momentum_buffer"] * float(self.settings["momentum"]) + step
        return value - float(self.settings["lr"]) * step, new


class _Adagrad(_Group):
    """Adagrad with a constant learning rate."""

    slots = ("sum",)

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        if self.settings["lr_decay"]:
            raise CompileError(
                "Adagrad with lr_decay is not supported", hint="the learning rate is constant: lr_decay=0"
            )

    def update(
        self, value: torch.Tensor, gradient: torch.Tensor, own: Tensors, shared: Tensors
    ) -> tuple[torch.Tensor, Tensors]:
        gradient = self.direction(value, gradient)
        total = own["sum"] + gradient * gradient
        step = gradient / (total.sqrt() + float(self.settings["eps"]))
        return value - float(self.settings["lr"]) * step, {"sum": total}
