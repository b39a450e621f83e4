"""Functions of the user's own, with a backward part of its own, in a form that the transforms of torch.func take."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch._C._functorch import TransformType
from torch.autograd import Function, function

from mnc.core.diagnostics import CompileError

_is_defined, _call = function._is_setup_context_defined, function.custom_function_call


@contextmanager
def own_functions() -> Iterator[None]:
    """Within the block, an ``autograd.Function`` can be traced, with its backward part where it is differentiated.

    Its method ``apply`` may have been taken out before, so that what it calls is replaced, not the method.
    """
    table: Any = _call.functorch_table
    refusal = table[TransformType.Functionalize]
    table[TransformType.Functionalize] = _forward
    function._is_setup_context_defined = lambda setup: _is_defined(setup) or _NotYet()
    function.custom_function_call = _called
    try:
        yield
    finally:
        function._is_setup_context_defined, function.custom_function_call = _is_defined, _call
        table[TransformType.Functionalize] = refusal


class _NotYet:
    """Whether a function has a setup of its context: first not, so that the arguments of its forward part begin with a
    context; then so, since it gets one."""

    def __init__(self) -> None:
        self._asked = False

    def __bool__(self) -> bool:
        before, self._asked = self._asked, True
        return before


def _forward(interpreter: Any, cls: Any, *operands: Any) -> Any:
    """Where nothing differentiates any more, a function is what its forward part computes."""
    del interpreter
    return cls.forward(*operands)


def _called(cls: Any, *args: Any, **kwargs: Any) -> Any:
    if _is_defined(cls.setup_context):
        return _call(cls, *args, **kwargs)
    count: list[int] = []
    found = _call(_in_two_parts(cls, count), *args, **kwargs)
    return found[0] if count == [-1] else tuple(found[: count[0]])


class _Context:
    """What forward and backward part tell each other."""

    def __init__(self, needs_input_grad: tuple[bool, ...]) -> None:
        self.needs_input_grad = needs_input_grad
        self.saved_tensors: tuple[Any, ...] = ()

    def save_for_backward(self, *tensors: Any) -> None:
        """Keep tensors."""
        self.saved_tensors = tensors

    def mark_non_differentiable(self, *tensors: Any) -> None:
        """Results without a gradient; the backward part gets zeros for them."""

    def set_materialize_grads(self, value: bool) -> None:
        """Gradients that are missing are zeros here in any case."""

    def mark_dirty(self, *tensors: Any) -> None:
        """Raises CompileError."""
        hint = "return a new tensor"
        raise CompileError("an autograd.Function that changes its arguments in place cannot be traced", hint=hint)


def _in_two_parts(cls: Any, count: list[int]) -> Any:
    """`cls`, whose forward part takes a context, as a function with a setup of its context. What it saves are further
    results. `count` tells how many results are its own, -1 for one that is no tuple."""
    kept: dict[str, Any] = {}

    def forward(*args: Any) -> Any:
        context = _Context(tuple(isinstance(value, torch.Tensor) for value in args))
        found = cls.forward(context, *args)
        own = found if isinstance(found, tuple) else (found,)
        count[:] = [len(own) if isinstance(found, tuple) else -1]
        saved = context.saved_tensors
        kept["tensors"] = [isinstance(value, torch.Tensor) for value in saved]
        kept["others"] = saved
        kept["attributes"] = vars(context)
        return (*own, *(value.clone() for value in saved if isinstance(value, torch.Tensor)))

    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        own = abs(count[0])
        ctx.save_for_backward(*output[own:])
        ctx.mark_non_differentiable(*output[own:])

    def backward(ctx: Any, *gradients: Any) -> Any:
        context = _Context(ctx.needs_input_grad)
        vars(context).update(kept["attributes"])
        saved = iter(ctx.saved_tensors)
        pairs = zip(kept["tensors"], kept["others"], strict=True)
        context.saved_tensors = tuple(next(saved) if is_tensor else other for is_tensor, other in pairs)
        context.needs_input_grad = ctx.needs_input_grad
        return cls.backward(context, *gradients[: abs(count[0])])

    parts = {"forward": forward, "setup_context": setup_context, "backward": backward}
    return type(cls.__name__, (Function,), {name: staticmethod(part) for name, part in parts.items()})
