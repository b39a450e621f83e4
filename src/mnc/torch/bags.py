"""Bags of embeddings, as look-ups and reductions over the elements of each bag."""

import torch

from mnc.core.diagnostics import CompileError


def embedding_bag(
    input: torch.Tensor, weight: torch.Tensor, offsets: torch.Tensor | None = None, max_norm: float | None = None,
    norm_type: float = 2, scale_grad_by_freq: bool = False, mode: str = "mean", sparse: bool = False,
    per_sample_weights: torch.Tensor | None = None, include_last_offset: bool = False, padding_idx: int | None = None,
) -> torch.Tensor:  # fmt: skip
    """``torch.nn.functional.embedding_bag`` of bags of equal size [bags, size], or of bags that begin at `offsets`."""
    torch.nn.functional.embedding_bag(
        input, weight.detach(), offsets, None, norm_type, False, mode, False,
        None if per_sample_weights is None else per_sample_weights.detach(), include_last_offset, padding_idx,
    )  # fmt: skip  # refuses what torch refuses
    if scale_grad_by_freq and weight.requires_grad:
        message = "torch scales the gradients of bags by other frequencies than those of the indices"
        raise CompileError(message, hint="leave scale_grad_by_freq out")
    rows = torch.nn.functional.embedding(input, weight, None, max_norm, norm_type, sparse=sparse)
    if per_sample_weights is not None:
        rows = rows * per_sample_weights.unsqueeze(-1)
    members = None if offsets is None else _members(offsets, input.shape[0], include_last_offset)
    if padding_idx is not None:
        counted = input != padding_idx % weight.shape[0]
        members = counted if members is None else members & counted
    if members is None:
        return {"sum": rows.sum, "mean": rows.mean, "max": rows.amax}[mode](-2)
    return _reduced(rows, members, mode)


def _members(offsets: torch.Tensor, count: int, include_last: bool) -> torch.Tensor:
    """Which of `count` elements are in which bag, [bags, count]."""
    begins, ends = offsets[:-1], offsets[1:]
    if not include_last:
        begins, ends = offsets, torch.cat([ends, torch.full((1,), count, dtype=offsets.dtype)])
    places = torch.arange(count)
    return (places >= begins.unsqueeze(1)) & (places < ends.unsqueeze(1))


def _reduced(rows: torch.Tensor, members: torch.Tensor, mode: str) -> torch.Tensor:
    """Of rows [..., count, width], those that are members [..., count]; zero where there is none."""
    if mode == "max":
        found = torch.where(members.unsqueeze(-1), rows, -torch.inf).amax(-2)
        return torch.where(members.any(-1, keepdim=True), found, 0.0)
    chosen = members.to(rows.dtype)
    total = chosen @ rows if rows.dim() == 2 else (chosen.unsqueeze(-2) @ rows).squeeze(-2)
    return total if mode == "sum" else total / chosen.sum(-1, keepdim=True).clamp(min=1)
