"""Train a digits classifier with compiled steps: python examples/03_train_digits.py [epochs]

Every step (forward, loss, backward, update) is one MN-Core 2 program, run on the emulator.
"""

import sys

from mnc.training import Trainer, load_digits, make_model, training_step


def main(epochs: int = 3) -> None:
    """Print loss and accuracy after each epoch."""
    model = make_model("mlp:64-32-10", side=8)
    step = training_step(model, batch=64, optimizer="momentum", learning_rate=0.1)
    trainer = Trainer(step, load_digits())

    def report(trainer: Trainer) -> None:
        progress = trainer.progress
        print(f"epoch {progress.epoch}: loss {progress.losses[-1]:.3f}, accuracy {progress.accuracies[-1]:.1%}")

    trainer.run(epochs, on_epoch=report)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
