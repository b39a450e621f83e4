"""The user's sample, and random data like it."""

import inspect
from collections.abc import Callable, Sequence
from typing import Any

import torch

from mnc.core.diagnostics import CompileError

_NORMAL_BELOW = 1e-12


def tensors_of(value: Any, what: str) -> tuple[torch.Tensor, ...]:
    """A tensor or a sequence of tensors as a tuple of detached copies.

    Raises:
        CompileError: something else, or an element type that cannot be exported.
    """
    parts = tuple(value) if isinstance(value, tuple | list) else (value,)
    for part in parts:
        if not isinstance(part, torch.Tensor):
            hint = "give tensors; several as a tuple"
            raise CompileError(f"the sample's {what} is a {type(part).__name__}, not a tensor", hint=hint)
        if part.layout != torch.strided or part.is_nested:
            layout = "nested" if part.is_nested else str(part.layout).removeprefix("torch.")
            message = f"the sample's {what} is a {layout} tensor, which is not supported"
            raise CompileError(message, hint="give a dense tensor, as to_dense() or nested.to_padded_tensor make it")
        if part.is_meta:
            raise CompileError(f"the sample's {what} has no values, on the device meta", hint="give one with values")
        if part.dtype not in (torch.float32, torch.int64, torch.int32, torch.bool):
            message = f"the sample's {what} has element type {part.dtype}, which is not supported"
            raise CompileError(message, hint="use float32, int64, int32 or bool")
        if part.numel() == 0:
            message = f"the sample's {what} of shape {list(part.shape)} has no elements"
            raise CompileError(message, hint="give one with elements")
        if part.is_floating_point() and not bool(torch.isfinite(part).all()):
            raise CompileError(f"the sample's {what} holds NaN or infinite values", hint="give finite ones")
    return tuple(part.detach().cpu().clone() for part in parts)


def input_names(function: Callable[..., Any], count: int) -> list[str]:
    """Names of the first `count` parameters of a forward method; ``input0`` and so on where it does not tell."""
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    try:
        names = [p.name for p in inspect.signature(function).parameters.values() if p.kind in kinds]
    except (TypeError, ValueError):
        names = []
    if len(names) >= count:
        return names[:count]
    return ["input"] if count == 1 else [f"input{i}" for i in range(count)]


def free_names(names: Sequence[str], taken: set[str]) -> list[str]:
    """The names, altered where they are taken; they are taken from now on."""
    result = []
    for name in names:
        while name in taken:
            name = f"{name}_"
        taken.add(name)
        result.append(name)
    return result


def drawn(
    values: Sequence[torch.Tensor], generator: torch.Generator, is_defined: Callable[[Sequence[torch.Tensor]], bool],
    in_range: Callable[[], Sequence[torch.Tensor]] | None = None,
) -> list[torch.Tensor]:
    """Random data like `values` for which `is_defined` says that torch gives numbers.

    In the range of each tensor first, by `in_range` if that is given; the elements of each in other places where
    torch cannot do with that, as with probabilities whose sample tells no range; the values themselves where it can
    do with nothing else.
    """
    ways = (
        in_range or (lambda: [drawn_like(value, generator) for value in values]),
        lambda: [_elements_of(value, generator) for value in values],
    )
    for way in ways:
        found = list(way())
        if is_defined(found):
            return found
    return list(values)


def _elements_of(value: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    flat = value.reshape(-1)
    return flat[torch.randint(len(flat), (len(flat),), generator=generator)].reshape(value.shape)


def are_numbers(values: Sequence[torch.Tensor]) -> bool:
    """Whether no element is NaN."""
    return not any(value.is_floating_point() and bool(torch.isnan(value).any()) for value in values)


def drawn_like(
    value: torch.Tensor, generator: torch.Generator, scores: Sequence[int] | None = None
) -> torch.Tensor:
    """Random data in the range of a sample tensor, so that it stays where the module is defined.

    Args:
        scores: shape [N, C, ...] of the network's output: integers [N, ...] are drawn from all C classes.
    """
    if value.is_floating_point():
        low, high = float(value.min()), float(value.max())
        if high - low < _NORMAL_BELOW:  # a sample of zeros tells no range
            return torch.randn(value.shape, generator=generator)
        return torch.rand(value.shape, generator=generator) * (high - low) + low
    if value.dtype == torch.bool:
        return torch.rand(value.shape, generator=generator) < 0.5
    classes = scores is not None and len(scores) > 1 and list(value.shape) == [scores[0], *scores[2:]]
    low, high = (0, int(scores[1]) - 1) if classes and scores else (int(value.min()), int(value.max()))
    return torch.randint(low, high + 1, value.shape, generator=generator, dtype=value.dtype)
