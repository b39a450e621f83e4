"""Training on the emulator beside float32 numpy with the same seed: loss curves, accuracies, steps per second."""

import sys
import time
from typing import Any

import numpy as np

from benchmarks.results import write_results
from mnc.training import Trainer, make_model, training_step
from mnc.training.data import Dataset, load_augmented_digits, load_digits

RUNS: dict[str, dict[str, Any]] = {
    "1024-16-16 batch 256 lr 0.01": {"widths": [1024, 16, 16], "batch": 256, "epochs": 10, "side": 32},
    "1024-16-16 batch 256 lr 0.01, 60,000 images": {
        "widths": [1024, 16, 16], "batch": 256, "epochs": 10, "side": 32, "load": load_augmented_digits,
    },
    "784-16-10 batch 50 lr 0.01": {"widths": [784, 16, 10], "batch": 50, "epochs": 10, "side": 28},
    "784-16-10 batch 100 lr 0.01": {"widths": [784, 16, 10], "batch": 100, "epochs": 10, "side": 28},
    "784-16-10 batch 256 lr 0.01": {"widths": [784, 16, 10], "batch": 256, "epochs": 10, "side": 28},
    "64-32-10 batch 64 lr 0.1": {"widths": [64, 32, 10], "batch": 64, "epochs": 20, "side": 8, "rate": 0.1},
}  # fmt: skip


class Reference:
    """Plain gradient descent of a perceptron in float32, with the parameters and batches of a trainer."""

    def __init__(self, trainer: Trainer, layers: int, rate: float) -> None:
        self.trainer, self.rate = trainer, np.float32(rate)
        state = trainer.step.initial
        self.layers = [[state[f"layer{i}.{key}"].copy() for key in ("weight", "bias")] for i in range(layers)]

    def _forward(self, images: np.ndarray) -> list[np.ndarray]:
        values = [images]
        for i, (weight, bias) in enumerate(self.layers):
            product = values[-1] @ weight.T + bias
            values.append(product if i == len(self.layers) - 1 else np.maximum(product, 0))
        return values

    def step(self, images: np.ndarray, labels: np.ndarray) -> float:
        values, rows = self._forward(images), np.arange(len(images))
        shares = np.exp(values[-1] - values[-1].max(1, keepdims=True))
        shares /= shares.sum(1, keepdims=True)
        loss = -np.log(shares[rows, labels]).mean()
        shares[rows, labels] -= 1
        back = shares / np.float32(len(images))
        for (weight, bias), entry in zip(reversed(self.layers), reversed(values[:-1]), strict=True):
            before = (back @ weight) * (entry > 0)
            weight -= self.rate * (back.T @ entry)
            bias -= self.rate * back.sum(0)
            back = before
        return float(loss)

    def run(self, epochs: int) -> tuple[list[float], list[float]]:
        data, batch = self.trainer.data, self.trainer.step.batch
        losses, accuracies = [], []
        for epoch in range(epochs):
            order = np.random.default_rng([self.trainer.seed, epoch]).permutation(len(data.train_images))
            for start in range(0, len(order) - batch + 1, batch):
                chosen = order[start : start + batch]
                losses.append(self.step(data.train_images[chosen], data.train_labels[chosen]))
            found = self._forward(data.test_images)[-1].argmax(1)
            accuracies.append(float((found == data.test_labels).mean()))
        return losses, accuracies


def measure(widths: list[int], batch: int, epochs: int, side: int, rate: float = 0.01, load: Any = load_digits) -> Any:
    """Figures of one run; curves are means over an epoch."""
    data: Dataset = load(side)
    step = training_step(make_model("mlp:" + "-".join(map(str, widths)), side), batch=batch, learning_rate=rate)
    trainer = Trainer(step, data)
    started = time.perf_counter()
    trainer.run(epochs)
    seconds = time.perf_counter() - started
    losses, accuracies = Reference(trainer, len(widths) - 1, rate).run(epochs)
    own = np.array(trainer.progress.losses)
    per_epoch = trainer.steps_per_epoch

    def curve(values: Any) -> list[float]:
        return [round(float(np.mean(values[i : i + per_epoch])), 5) for i in range(0, len(values), per_epoch)]

    return {
        "steps": len(own),
        "steps_per_second": round(len(own) / seconds, 2),
        "loss": curve(own),
        "reference_loss": curve(losses),
        "largest_relative_difference_of_a_loss": float(np.abs(own / losses - 1).max()),
        "accuracy": trainer.progress.accuracies,
        "reference_accuracy": accuracies,
        "largest_difference_of_accuracy": float(np.abs(np.subtract(trainer.progress.accuracies, accuracies)).max()),
    }


def main() -> None:
    """Train the runs that are named on the command line, or all, and write benchmarks/results/training.json."""
    names = sys.argv[1:] or list(RUNS)
    results = {}
    for name in names:
        results[name] = measure(**RUNS[name])
        print(name, results[name], flush=True)
    print(write_results("training", results))


if __name__ == "__main__":
    main()
