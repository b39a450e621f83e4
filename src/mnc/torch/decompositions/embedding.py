"""Gradients of look-ups, as products with one-hot matrices instead of scattered additions."""

import torch

_aten = torch.ops.aten


def embedding_dense_backward(
    grad_output: torch.Tensor, indices: torch.Tensor, num_weights: int, padding_idx: int, scale_grad_by_freq: bool
) -> torch.Tensor:
    """``aten.embedding_dense_backward``: every row of the table sums the gradients of the places that looked it up."""
    places = torch.arange(num_weights, dtype=indices.dtype)
    flat = indices.reshape(-1, 1)
    hits = flat == places
    if padding_idx >= 0:
        hits = hits & (flat != padding_idx)
    chosen = hits.to(grad_output.dtype)
    if scale_grad_by_freq:
        chosen = chosen / chosen.sum(0, keepdim=True).clamp(min=1)
    return _aten.mm(chosen.t(), grad_output.reshape(-1, grad_output.shape[-1]))


DECOMPOSITIONS = {_aten.embedding_dense_backward.default: embedding_dense_backward}
