"""Integers that a module writes down: a trace sees tensors without values, and lengths of sequences decide shapes."""

from typing import Any

import torch

_MADE_OF = (torch.tensor, torch.as_tensor, torch.LongTensor, torch.IntTensor)
_KEEPING = (
    torch.Tensor.to, torch.Tensor.cpu, torch.Tensor.long, torch.Tensor.int, torch.Tensor.clone, torch.Tensor.detach,
    torch.clone, torch.as_tensor,
)  # fmt: skip
_SORTING = (torch.sort, torch.Tensor.sort)


class KnownNumbers:
    """The tensors of one dimension, of integers, whose values are written in the module; known by identity."""

    def __init__(self) -> None:
        self._known: list[tuple[torch.Tensor, list[int]]] = []

    def of(self, tensor: Any) -> list[int] | None:
        """The values of a tensor, None if they are not known."""
        return next((values for known, values in self._known if known is tensor), None)

    def note(self, function: Any, arguments: Any, options: Any, found: Any) -> None:
        """Keep what a call tells: its result has the numbers that it was given, or those of a tensor, or sorted."""
        given = arguments[0] if arguments else None
        if function in _MADE_OF and isinstance(given, list | tuple):
            if given and all(isinstance(value, int) and not isinstance(value, bool) for value in given):
                self._known.append((found, list(given)))
            return
        values = self.of(given)
        if values is None:
            return
        if function in _KEEPING and isinstance(found, torch.Tensor):
            self._known.append((found, values))
        elif function in _SORTING:
            descends = options.get("descending", arguments[2] if len(arguments) > 2 else False)
            self._known.append((found[0], sorted(values, reverse=bool(descends))))


__all__ = ["KnownNumbers"]
