"""Optimizers that divide by a root of squared gradients: RMSprop, Adagrad and Adadelta."""

from collections.abc import Mapping
from typing import Any

import torch

from mnc.torch.optimizers.group import Group, Tensors


class RMSprop(Group):
    """RMSprop, also centred and with momentum."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        more = {"grad_avg": self.settings["centered"], "momentum_buffer": self.settings["momentum"]}
        self.slots = ("square_avg", *(slot for slot, used in more.items() if used))

    def update(
        self, value: torch.Tensor, gradient: torch.Tensor, own: Tensors, numbers: Tensors
    ) -> tuple[torch.Tensor, Tensors]:
        gradient, alpha = self.direction(value, gradient), self.number("alpha")
        square = own["square_avg"] * alpha + gradient * gradient * (1 - alpha)
        new = {"square_avg": square}
        if self.settings["centered"]:
            new["grad_avg"] = own["grad_avg"] * alpha + gradient * (1 - alpha)
            square = square - new["grad_avg"] * new["grad_avg"]
        step = gradient / (square.sqrt() + self.number("eps"))
        if self.settings["momentum"]:
            step = new["momentum_buffer"] = own["momentum_buffer"] * self.number("momentum") + step
        return value - self.number("lr") * step, new


class Adagrad(Group):
    """Adagrad, whose rate falls with the number of steps where it has lr_decay."""

    slots = ("sum",)

    def shared_of(self, steps: float, state: Mapping[str, Any]) -> dict[str, float]:
        return {"step": steps} if self.settings["lr_decay"] else {}

    def shared(self, state: Tensors) -> tuple[Tensors, Tensors]:
        if not state:
            return {}, {}
        rate = self.number("lr") / (1 + state["step"] * self.number("lr_decay"))
        return {"step": state["step"] + 1}, {"rate": rate}

    def update(
        self, value: torch.Tensor, gradient: torch.Tensor, own: Tensors, numbers: Tensors
    ) -> tuple[torch.Tensor, Tensors]:
        gradient = self.direction(value, gradient)
        total = own["sum"] + gradient * gradient
        step = gradient / (total.sqrt() + self.number("eps"))
        return value - numbers.get("rate", self.number("lr")) * step, {"sum": total}


class Adadelta(Group):
    """Adadelta: steps as large as steps and gradients of the past tell."""

    slots = ("square_avg", "acc_delta")

    def update(
        self, value: torch.Tensor, gradient: torch.Tensor, own: Tensors, numbers: Tensors
    ) -> tuple[torch.Tensor, Tensors]:
        gradient, rho, eps = self.direction(value, gradient), self.number("rho"), self.number("eps")
        square = own["square_avg"] * rho + gradient * gradient * (1 - rho)
        step = (own["acc_delta"] + eps).sqrt() / (square + eps).sqrt() * gradient
        moved = own["acc_delta"] * rho + step * step * (1 - rho)
        return value - self.number("lr") * step, {"square_avg": square, "acc_delta": moved}
