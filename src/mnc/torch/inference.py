"""A PyTorch module as an ONNX graph for inference."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx
import torch
from torch.func import functional_call
from torch.utils._pytree import tree_leaves

from mnc.core.diagnostics import CompileError
from mnc.torch import proof
from mnc.torch import sample as samples
from mnc.torch.arguments import check_module, check_name
from mnc.torch.capture import OPEN_LENGTHS, capture
from mnc.torch.copies import copied, sharing_copy
from mnc.torch.inner_gradients import WithoutAutograd, under_differentiation
from mnc.torch.preconditions import Preconditions
from mnc.torch.reference import SingleSpotter, array_of, converted, default_type
from mnc.torch.surroundings import own_surroundings, uncompiled
from mnc.torch.translation import Traced, to_onnx

_DRAWS = 3


def export_inference(module: torch.nn.Module, sample: Any, *, name: str = "inference") -> onnx.ModelProto:
    """Export a module in evaluation mode, with static shapes, and prove it against torch.

    Args:
        module: in single precision; it is not changed.
        sample: the input, or a tuple of inputs. Its shapes are those of the graph.
        name: of the graph.

    Returns:
        A model whose inputs are called as in ``module.forward``, whose initializers are the parameters, and whose
        output is ``output``, or ``output0`` and so on if there are several.

    Raises:
        CompileError: what cannot be exported; an unsupported operator names the module it comes from.
        InternalError: the graph disagrees with torch; names the tensor.
    """
    check_name(name)
    with own_surroundings():
        return _exported(module, sample, name)


def _exported(module: torch.nn.Module, sample: Any, name: str) -> onnx.ModelProto:
    check_module(module)
    module = uncompiled(module)
    data = samples.tensors_of(sample, "data")
    export = _Export(_evaluated(module), data)
    try:
        traced = export.trace()
    except WithoutAutograd:
        export.takes_gradients = True
        traced = export.trace()
    model = to_onnx(traced, name, traced.outputs)
    export.prove(model, to_onnx(traced, name, traced.outputs, double=True), traced)
    return model


def _evaluated(module: torch.nn.Module) -> torch.nn.Module:
    """A copy in evaluation mode."""
    return copied(module, module).eval()


@dataclass
class _Export:
    """One export; `module` is a copy in evaluation mode."""

    module: torch.nn.Module
    data: tuple[torch.Tensor, ...]
    takes_gradients: bool = False

    def _autograd(self) -> Any:
        """Context of a run in torch."""
        return torch.set_grad_enabled(self.takes_gradients)

    def trace(self) -> Traced:
        """Capture the module with its parameters and buffers as constants."""
        weights = {n: v.detach() for n, v in (*self.module.named_parameters(), *self.module.named_buffers())}
        results = self._try()
        taken = set(weights)
        outputs = ["output"] if len(results) == 1 else [f"output{i}" for i in range(len(results))]
        outputs = samples.free_names(outputs, taken)
        inputs = samples.free_names(samples.input_names(self.module.forward, len(self.data)), taken)

        module = sharing_copy(self.module)

        def function(*flat: torch.Tensor) -> list[torch.Tensor]:
            named = dict(zip(weights, flat[len(self.data) :], strict=True))
            # Copies, so that a module may write its buffers and its input.
            named |= {name: named[name].clone() for name, _ in self.module.named_buffers()}
            with self._autograd():
                data = tuple(value.clone() for value in flat[: len(self.data)])
                return tree_leaves(functional_call(module, named, data))

        function = under_differentiation(function) if self.takes_gradients else function

        graph = capture(function, [*self.data, *weights.values()], module, training=False)
        return Traced(graph, [*inputs, *weights], outputs, weights)

    def _try(self) -> list[torch.Tensor]:
        """Results on the sample; raises CompileError."""
        try:
            with self._autograd(), Preconditions():
                results = tree_leaves(copied(self.module, self.module)(*converted(self.data, torch.float32)))
        except Exception as error:  # whatever the user's code raises
            if "does not require grad" in str(error) and not self.takes_gradients:
                self.takes_gradients = True
                return self._try()
            message = f"the module fails on the sample: {type(error).__name__}: {error}"
            hint = "call requires_grad_() of the input, or take gradients inside of forward by torch.func.grad"
            raise CompileError(message, hint=hint if self.takes_gradients else None) from error
        if not results or not all(isinstance(value, torch.Tensor) for value in results):
            raise CompileError("the module must return tensors", hint="return a tensor, or a tuple or dict of tensors")
        if any(value.numel() and bool(torch.isnan(value).all()) for value in results):
            message = "the module gives nothing but NaN for the sample, which proves nothing"
            raise CompileError(message, hint="give a sample for which the module is defined")
        return results

    def _torch(self, data: Sequence[torch.Tensor], dtype: torch.dtype, traced: Traced) -> tuple[dict[str, Any], bool]:
        """What torch gives, and whether it mixed precisions."""
        module = copied(self.module, self.module).to(dtype)
        try:
            with self._autograd(), default_type(dtype), SingleSpotter() as spotter:
                results = tree_leaves(module(*converted(data, dtype)))
        except Exception as error:  # whatever torch and the user's code raise
            what = "in double precision" if dtype == torch.float64 else "for random data"
            message = f"the module fails {what}, where it is compared with the graph: {type(error).__name__}: {error}"
            hint = "write what fails with operators that take any floating-point type"
            raise CompileError(message, hint=hint) from error
        return dict(zip(traced.outputs, map(array_of, results), strict=True)), spotter.found

    def _is_defined(self, data: Sequence[torch.Tensor]) -> bool:
        """Whether torch gives numbers."""
        try:
            with self._autograd(), Preconditions():
                module = copied(self.module, self.module)
                return samples.are_numbers(tree_leaves(module(*converted(data, torch.float32))))
        except Exception:  # whatever torch and the user's code raise
            return False

    def prove(self, model: onnx.ModelProto, exact_model: onnx.ModelProto, traced: Traced) -> proof.Proof:
        """Both forms of the graph against torch on the sample and on random data; raises as `proof.require`."""
        runners = proof.Runner(model), proof.Runner(exact_model)
        double: list[proof.Deviation] = []
        single: list[proof.Deviation] = []
        for step in range(_DRAWS):
            generator = torch.Generator().manual_seed(step)
            data = self.data if step == 0 else samples.drawn(self.data, generator, self._is_defined)
            feeds: dict[str, np.ndarray] = dict(zip(traced.inputs, map(array_of, data), strict=False))
            exact, mixed = self._torch(data, torch.float64, traced)
            rounded, _ = self._torch(data, torch.float32, traced)
            bound = proof.MIXED_BOUND if mixed else proof.DOUBLE_BOUND
            double += proof.compare_double(exact, runners[1].run(feeds), step, bound)
            single += proof.compare_single(exact, rounded, runners[0].run(feeds), step)
        is_open = traced.graph.meta[OPEN_LENGTHS]
        proof.require(double, "double", is_open)
        proof.require(single, "single", is_open)
        return proof.Proof(tuple(double), tuple(single))
