"""Functions of lists of tensors, such as ``torch._foreach_add``, tensor by tensor.

`torch.nn.utils` calls them, and optimizers that are written as a part of a module.
"""

from collections.abc import Callable
from typing import Any

import torch

_PREFIX = "_foreach_"


def _norms(tensors: Any, ord: Any = 2, dtype: torch.dtype | None = None) -> list[torch.Tensor]:
    return [torch.linalg.vector_norm(tensor, ord, dtype=dtype) for tensor in tensors]


def _each(name: str) -> Callable[..., Any]:
    """The method `name` of every tensor; further lists have an argument for each."""

    def call(tensors: Any, *rest: Any, **options: Any) -> Any:
        found = [
            getattr(tensor, name)(*(_part(value, i) for value in rest), **{k: _part(v, i) for k, v in options.items()})
            for i, tensor in enumerate(tensors)
        ]
        return None if name.endswith("_") else found

    return call


def _part(value: Any, index: int) -> Any:
    return value[index] if isinstance(value, list | tuple) else value


_NAMES = [name.removeprefix(_PREFIX) for name in dir(torch) if name.startswith(_PREFIX)]
FUNCTIONS: dict[Any, Callable[..., Any]] = {
    **{getattr(torch, _PREFIX + name): _each(name) for name in _NAMES if hasattr(torch.Tensor, name)},
    torch._foreach_norm: _norms,  # pyright: ignore[reportAttributeAccessIssue]
}

__all__ = ["FUNCTIONS"]
