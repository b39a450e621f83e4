"""Optimizers that divide by no average of squares: SGD, ASGD and Rprop."""

from collections.abc import Mapping
from typing import Any

import torch

from mnc.torch.optimizers.group import Group, Tensors


class Sgd(Group):
    """Stochastic gradient descent.

    Torch leaves the first step undamped: with dampening, the part of a gradient that counts is shared state.
    """

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.slots = ("momentum_buffer",) if self.settings["momentum"] else ()

    def shared_of(self, steps: float, state: Mapping[str, Any]) -> dict[str, float]:
        if not (self.slots and self.settings["dampening"]):
            return {}
        return {"gradient_part": 1.0 if state.get("momentum_buffer") is None else 1 - self.number("dampening")}

    def shared(self, state: Tensors) -> tuple[Tensors, Tensors]:
        return {name: torch.full_like(value, 1 - self.number("dampening")) for name, value in state.items()}, state

    def update(
        self, value: torch.Tensor, gradient: torch.Tensor, own: Tensors, numbers: Tensors
    ) -> tuple[torch.Tensor, Tensors]:
        step, momentum = self.direction(value, gradient), self.number("momentum")
        if momentum:
            added = step * numbers["gradient_part"] if numbers else step
            own = {"momentum_buffer": own["momentum_buffer"] * momentum + added}
            step = step + momentum * own["momentum_buffer"] if self.settings["nesterov"] else own["momentum_buffer"]
        return value - self.number("lr") * step, own


class Asgd(Group):
    """Averaged stochastic gradient descent: rate (eta) and share of the average (mu) are those of the step before."""

    slots = ("ax",)

    def shared_of(self, steps: float, state: Mapping[str, Any]) -> dict[str, float]:
        return {"step": steps, "eta": float(state.get("eta", self.number("lr"))), "mu": float(state.get("mu", 1.0))}

    def shared(self, state: Tensors) -> tuple[Tensors, Tensors]:
        step, rate = state["step"] + 1, self.number("lr")
        grown = (step * (self.number("lambd") * rate)).log1p()
        eta = rate * torch.exp(-self.number("alpha") * grown)
        return {"step": step, "eta": eta, "mu": 1 / (step - self.number("t0")).clamp(min=1)}, state

    def update(
        self, value: torch.Tensor, gradient: torch.Tensor, own: Tensors, numbers: Tensors
    ) -> tuple[torch.Tensor, Tensors]:
        step = self.direction(value, gradient) + self.number("lambd") * value
        value = value - numbers["eta"] * step
        return value, {"ax": own["ax"] + (value - own["ax"]) * numbers["mu"]}


class Rprop(Group):
    """Resilient propagation: steps whose sizes grow while the sign of a gradient stays, and shrink where it turns."""

    slots = ("prev", "step_size")

    def fresh(self, parameter: torch.nn.Parameter, slot: str) -> torch.Tensor:
        return torch.full_like(parameter, self.number("lr") if slot == "step_size" else 0.0).detach()

    def update(
        self, value: torch.Tensor, gradient: torch.Tensor, own: Tensors, numbers: Tensors
    ) -> tuple[torch.Tensor, Tensors]:
        gradient = self.direction(value, gradient)
        (shrink, grow), (least, most) = self.settings["etas"], self.settings["step_sizes"]
        product = gradient * own["prev"]
        turned = product < 0
        size = own["step_size"] * torch.where(turned, float(shrink), torch.where(product > 0, float(grow), 1.0))
        size = size.clamp(float(least), float(most))
        gradient = torch.where(turned, 0.0, gradient)
        return value - gradient.sign() * size, {"prev": gradient, "step_size": size}
