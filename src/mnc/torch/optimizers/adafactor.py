"""Adafactor: squares of gradients by rows and columns, and steps as large as the parameter."""

from collections.abc import Mapping
from typing import Any

import torch

from mnc.torch.optimizers.group import Group, Tensors

SMALLEST = float(torch.finfo(torch.float32).eps)
"""What torch takes for the first epsilon in single precision where none is given."""


def _size(value: torch.Tensor) -> torch.Tensor:
    """Root of the mean of squares."""
    return (value * value).mean().sqrt()


class Adafactor(Group):
    """Adafactor as torch has it; for parameters of one dimension all squares are kept."""

    def slots_of(self, parameter: torch.nn.Parameter) -> tuple[str, ...]:
        return ("row_var", "col_var") if parameter.dim() > 1 else ("variance",)

    def fresh(self, parameter: torch.nn.Parameter, slot: str) -> torch.Tensor:
        whole = torch.zeros_like(parameter).detach()
        if slot == "variance":
            return whole
        axis = -1 if slot == "row_var" else -2
        return whole.narrow(axis, 0, 1).clone()

    def shared_of(self, steps: float, state: Mapping[str, Any]) -> dict[str, float]:
        return {"step": steps}

    def shared(self, state: Tensors) -> tuple[Tensors, Tensors]:
        step = state["step"] + 1
        rate = torch.clamp(step.rsqrt(), max=self.number("lr"))
        return {"step": step}, {"rate": rate, "share": step.pow(self.number("beta2_decay"))}

    def update(
        self, value: torch.Tensor, gradient: torch.Tensor, own: Tensors, numbers: Tensors
    ) -> tuple[torch.Tensor, Tensors]:
        gradient = -gradient if self.settings["maximize"] else gradient
        first, second = self.settings["eps"]
        first = SMALLEST if first is None else float(first)
        rate = torch.clamp(_size(value), min=float(second)) * numbers["rate"]
        value = value * (1 - self.number("lr") * self.number("weight_decay"))
        squares = gradient * gradient
        means = {"row_var": (-1,), "col_var": (-2,), "variance": ()}
        given = {slot: squares.mean(means[slot], keepdim=True) if means[slot] else squares for slot in own}
        new = {slot: own[slot] + numbers["share"] * (given[slot] - own[slot]) for slot in own}
        if "variance" in new:
            estimate = new["variance"]
        else:
            rows = new["row_var"]
            estimate = rows * new["col_var"] / torch.clamp(rows.mean(-2, keepdim=True), min=first)
        step = torch.clamp(estimate, min=first * first).rsqrt() * gradient
        rate = rate / torch.clamp(_size(step) / self.number("d"), min=1.0)
        return value - rate * step, new


__all__ = ["SMALLEST", "Adafactor"]
