"""Gradients of losses that want the score of the label a margin above the others: labels are compared with classes."""

import torch

from mnc.torch.decompositions.loss import hits

_aten = torch.ops.aten
_MEAN = 1
_NONE = 0


def _per_row(grad_output: torch.Tensor, scores: torch.Tensor, reduction: int) -> torch.Tensor:
    """What each row [N, C] of scores gets of the gradient of the loss, [N, 1] or a scalar; a row is a mean."""
    share = grad_output / scores.shape[1]
    if reduction == _NONE:
        return share.reshape(-1, 1)
    return share / scores.shape[0] if reduction == _MEAN else share


def multi_margin_loss_backward(
    grad_output: torch.Tensor, self: torch.Tensor, target: torch.Tensor, p: float, margin: float,
    weight: torch.Tensor | None = None, reduction: int = 1,
) -> torch.Tensor:
    """``aten.multi_margin_loss_backward``: of ``max(0, margin - label's score + other score) ** p``."""
    scores, labels = self.reshape(-1, self.shape[-1]), target.reshape(-1)
    hit = hits(labels, scores)
    own = torch.where(hit, scores, 0.0).sum(1, keepdim=True)
    short = (margin - own + scores).clamp(min=0)
    slope = (short > 0).to(scores.dtype) if p == 1 else p * short
    slope = torch.where(hit, 0.0, slope) * _per_row(grad_output, scores, reduction)
    if weight is not None:
        slope = slope * torch.where(hit, weight, 0.0).sum(1, keepdim=True)
    return torch.where(hit, -slope.sum(1, keepdim=True), slope).reshape(self.shape)


def multilabel_margin_loss_backward(
    grad_output: torch.Tensor, self: torch.Tensor, target: torch.Tensor, reduction: int, is_target: torch.Tensor
) -> torch.Tensor:
    """``aten.multilabel_margin_loss_backward``: of ``max(0, 1 - score of a label + score of no label)``. Labels end
    with the first that is negative."""
    scores, labels = self.reshape(-1, self.shape[-1]), target.reshape(-1, self.shape[-1])
    ended = (labels < 0).to(torch.int64).cumsum(1) > 0
    labels = torch.where(ended, -1, labels)
    classes = torch.arange(scores.shape[1], dtype=labels.dtype)
    chosen = (labels.unsqueeze(2) == classes).to(scores.dtype).sum(1)  # a label that is there twice counts twice
    outside = 1 - is_target.reshape(scores.shape).to(scores.dtype)
    short = 1 - scores.unsqueeze(2) + scores.unsqueeze(1) > 0  # of every label, by every other class
    pairs = short.to(scores.dtype) * chosen.unsqueeze(2) * outside.unsqueeze(1)
    return ((pairs.sum(1) - pairs.sum(2)) * _per_row(grad_output, scores, reduction)).reshape(self.shape)


DECOMPOSITIONS = {
    _aten.multi_margin_loss_backward.default: multi_margin_loss_backward,
    _aten.multilabel_margin_loss_backward.default: multilabel_margin_loss_backward,
}
