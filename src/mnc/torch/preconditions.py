"""What operators want of values without looking, so that torch and a graph may compute different things otherwise."""

import inspect
from collections.abc import Callable
from typing import Any

import torch
from torch.overrides import TorchFunctionMode


class Preconditions(TorchFunctionMode):
    """Within the block, a call with values that make no sense raises ValueError."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if func in _CHECKS:
            _CHECKS[func](*args, **kwargs)
        return func(*args, **kwargs)


def _check_bags(*args: Any, **kwargs: Any) -> None:
    given = inspect.signature(torch.nn.functional.embedding_bag).bind(*args, **kwargs).arguments
    offsets, count = given.get("offsets"), given["input"].shape[0]
    if offsets is None:
        return
    if bool((offsets.diff() < 0).any()):
        raise ValueError("the offsets of bags must not descend")
    if given.get("include_last_offset") and int(offsets[-1]) != count:
        raise ValueError(f"with include_last_offset the last offset must be the number of indices, {count}")


def _check_order(boundaries: Any, sorter: Any = None) -> None:
    if sorter is None and isinstance(boundaries, torch.Tensor) and bool((boundaries.diff() < 0).any()):
        raise ValueError("the boundaries must not descend")


def _check_searchsorted(sorted_sequence: Any, input: Any = None, *, sorter: Any = None, **_: Any) -> None:
    _check_order(sorted_sequence, sorter)


def _check_bucketize(input: Any, boundaries: Any, **_: Any) -> None:
    _check_order(boundaries)


_CHECKS: dict[Any, Callable[..., None]] = {
    torch.nn.functional.embedding_bag: _check_bags,
    torch.searchsorted: _check_searchsorted,
    torch.bucketize: _check_bucketize,
}
