"""NegativeLogLikelihoodLoss for the reference evaluator.

The evaluator of ONNX takes an ignored class -1 for the lack of one where there are no weights: its targets are counted
in the mean.
"""

from typing import Any

import numpy as np
from onnx.reference.ops import op_negative_log_likelihood_loss


class NegativeLogLikelihoodLoss(op_negative_log_likelihood_loss.NegativeLogLikelihoodLoss):
    """The mean is that of targets which are not ignored, whatever number says so."""

    def _run(self, x: np.ndarray, target: np.ndarray, weight: Any = None, ignore_index: int | None = None,
             reduction: str | None = None) -> Any:  # fmt: skip
        if weight is None and ignore_index is not None:
            weight = np.ones(x.shape[1], x.dtype)
        return super()._run(x, target, weight, ignore_index=ignore_index, reduction=reduction)
