"""What operators want of values without looking, so that torch and a graph may compute different things otherwise."""

import inspect
from collections.abc import Callable
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from mnc.torch.known_numbers import KnownNumbers


class Preconditions(TorchFunctionMode):
    """Within the block, a call with values that make no sense raises ValueError."""

    def __init__(self) -> None:
        super().__init__()
        self._packed: list[tuple[torch.Tensor, int]] = []
        self._numbers = KnownNumbers()

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if func in _CHECKS:
            _CHECKS[func](*args, **kwargs)
        found = func(*args, **kwargs)
        self._numbers.note(func, args, kwargs, found)
        is_packing = func is torch._VF._pack_padded_sequence  # pyright: ignore[reportAttributeAccessIssue]
        if is_packing and self._numbers.of(args[1]) is None:
            self._packed.append((found[1], args[0].shape[1 if args[2] else 0]))
        elif func is torch._VF._pad_packed_sequence:  # pyright: ignore[reportAttributeAccessIssue]
            self._check_steps(*args)
        return found

    def _check_steps(self, _: Any, batch_sizes: torch.Tensor, first: Any, value: Any, total: int) -> None:
        """A graph has as many steps as were packed, however long the sequences are that are given to it."""
        steps = next((steps for known, steps in self._packed if known is batch_sizes), 0)
        if total < steps:
            message = (
                f"the longest of the packed sequences has {total} steps of {steps}: cut off the others, or give "
                f"pad_packed_sequence total_length={steps}"
            )
            raise ValueError(message)


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
