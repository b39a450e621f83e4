"""A trace that runs again, so that composite calls and complex numbers are taken apart."""

import operator
from typing import Any

import torch
from torch import fx

from mnc.core.diagnostics import CompileError
from mnc.torch import complex_numbers
from mnc.torch.complex_numbers import Complex
from mnc.torch.operators import operator_name

_aten = torch.ops.aten


class Lowering(fx.Interpreter):
    """Runs a trace again. What is taken apart may leave its elements in another order than the operator did, so that
    a view of them needs a copy."""

    def __init__(self, traced: fx.GraphModule) -> None:
        super().__init__(traced)
        constants = {n.target: getattr(traced, str(n.target)) for n in traced.graph.nodes if n.op == "get_attr"}
        complex_ones = {name: v for name, v in constants.items() if isinstance(v, torch.Tensor) and v.is_complex()}
        # As numbers, for within a trace a tensor has none.
        self._complex = {name: v.detach().resolve_conj().numpy() for name, v in complex_ones.items()}

    def run_node(self, n: fx.Node) -> Any:
        if n.op == "get_attr" and n.target in self._complex:
            numbers = self._complex[n.target]
            return Complex(torch.tensor(numbers.real), torch.tensor(numbers.imag))
        if n.op == "call_function" and n.target is not operator.getitem:
            args, kwargs = self.fetch_args_kwargs_from_env(n)
            if complex_numbers.is_complex(n) or _holds_complex((args, kwargs)):
                with self._set_current_node(n):
                    return complex_numbers.call(n, operator_name(n), args, kwargs)
        return super().run_node(n)

    def call_function(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return super().call_function(_aten.reshape.default if target is _aten.view.default else target, args, kwargs)

    def output(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if _holds_complex(args):
            hint = "return torch.view_as_real of it, or its real and imaginary part"
            raise CompileError("the module returns complex numbers", hint=hint)
        return super().output(target, args, kwargs)


def _holds_complex(value: Any) -> bool:
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list | tuple):
        return any(map(_holds_complex, value))
    return isinstance(value, Complex | complex)
