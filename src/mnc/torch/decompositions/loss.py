"""Losses over class labels: the label is compared with every class instead of being used as an index."""

import torch

_aten = torch.ops.aten
_MEAN = 1
_NONE = 0


def hits(labels: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
    """Whether the class is the label: labels [N, ...], scores [N, C, ...] -> bool [N, C, ...]."""
    classes = torch.arange(scores.shape[1], dtype=labels.dtype)
    return labels.unsqueeze(1) == classes.view(-1, *[1] * (scores.dim() - 2))


def _weights(weight: torch.Tensor | None, scores: torch.Tensor) -> torch.Tensor | None:
    return None if weight is None else weight.view(-1, *[1] * (scores.dim() - 2))


def row_weights(
    labels: torch.Tensor, scores: torch.Tensor, weight: torch.Tensor | None, ignore_index: int
) -> torch.Tensor:
    """Weight of every sample [N, ...]: that of its class, 0 if its label is ignored."""
    counted = (labels != ignore_index).to(scores.dtype)
    of_class = _weights(weight, scores)
    return counted if of_class is None else counted * torch.where(hits(labels, scores), of_class, 0.0).sum(1)


def nll_loss_forward(
    self: torch.Tensor, target: torch.Tensor, weight: torch.Tensor | None, reduction: int, ignore_index: int
) -> tuple[torch.Tensor, torch.Tensor]:
    """``aten.nll_loss_forward`` and its 2-d form: loss and total weight."""
    if self.dim() == 1:
        self, target = self.unsqueeze(0), target.unsqueeze(0)
    rows = row_weights(target, self, weight, ignore_index)
    picked = torch.where(hits(target, self), self, 0.0).sum(1) * rows
    if reduction == _NONE:
        return -picked, rows.new_zeros(())
    mass, total = rows.sum(), -picked.sum()  # the sign of one number, not of every sample
    return (total / mass if reduction == _MEAN else total), mass


def row_gradients(
    grad_output: torch.Tensor, labels: torch.Tensor, scores: torch.Tensor, weight: torch.Tensor | None,
    reduction: int, ignore_index: int, total_weight: torch.Tensor,
) -> torch.Tensor:
    """Minus the gradient of the score of the label, for every sample [N, 1, ...]."""
    rows = row_weights(labels, scores, weight, ignore_index)
    factor = grad_output / total_weight if reduction == _MEAN else grad_output
    return (rows * factor).unsqueeze(1)


def nll_loss_backward(
    grad_output: torch.Tensor, self: torch.Tensor, target: torch.Tensor, weight: torch.Tensor | None, reduction: int,
    ignore_index: int, total_weight: torch.Tensor,
) -> torch.Tensor:
    """``aten.nll_loss_backward`` and its 2-d form."""
    single = self.dim() == 1
    if single:
        self, target = self.unsqueeze(0), target.unsqueeze(0)
    rows = row_gradients(grad_output, target, self, weight, reduction, ignore_index, total_weight)
    result = torch.where(hits(target, self), -rows, 0.0)
    return result.squeeze(0) if single else result


def cross_entropy_backward(
    grad_output: torch.Tensor, logs: torch.Tensor, target: torch.Tensor, weight: torch.Tensor | None, reduction: int,
    ignore_index: int, total_weight: torch.Tensor,
) -> torch.Tensor:
    """Gradient of the scores below log-softmax and NLL loss together: ``(softmax - one_hot) * row gradient``.

    Equal to the two backward operators one after the other, without the sum over classes, because the one-hot rows
    of valid labels sum to 1; torch itself refuses other labels.
    """
    rows = row_gradients(grad_output, target, logs, weight, reduction, ignore_index, total_weight)
    return (logs.exp() - hits(target, logs).to(logs.dtype)) * rows


DECOMPOSITIONS = {
    _aten.nll_loss_forward.default: nll_loss_forward,
    _aten.nll_loss2d_forward.default: nll_loss_forward,
    _aten.nll_loss_backward.default: nll_loss_backward,
    _aten.nll_loss2d_backward.default: nll_loss_backward,
}
