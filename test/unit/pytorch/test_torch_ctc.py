"""Connectionist temporal classification in training steps; the export itself proves loss and gradients."""

import importlib
from typing import Any

import pytest

torch: Any = pytest.importorskip("torch", minversion="2.13", reason="PyTorch is not installed (extra 'torch')")
nn: Any = torch.nn
mnc_torch: Any = importlib.import_module("mnc.torch")
ctc: Any = importlib.import_module("mnc.torch.ctc")

STEPS, BATCH, CLASSES = 6, 3, 5
X = torch.randn(STEPS, BATCH, 4, generator=torch.Generator().manual_seed(0))
LABELS = torch.tensor([[1, 1, 3], [4, 2, 1], [2, 3, 1]])
LENGTHS, COUNTS = torch.tensor([6, 5, 4]), torch.tensor([3, 2, 1])


class Recognizer(nn.Module):
    """Scores of every step; normalized, as torch wants them, or not."""

    def __init__(self, normalized: bool = True) -> None:
        super().__init__()
        self.scores, self.normalized = nn.Linear(4, CLASSES), normalized

    def forward(self, x: Any) -> Any:
        scores = self.scores(x)
        return scores.log_softmax(-1) if self.normalized else -scores.abs() - 0.2


def _alone(scores: Any, labels: Any) -> Any:
    return nn.functional.ctc_loss(scores[:, 0], labels[0], torch.tensor(6), torch.tensor(3))


CASES: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "mean": (nn.CTCLoss(), (LABELS, LENGTHS, COUNTS)),
    "sum with another blank": (nn.CTCLoss(blank=4, reduction="sum"), (LABELS - 1, LENGTHS, COUNTS)),
    "one row after the other": (nn.CTCLoss(), (torch.tensor([1, 2, 2, 3, 3, 4]), LENGTHS, COUNTS)),
    "lengths that are numbers": (
        lambda scores, y: nn.functional.ctc_loss(scores, y, (6, 6, 6), (3, 3, 2), reduction="none").sum(), (LABELS,),
    ),
    "labels that do not fit": (nn.CTCLoss(zero_infinity=True), (LABELS, LENGTHS - 3, COUNTS)),
    "without a batch": (_alone, (LABELS,)),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("normalized", [True, False])
def test_training(name: str, normalized: bool) -> None:
    loss, labels = CASES[name]
    torch.manual_seed(0)
    module = Recognizer(normalized)
    mnc_torch.export_train_step(module, loss, torch.optim.SGD(module.parameters(), lr=0.1), (X, labels))


def test_labels_that_do_not_fit_are_never_said() -> None:
    """Two equal labels take three steps, with the blank between them."""
    scores = torch.zeros(2, 1, 3).log_softmax(-1)
    arguments = scores, torch.tensor([[1, 1]]), torch.tensor([2]), torch.tensor([2])
    assert float(ctc.ctc_loss(*arguments)) == float(nn.functional.ctc_loss(*arguments)) == float("inf")
    assert float(ctc.ctc_loss(*arguments, zero_infinity=True)) == 0
