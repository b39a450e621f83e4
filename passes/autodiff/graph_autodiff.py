"""graph-autodiff: a function with a scalar loss -> the same function with gradients or updated parameters.

before:  func @main(%x) -> %loss              with %w = graph.constant {onnx.name = "w"}
after:   func @main(%x, %w) -> (%loss, %g)    optimizer=none: %g is called ``w.gradient``
         func @main(%x, %w) -> (%loss, %u)    optimizer=sgd:  %u = w - learning-rate * gradient, called ``w.updated``

Named constants that are parameters become arguments. State of an optimizer is one more argument and result each. An
argument that a result replaces in the next step names it in ``mnc.updated``; state also has its first value in
``mnc.initial``.
"""

from dataclasses import dataclass
from typing import Any

from mnc.core.bindings import ir
from mnc.core.diagnostics import CompileError
from mnc.core.pass_base import Pass
from mnc.dialects.graph.base import is_float
from mnc.passes.autodiff.backward import forward_operations, gradients
from mnc.passes.autodiff.build import Value, element_of, elements, shape_of
from mnc.passes.autodiff.optimizers import Optimizer, OptimizerName, Update
from mnc.passes.autodiff.signature import Signature, choices, find_main


@dataclass(frozen=True)
class GraphAutodiff(Pass):
    """Add gradients, or an optimizer step, for the parameters of a scalar loss.

    Attributes:
        loss: name of the result to differentiate; may be left out when there is one result.
        parameters: names of arguments or initializers; left out, all float initializers that the loss depends on.
        optimizer: ``none`` gives gradients, the others updated parameters.
        learning_rate: factor of a step.
        momentum: decay of the velocity, for ``momentum``.
        beta1, beta2, epsilon: for ``adam``.
        weight_decay: times the parameter is added to its gradient.
    """

    name = "graph-autodiff"
    loss: str = ""
    parameters: tuple[str, ...] = ()
    optimizer: OptimizerName = "none"
    learning_rate: float = 0.01
    momentum: float = 0.9
    beta1: float = 0.9
    beta2: float = 0.999
    epsilon: float = 1e-8
    weight_decay: float = 0.0

    def run(self, module: Any) -> None:
        """Differentiate ``@main``."""
        with module.context, ir.Location.unknown():
            signature = Signature(find_main(module))
            names = self._parameters(signature)
            values = _as_arguments(signature, names)
            loss = self._loss(signature)  # after the constants went, because a result may be one
            with ir.InsertionPoint(signature.terminator):
                found = gradients(forward_operations(signature.block), loss, values)
                self._finish(signature, list(zip(names, values, found, strict=True)))
            signature.write()

    def _loss(self, signature: Signature) -> Value:
        names = signature.result_names()
        if self.loss not in names and (self.loss or len(names) != 1):
            what = f"there is no result '{self.loss}'" if self.loss else "several results could be the loss"
            raise CompileError(what, hint=f"give loss=NAME; the results are: {choices(names)}")
        value = signature.results[names.index(self.loss) if self.loss else 0]
        if elements(shape_of(value)) != 1 or not is_float(element_of(value)):
            message = f"the loss '{self.loss or names[0]}' is {value.type}, but it must be one real number"
            raise CompileError(message, hint="reduce it to its sum or mean")
        return value

    def _parameters(self, signature: Signature) -> list[str]:
        constants = signature.constants()
        floats = [name for name, op in constants.items() if is_float(element_of(op.results[0]))]
        arguments = dict(zip(signature.argument_names(), signature.block.arguments, strict=True))
        for name in self.parameters:
            if name not in constants and name not in arguments:
                hint = f"there are: {choices([*arguments, *floats])}"
                raise CompileError(f"there is no argument or initializer '{name}'", hint=hint)
            value = constants[name].results[0] if name in constants else arguments[name]
            if not is_float(element_of(value)):
                message = f"'{name}' is {value.type}; only real numbers can be differentiated"
                raise CompileError(message, hint=f"there are: {choices([*arguments, *floats])}")
        names = list(self.parameters) or floats
        if not names:
            raise CompileError("there are no initializers to differentiate", hint="give parameters=NAME,NAME")
        return names

    def _finish(self, signature: Signature, found: list[tuple[str, Value, Value | None]]) -> None:
        update = Update(
            Optimizer(self.optimizer, self.learning_rate, self.momentum, self.beta1, self.beta2, self.epsilon,
                      self.weight_decay), signature
        )  # fmt: skip
        for name, parameter, gradient in found:
            if gradient is None:
                message = f"the loss does not depend on '{name}'"
                raise CompileError(message, hint="give the other parameters with parameters=NAME,NAME")
            if self.optimizer == "none":
                signature.add_result(f"{name}.gradient", gradient)
            else:
                update.write(name, parameter, gradient)


def _as_arguments(signature: Signature, names: list[str]) -> list[Value]:
    constants = signature.constants()
    arguments = dict(zip(signature.argument_names(), signature.block.arguments, strict=True))
    return [signature.promote(name, constants[name]) if name in constants else arguments[name] for name in names]
