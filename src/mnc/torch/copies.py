"""Copies of modules that hold more than parameters and buffers, as those with `weight_norm` hold the last weight."""

import copy
from collections.abc import Iterator
from typing import Any, TypeVar

import torch
from torch.utils._pytree import tree_leaves

T = TypeVar("T")


def copied(value: T, *modules: Any) -> T:
    """A deep copy of `value`, in which `modules` are. Torch refuses to copy what a call has computed; such tensors are
    copied without their history."""
    kept = (tensor for module in modules for tensor in _tensors(module))
    memo = {id(tensor): tensor.detach().clone() for tensor in kept if not tensor.is_leaf}
    return copy.deepcopy(value, memo)


def sharing_copy(module: torch.nn.Module) -> torch.nn.Module:
    """A copy of the structure with the same tensors: what a call sets, as an attribute or as an element of a list, it
    sets in the copy."""
    return copy.deepcopy(module, {id(tensor): tensor for tensor in _tensors(module)})


def _tensors(module: Any) -> Iterator[torch.Tensor]:
    for part in module.modules() if isinstance(module, torch.nn.Module) else ():
        yield from (leaf for leaf in tree_leaves(dict(vars(part))) if isinstance(leaf, torch.Tensor))
