"""The loss and accuracy of a run as a picture."""

from pathlib import Path

from mnc.core.diagnostics import CompileError
from mnc.core.files import cannot_write, whole_file
from mnc.training.checkpoint import Progress


def draw_curve(progress: Progress, steps_per_epoch: int, title: str, path: Path) -> None:
    """Write a PNG: loss per step on the left axis, test accuracy per epoch on the right one.

    Raises:
        CompileError: matplotlib is missing, or the file cannot be written.
    """
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        raise CompileError("the curve needs matplotlib", hint="pip install 'mnc[train]'") from None
    figure = Figure(figsize=(8, 4.5), layout="constrained")
    FigureCanvasAgg(figure)
    loss = figure.add_subplot()
    steps = [(i + 1) / steps_per_epoch for i in range(len(progress.losses))]
    loss.plot(steps, progress.losses, color="tab:blue", linewidth=1, label="loss")
    loss.set(xlabel="epoch", ylabel="loss (cross entropy)", title=title, ylim=(0, None))
    accuracy = loss.twinx()
    epochs = range(1, len(progress.accuracies) + 1)
    accuracy.plot(epochs, [100 * a for a in progress.accuracies], color="tab:orange", marker="o", label="accuracy")
    accuracy.set(ylabel="accuracy on test images (%)", ylim=(0, 100))
    figure.legend(loc="outside lower center", ncols=2)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise cannot_write(path, error) from None
    with whole_file(path) as file:
        figure.savefig(file, dpi=120, format=path.suffix.removeprefix(".") or "png")
