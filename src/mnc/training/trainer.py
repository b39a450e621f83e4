"""The training loop: seeded batches, one program run per step, accuracy after each epoch, checkpoints."""

import hashlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from mnc.core.diagnostics import CompileError
from mnc.options import Options
from mnc.training.backends import compile_program, compile_step
from mnc.training.checkpoint import Progress, load_checkpoint, save_checkpoint
from mnc.training.data import Dataset
from mnc.training.interruption import interruption_waits
from mnc.training.step import TrainingStep, forward_module

StepListener = Callable[["Trainer"], None]


class Trainer:
    """Trains one model on one data set; the same arguments give the same bits, also across an interruption.

    Samples are drawn without replacement in an order that depends on seed and epoch; those that do not fill a batch
    at the end of an epoch are left out of it.
    """

    def __init__(
        self,
        step: TrainingStep,
        data: Dataset,
        *,
        seed: int = 0,
        backend: str = "emulator",
        options: Options | None = None,
        checkpoint: Path | None = None,
        resume: bool = False,
    ) -> None:
        """Compile the step and its forward model, with `resume` to continue from the checkpoint.

        Raises:
            CompileError: data, model and checkpoint do not fit; before anything is compiled.
        """
        self.step, self.data, self.seed, self.checkpoint = step, data, seed, checkpoint
        self._check()
        chosen = options or Options()
        self.settings = {**step.settings, "seed": seed, "backend": backend, "precision": chosen.precision,
                         "data": data.name, "samples": _digest(data)}  # fmt: skip
        # State and progress that belong together; one assignment replaces both, so that nothing ever separates them.
        self._safe = dict(step.initial), Progress()
        self._progress = self._safe[1]  # of the stepper, which may be steps ahead
        self._orders: dict[int, np.ndarray] = {}  # of this epoch and the next one
        self._running = False  # whether the stepper holds the state that belongs to the progress
        if resume:
            self.resume()
        self._stepper = compile_step(step, backend, chosen)
        self._forward = compile_program(forward_module(step.forward), backend, chosen)

    def _check(self) -> None:
        forward, data = self.step.forward, self.data
        wanted = int(np.prod(forward.shape[1:]))
        if data.elements != wanted:
            shape = f"{'x'.join(map(str, forward.shape[1:]))} = " if len(forward.shape) > 2 else ""
            message = f"the model takes {shape}{wanted} values per image, the images have {data.elements}"
            raise CompileError(message, hint="give a fitting --image-size, or a model of that input width")
        if self.step.settings["loss"] != "cross-entropy":
            raise CompileError("a data set of labels is trained with cross entropy", hint="use loss='cross-entropy'")
        data.check_classes(forward.classes)
        if len(data.train_images) < self.step.batch:
            message = f"a batch of {self.step.batch} is more than the {len(data.train_images)} training images"
            raise CompileError(message, hint="choose a smaller batch")

    @property
    def state(self) -> dict[str, np.ndarray]:
        """Parameters and optimizer state by input name, after the last complete step."""
        if self._running and self._safe[1] is not self._progress:
            self._safe = self._stepper.state(), self._progress
        return self._safe[0]

    @property
    def progress(self) -> Progress:
        """Finished epochs, steps, losses and accuracies."""
        return self._progress

    @property
    def steps_per_epoch(self) -> int:
        """Full batches in the training images."""
        return len(self.data.train_images) // self.step.batch

    def resume(self) -> None:
        """Continue from the checkpoint; raises CompileError if it does not fit this run."""
        assert self.checkpoint is not None
        self._safe = load_checkpoint(self.checkpoint, self._safe[0], self.settings, self.steps_per_epoch)
        self._progress, self._running = self._safe[1], False

    def save(self) -> None:
        """Write the checkpoint, where one is wanted: of the last complete step, or of the last one whose state is known
        if that was lost in the middle of another."""
        if self.checkpoint is not None:
            state = self.state
            save_checkpoint(self.checkpoint, state, self._safe[1], self.settings)

    def run(self, epochs: int, on_step: StepListener | None = None, on_epoch: StepListener | None = None) -> None:
        """Train until `epochs` epochs are finished, counting those before a resumption.

        An interruption (Ctrl-C) waits for the end of a step and leaves a checkpoint of it.

        Raises:
            CompileError: the loss is no number any more.
        """
        try:
            while self.progress.epoch < epochs:
                for _ in range(self.progress.position, self.steps_per_epoch):
                    self._train()
                    if on_step is not None:
                        on_step(self)
                self._finish_epoch()
                if on_epoch is not None:
                    on_epoch(self)
        except KeyboardInterrupt:
            self.save()
            raise

    def _order(self, epoch: int) -> np.ndarray:
        """All training samples in the order of an epoch."""
        if epoch not in self._orders:
            shuffled = np.random.default_rng([self.seed, epoch]).permutation(len(self.data.train_images))
            kept = {known: order for known, order in self._orders.items() if known + 1 == epoch}
            self._orders = {**kept, epoch: shuffled}
        return self._orders[epoch]

    def _batch(self, ahead: int) -> dict[str, np.ndarray]:
        """The batch of this step (0) or the next one (1), which may be of the next epoch."""
        forward, now = self.step.forward, self.progress
        later, position = divmod(now.position + ahead, self.steps_per_epoch)
        start = position * self.step.batch
        indices = self._order(now.epoch + later)[start : start + self.step.batch]
        return {
            forward.data: self.data.train_images[indices].reshape(forward.shape),
            self.step.labels: self.data.train_labels[indices],
        }

    def _train(self) -> None:
        batch, following = self._batch(0), self._batch(1)
        with interruption_waits():
            if not self._running:
                self._stepper.start(self._safe[0])
            self._running = False  # until the step is whole
            loss = float(self._stepper.step(batch, following)[self.step.loss].reshape(()))
            if not np.isfinite(loss):
                done = len(self.progress.losses)
                message = f"the loss is {loss} in step {done + 1}"
                raise CompileError(message, hint="use a smaller learning rate; the last checkpoint is from before")
            now = self.progress
            self._progress = replace(now, losses=[*now.losses, loss], position=now.position + 1)
            self._running = True

    def _finish_epoch(self) -> None:
        accuracy, state, now = self.accuracy(), self.state, self.progress
        self._progress = replace(now, accuracies=[*now.accuracies, accuracy], epoch=now.epoch + 1, position=0)
        self._safe = state, self._progress
        self.save()

    def logits(self, images: np.ndarray) -> np.ndarray:
        """Outputs [n, classes] of the model with the parameters of now; images [n, elements]."""
        forward, found = self.step.forward, []
        state = self.state
        parameters = {name: state[name] for name in forward.parameters}
        for start in range(0, len(images), forward.batch):
            part = images[start : start + forward.batch]
            full = np.zeros((forward.batch, images.shape[1]), np.float32)
            full[: len(part)] = part
            outputs = self._forward({forward.data: full.reshape(forward.shape), **parameters})
            found.append(outputs[forward.output][: len(part)])
        return np.concatenate(found)

    def accuracy(self) -> float:
        """Share of test images that are classified correctly now."""
        return float((self.logits(self.data.test_images).argmax(1) == self.data.test_labels).mean())


def _digest(data: Dataset) -> str:
    """Short fingerprint of the data, so that a run is not continued on other images."""
    digest = hashlib.sha256()
    parts: list[Any] = [data.train_images, data.train_labels, data.test_images, data.test_labels]
    for array in parts:
        digest.update(str(array.shape).encode())
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()[:16]
