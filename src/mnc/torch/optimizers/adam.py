"""Adam and its relatives.

What they do with the number of steps is state, made anew from its last value without differences of nearly equal
numbers: in single precision ``1 - 0.999**1`` computed as such would have lost four digits.
"""

import math
from collections.abc import Mapping
from typing import Any

import torch

from mnc.torch.optimizers.group import Group, Tensors


class Adam(Group):
    """Adam and AdamW. The bias corrections ``c = 1 - beta**t`` are made by ``c += (1 - beta) * (1 - c)``."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.slots = ("exp_avg", "exp_avg_sq", *(("max_exp_avg_sq",) if self.settings.get("amsgrad") else ()))
        self.betas = [float(beta) for beta in self.settings["betas"]]
        self.corrections = {f"bias_correction{i}": beta for i, beta in enumerate(self.betas, 1)}

    def shared_of(self, steps: float, state: Mapping[str, Any]) -> dict[str, float]:
        return {name: 1 - beta**steps for name, beta in self.corrections.items()}

    def shared(self, state: Tensors) -> tuple[Tensors, Tensors]:
        new = {name: state[name] + (1 - beta) * (1 - state[name]) for name, beta in self.corrections.items()}
        return new, new

    def averages(self, gradient: torch.Tensor, own: Tensors) -> Tensors:
        """Next averages of the gradient and of its square."""
        beta1, beta2 = self.betas
        mean = own["exp_avg"] * beta1 + gradient * (1 - beta1)
        return {"exp_avg": mean, "exp_avg_sq": own["exp_avg_sq"] * beta2 + gradient * gradient * (1 - beta2)}

    def update(
        self, value: torch.Tensor, gradient: torch.Tensor, own: Tensors, numbers: Tensors
    ) -> tuple[torch.Tensor, Tensors]:
        value, gradient = self.decayed(value, gradient)
        new = self.averages(gradient, own)
        square = new["exp_avg_sq"]
        if self.settings["amsgrad"]:
            square = new["max_exp_avg_sq"] = torch.maximum(own["max_exp_avg_sq"], square)
        # Scalars are divided by, not tensors; what is left is one division per element.
        deviation = square.sqrt() * numbers["bias_correction2"].rsqrt() + self.number("eps")
        return value - new["exp_avg"] * (self.number("lr") / numbers["bias_correction1"]) / deviation, new


class Adamax(Adam):
    """Adam with the largest gradient, which is forgotten slowly, in place of an average of squares."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.slots = ("exp_avg", "exp_inf")
        self.corrections = {"bias_correction1": self.betas[0]}

    def update(
        self, value: torch.Tensor, gradient: torch.Tensor, own: Tensors, numbers: Tensors
    ) -> tuple[torch.Tensor, Tensors]:
        gradient, (beta1, beta2) = self.direction(value, gradient), self.betas
        mean = own["exp_avg"] * beta1 + gradient * (1 - beta1)
        largest = torch.maximum(own["exp_inf"] * beta2, gradient.abs() + self.number("eps"))
        rate = self.number("lr") / numbers["bias_correction1"]
        return value - mean * rate / largest, {"exp_avg": mean, "exp_inf": largest}


class NAdam(Adam):
    """Adam with Nesterov momentum, whose factor grows with the number of steps; the product of all is state."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.corrections = {"bias_correction2": self.betas[1]}

    def shared_of(self, steps: float, state: Mapping[str, Any]) -> dict[str, float]:
        product = float(state.get("mu_product", 1.0))
        return {**super().shared_of(steps, state), "step": steps, "mu_product": product}

    def shared(self, state: Tensors) -> tuple[Tensors, Tensors]:
        corrections, step = super().shared(state)[0], state["step"] + 1
        now, later = self._momentum(step), self._momentum(step + 1)
        product, rate = state["mu_product"] * now, self.number("lr")
        numbers = {
            **corrections,
            "gradient": rate * (1 - now) / (1 - product),
            "mean": rate * later / (1 - product * later),
        }
        return {**corrections, "step": step, "mu_product": product}, numbers

    def _momentum(self, step: torch.Tensor) -> torch.Tensor:
        fallen = torch.exp(step * (self.number("momentum_decay") * math.log(0.96)))
        return self.betas[0] * (1 - 0.5 * fallen)

    def update(
        self, value: torch.Tensor, gradient: torch.Tensor, own: Tensors, numbers: Tensors
    ) -> tuple[torch.Tensor, Tensors]:
        value, gradient = self.decayed(value, gradient)
        new = self.averages(gradient, own)
        deviation = new["exp_avg_sq"].sqrt() * numbers["bias_correction2"].rsqrt() + self.number("eps")
        return value - (gradient * numbers["gradient"] + new["exp_avg"] * numbers["mean"]) / deviation, new


class RAdam(Adam):
    """Rectified Adam: no division by squares as long as their average is short.

    Its length ``rho = 2 / (1 - beta) - 1 - 2 * t * beta**t / (1 - beta**t)`` is a small difference of large numbers. It
    is also ``2 * a / ((1 - beta) * c) - 1`` with the exponential average a of the bias corrections c, which is state.
    """

    def shared_of(self, steps: float, state: Mapping[str, Any]) -> dict[str, float]:
        beta, corrections = self.betas[1], super().shared_of(steps, state)
        average = corrections["bias_correction2"] - steps * beta**steps * (1 - beta)
        return {**corrections, "bias_correction2_avg": average}

    def shared(self, state: Tensors) -> tuple[Tensors, Tensors]:
        new, beta = super().shared(state)[0], self.betas[1]
        correction, before = new["bias_correction2"], state["bias_correction2_avg"]
        average = before + (1 - beta) * (correction - before)
        length = average / correction * (2 / (1 - beta)) - 1
        rate = self.number("lr") / new["bias_correction1"]
        numbers = {"rate": rate, "short": length <= 5, "factor": rate * correction.sqrt() * self._rectified(length)}
        return {**new, "bias_correction2_avg": average}, numbers

    def _rectified(self, length: torch.Tensor) -> torch.Tensor:
        longest = 2 / (1 - self.betas[1]) - 1
        if longest <= 5:
            return torch.zeros_like(length)  # no average is ever long
        length = length.clamp(min=5)
        return ((length - 4) * (length - 2) / length * (longest / ((longest - 4) * (longest - 2)))).sqrt()

    def update(
        self, value: torch.Tensor, gradient: torch.Tensor, own: Tensors, numbers: Tensors
    ) -> tuple[torch.Tensor, Tensors]:
        value, gradient = self.decayed(value, gradient)
        new = self.averages(gradient, own)
        adaptive = numbers["factor"] / (new["exp_avg_sq"].sqrt() + self.number("eps"))
        return value - new["exp_avg"] * torch.where(numbers["short"], numbers["rate"], adaptive), new
