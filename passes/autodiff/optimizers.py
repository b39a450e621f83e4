"""Updates of parameters from their gradients: plain descent, momentum, Adam."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from mnc.core.bindings import ir
from mnc.dialects import graph
from mnc.passes.autodiff.build import Value, add, constant, div, element_of, mul, scale, shift, sub
from mnc.passes.autodiff.signature import Signature

OptimizerName = Literal["none", "sgd", "momentum", "adam"]


@dataclass(frozen=True)
class Optimizer:
    """An update rule and its numbers."""

    kind: OptimizerName
    learning_rate: float
    momentum: float
    beta1: float
    beta2: float
    epsilon: float
    weight_decay: float


class Update:
    """Writes the updates of all parameters of a function, and its optimizer state as arguments and results."""

    def __init__(self, optimizer: Optimizer, signature: Signature) -> None:
        self.optimizer = optimizer
        self.signature = signature
        self._powers: dict[str, Value] = {}

    def write(self, name: str, parameter: Value, gradient: Value) -> None:
        """Add the result ``name.updated``."""
        if self.optimizer.weight_decay:
            gradient = add(gradient, scale(parameter, self.optimizer.weight_decay))
        step = _STEPS[self.optimizer.kind](self, name, gradient)
        self._finish(name, parameter, sub(parameter, step))

    def _finish(self, name: str, argument: Value, updated: Value) -> None:
        self.signature.mark(argument, mnc_updated=ir.StringAttr.get(f"{name}.updated"))
        self.signature.add_result(f"{name}.updated", updated)

    def state(self, name: str, like: Value, initial: float, update: Callable[[Value], Value]) -> Value:
        """An argument that starts with `initial` everywhere and its update as a result; returns the update."""
        argument = self.signature.add_argument(name, like.type, ir.Location.current)
        self.signature.mark(argument, mnc_initial=ir.FloatAttr.get_f32(initial))
        updated = update(argument)
        self._finish(name, argument, updated)
        return updated

    def power(self, name: str, beta: float, like: Value) -> Value:
        """beta to the number of steps, this one included; one for all parameters."""
        if name not in self._powers:
            one = graph.Constant.build(value=np.ones(1, graph.numpy_dtype(element_of(like)))).result
            self._powers[name] = self.state(name, one, 1.0, lambda value: scale(value, beta))
        return self._powers[name]


def _sgd(update: Update, name: str, gradient: Value) -> Value:
    return scale(gradient, update.optimizer.learning_rate)


def _momentum(update: Update, name: str, gradient: Value) -> Value:
    """v = momentum v + g."""
    factor = update.optimizer.momentum
    velocity = update.state(f"{name}.velocity", gradient, 0.0, lambda v: add(scale(v, factor), gradient))
    return scale(velocity, update.optimizer.learning_rate)


def _adam(update: Update, name: str, gradient: Value) -> Value:
    """Kingma and Ba, algorithm 1."""
    settings = update.optimizer

    def average(value: Value, beta: float, new: Value) -> Value:
        return add(scale(value, beta), scale(new, 1 - beta))

    def unbiased(value: Value, power: Value) -> Value:
        return div(value, sub(constant(1.0, power), power))

    square = mul(gradient, gradient)
    first = update.state(f"{name}.first_moment", gradient, 0.0, lambda m: average(m, settings.beta1, gradient))
    second = update.state(f"{name}.second_moment", gradient, 0.0, lambda v: average(v, settings.beta2, square))
    first = unbiased(first, update.power("beta1_power", settings.beta1, gradient))
    second = unbiased(second, update.power("beta2_power", settings.beta2, gradient))
    deviation = shift(graph.Sqrt.build(second).result, settings.epsilon)
    return scale(div(first, deviation), settings.learning_rate)


_STEPS: dict[str, Callable[[Update, str, Value], Value]] = {"sgd": _sgd, "momentum": _momentum, "adam": _adam}
