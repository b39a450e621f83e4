"""A training run on the console: load, compile, progress bar, curve, report."""

import math
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import onnx
from onnx import numpy_helper
from rich.console import Console
from rich.progress import BarColumn, TextColumn, TimeRemainingColumn
from rich.table import Table

from mnc.core import events
from mnc.core.diagnostics import CompileError
from mnc.core.files import no_empty_directories, remove_leftovers, sole_use, whole_file
from mnc.options import Options, Precision
from mnc.progress_bar import progress_bar
from mnc.training.curve import draw_curve
from mnc.training.data import Dataset, load_augmented_digits, load_digits, load_mnist, load_npz
from mnc.training.interruption import termination_interrupts
from mnc.training.models import make_model, widths_of
from mnc.training.step import training_step
from mnc.training.trainer import Trainer

CHECKPOINT, CURVE, MODEL = "checkpoint.npz", "curve.png", "model.onnx"
_NATIVE_SIDE = {"digits": 8, "digits-augmented": 8, "mnist": 28}


@dataclass(frozen=True)
class Session:
    """The choices of `mnc train`, under the names of its options."""

    data: str
    path: Path | None
    image_size: int | None
    model: str
    epochs: int
    batch: int
    learning_rate: float
    optimizer: str
    momentum: float
    weight_decay: float
    seed: int
    backend: str
    precision: Precision
    output: Path
    resume: bool

    def run(self) -> None:
        """Train, show, save; raises CompileError for what the user can mend."""
        with no_empty_directories(self.output):
            self._check_output()
            with sole_use(self.output, "training"):
                self._run(Console())

    def _run(self, console: Console) -> None:
        data = self._data(self._side())
        classes = int(max(data.train_labels.max(), data.test_labels.max(), 1)) + 1
        side = math.isqrt(data.elements)
        model = make_model(self.model, side, classes, self.seed)
        started = time.monotonic()
        trainer = self._trainer(model, data)
        seconds = time.monotonic() - started
        counts = f"{len(data.train_images)} training and {len(data.test_images)} test images"
        console.print(f"{data.name}: {counts} of {data.elements} pixels")
        console.print(f"compiled {self.model} for backend {self.backend} in {seconds:.1f} s")
        if self.resume:
            console.print(f"continuing after {len(trainer.progress.losses)} steps")
        if trainer.progress.epoch < self.epochs:
            self._train(trainer, console)
        else:
            console.print(f"all {trainer.progress.epoch} epochs are in the checkpoint; --epochs counts these, too")
        self._finish(trainer, model, console)

    def _check_output(self) -> None:
        """What would be in the way after hours of training is told at once."""
        checkpoint = self.output / CHECKPOINT
        if self.resume and not checkpoint.exists():
            raise CompileError(f"there is no checkpoint '{checkpoint}'", hint="start without --resume")
        try:
            self.output.mkdir(parents=True, exist_ok=True)
            remove_leftovers(self.output)
            with tempfile.TemporaryFile(dir=self.output):
                pass
        except OSError as error:
            message = f"cannot write into '{self.output}': {error.strerror}"
            raise CompileError(message, hint="choose another directory with -o") from None

    def _side(self) -> int | None:
        """Image size: what is asked for, or what the perceptron takes if that is a square and the data differ."""
        widths = widths_of(self.model)
        if self.image_size is not None or widths is None or self.data not in _NATIVE_SIDE:
            return self.image_size
        side = math.isqrt(widths[0])
        return side if side * side == widths[0] and side != _NATIVE_SIDE[self.data] else None

    def _data(self, side: int | None) -> Dataset:
        if self.data == "digits":
            return load_digits(side, self.seed)
        if self.data == "digits-augmented":
            return load_augmented_digits(side, self.seed)
        if self.data == "mnist":
            assert self.path is not None  # checked by the command
            return load_mnist(self.path, side)
        if self.data.endswith(".npz"):
            return load_npz(self.data, side, self.seed)
        hint = "give digits, digits-augmented, mnist, or a file ending in .npz"
        raise CompileError(f"there is no data set '{self.data}'", hint=hint)

    def _trainer(self, model: onnx.ModelProto, data: Dataset) -> Trainer:
        numbers: dict[str, Any] = {"weight_decay": self.weight_decay}
        if self.optimizer == "momentum":
            numbers["momentum"] = self.momentum
        step = training_step(
            model, batch=self.batch, optimizer=self.optimizer, learning_rate=self.learning_rate,
            file_name=self.model, **numbers,
        )  # fmt: skip
        return Trainer(
            step, data, seed=self.seed, backend=self.backend, options=Options(self.precision),
            checkpoint=self.output / CHECKPOINT, resume=self.resume,
        )  # fmt: skip

    def _train(self, trainer: Trainer, console: Console) -> None:
        columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.completed}/{task.total} steps"),
                   TextColumn("loss {task.fields[loss]:.4f}  accuracy {task.fields[accuracy]}  {task.fields[rate]:.1f} "
                              "steps/s"), TimeRemainingColumn())  # fmt: skip
        total = self.epochs * trainer.steps_per_epoch
        started, before = time.monotonic(), len(trainer.progress.losses)
        events.emit(events.BAR, "training")
        with progress_bar(*columns) as bar, termination_interrupts():
            task = bar.add_task("training", total=total, completed=before, loss=float("nan"), accuracy="-", rate=0.0)

            def on_step(trainer: Trainer) -> None:
                losses, accuracies = trainer.progress.losses, trainer.progress.accuracies
                rate = (len(losses) - before) / max(time.monotonic() - started, 1e-9)
                accuracy = f"{accuracies[-1]:.1%}" if accuracies else "-"
                bar.update(task, completed=len(losses), loss=losses[-1], accuracy=accuracy, rate=rate)

            try:
                trainer.run(self.epochs, on_step, on_step)
            except KeyboardInterrupt:
                message = f"interrupted after {len(trainer.progress.losses)} steps"
                kept = f"{self.output / CHECKPOINT} holds the last one; go on with --resume"
                raise KeyboardInterrupt(f"{message}\n  hint: {kept}") from None
        rate = (len(trainer.progress.losses) - before) / max(time.monotonic() - started, 1e-9)
        console.print(f"{total} steps, {rate:.1f} per second")

    def _finish(self, trainer: Trainer, model: onnx.ModelProto, console: Console) -> None:
        per_epoch = trainer.steps_per_epoch
        table = Table("epoch", "mean loss", "accuracy on test images")
        for epoch, accuracy in enumerate(trainer.progress.accuracies):
            losses = trainer.progress.losses[epoch * per_epoch : (epoch + 1) * per_epoch]
            table.add_row(str(epoch + 1), f"{sum(losses) / len(losses):.4f}", f"{accuracy:.2%}")
        console.print(table)
        written = [self._save_model(trainer, model), self.output / CHECKPOINT]
        try:
            title = f"{self.model} on {self.data}, {self.optimizer}, {self.backend}"
            draw_curve(trainer.progress, per_epoch, title, self.output / CURVE)
            written.append(self.output / CURVE)
        except CompileError as error:  # a missing library is no reason to lose the run
            console.print(f"no curve: {error.message}; {error.hint or ''}")
        console.print(f"wrote {', '.join(map(str, written))}")

    def _save_model(self, trainer: Trainer, model: onnx.ModelProto) -> Path:
        trained: Any = onnx.ModelProto()
        trained.CopyFrom(model)
        for tensor in trained.graph.initializer:
            if tensor.name in trainer.state:
                tensor.CopyFrom(numpy_helper.from_array(trainer.state[tensor.name], tensor.name))
        with whole_file(self.output / MODEL) as file:
            file.write(trained.SerializeToString())
        return self.output / MODEL
