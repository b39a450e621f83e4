"""Connectionist temporal classification, as a recursion over all steps, with masks for the lengths."""

from collections.abc import Sequence
from typing import Any

import torch

_NEVER = -1e6
"""Logarithm of a probability of 0: so small that differences of two are numbers, also where both are rounded."""


def ctc_loss(
    log_probs: torch.Tensor, targets: torch.Tensor, input_lengths: Any, target_lengths: Any, blank: int = 0,
    reduction: str = "mean", zero_infinity: bool = False,
) -> torch.Tensor:  # fmt: skip
    """``torch.nn.functional.ctc_loss`` of [steps, batch, classes], or of [steps, classes] without a batch."""
    alone = log_probs.dim() == 2
    log_probs = log_probs.unsqueeze(1) if alone else log_probs
    batch = log_probs.shape[1]
    steps, counts = _lengths(input_lengths, batch), _lengths(target_lengths, batch)
    labels = _by_row(targets, counts, target_lengths, batch)
    losses = _slope(log_probs, steps) - _log_likelihood(log_probs, labels, steps, counts, blank)
    losses = torch.where(losses > -_NEVER / 2, 0.0 if zero_infinity else torch.inf, losses)
    losses = losses.squeeze(0) if alone else losses
    if reduction == "mean":
        counts = counts.squeeze(0) if alone else counts
        return (losses / counts.clamp(min=1)).mean()
    return losses.sum() if reduction == "sum" else losses


def _lengths(given: Any, batch: int) -> torch.Tensor:
    lengths = given if isinstance(given, torch.Tensor) else torch.tensor(given)
    return lengths.reshape(-1).expand(batch)


def _by_row(targets: torch.Tensor, counts: torch.Tensor, given: Any, batch: int) -> torch.Tensor:
    """Labels [batch, most]; of one row after the other where torch is given that."""
    if targets.dim() == 2 or batch == 1:
        return targets.reshape(batch, -1)
    most = max(given) if isinstance(given, Sequence) else targets.shape[0]
    places = (counts.cumsum(0) - counts).unsqueeze(1) + torch.arange(most)
    return targets[places.clamp(max=targets.shape[0] - 1)]


def _slope(log_probs: torch.Tensor, steps: torch.Tensor) -> torch.Tensor:
    """Zeros [batch], with the part of torch's gradient that takes log_probs for results of log_softmax."""
    inside = (torch.arange(log_probs.shape[0]).unsqueeze(1) < steps).unsqueeze(-1)
    total = torch.where(inside, log_probs.exp(), 0.0).sum((0, 2))
    return total - total.detach()


def _log_likelihood(
    log_probs: torch.Tensor, labels: torch.Tensor, steps: torch.Tensor, counts: torch.Tensor, blank: int
) -> torch.Tensor:
    """Of each row [batch]: the sum over all paths through the labels with blanks between them."""
    places = torch.arange(2 * labels.shape[1] + 1)
    is_label = places % 2 == 1
    doubled = torch.stack([torch.full_like(labels, blank), labels], 2).flatten(1)
    extended = torch.cat([doubled, torch.full_like(labels[:, :1], blank)], 1)
    scores = log_probs.gather(2, extended.expand(log_probs.shape[0], -1, -1))
    skips = is_label & (extended != extended.roll(2, 1)) & (places > 1)
    state = torch.where(places < 2, scores[0], _NEVER)
    for step in range(1, log_probs.shape[0]):
        before = torch.nn.functional.pad(state, (2, 0), value=_NEVER)
        jumped = torch.where(skips, before[:, :-2], _NEVER)
        new = torch.stack([state, before[:, 1:-1], jumped]).logsumexp(0) + scores[step]
        state = torch.where((step < steps).unsqueeze(1), new.clamp(min=_NEVER), state)
    last = 2 * counts.unsqueeze(1)
    return torch.where((places == last) | (places == last - 1), state, _NEVER).logsumexp(1)
