"""Checkpointing of activations, which computes the same values and gradients as none: a trace takes the plain calls."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch.utils import checkpoint
from torch.utils._pytree import tree_leaves


@contextmanager
def no_checkpoints() -> Iterator[None]:
    """Within the block ``torch.utils.checkpoint`` calls its functions, and keeps what they compute."""
    function: Any = checkpoint.CheckpointFunction
    generator = checkpoint._checkpoint_without_reentrant_generator
    function.apply = _applied
    checkpoint._checkpoint_without_reentrant_generator = _nothing_around
    try:
        yield
    finally:
        checkpoint._checkpoint_without_reentrant_generator = generator
        del function.apply  # that of autograd.Function is inherited


def _applied(function: Any, preserve_rng_state: bool, *arguments: Any) -> Any:
    """As with use_reentrant=True: where no argument has a gradient, nothing inside gets one."""
    del preserve_rng_state
    tensors = (value for value in tree_leaves(arguments) if isinstance(value, torch.Tensor))
    with torch.set_grad_enabled(torch.is_grad_enabled() and any(value.requires_grad for value in tensors)):
        return function(*arguments)


def _nothing_around(*arguments: Any, **options: Any) -> Iterator[None]:
    """What runs before and after the function with use_reentrant=False."""
    del arguments, options
    yield
