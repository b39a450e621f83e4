"""mnc demo: from handwritten digits to the right answer on the emulated chip."""

from pathlib import Path

import click
import numpy as np
from rich.console import Console
from rich.table import Table

from mnc.core import events
from mnc.core.diagnostics import CompileError
from mnc.core.files import whole_file
from mnc.mncore_backend.target import PRECISIONS
from mnc.tools.commands.paths import GivenPath
from mnc.tools.commands.shared import cache_option


@click.command()
@click.option("-o", "--output", type=GivenPath(), default=Path("build/digits"), show_default=True,
              help="Directory for the model and its program.")  # fmt: skip
@click.option("--hidden", type=click.IntRange(min=1), default=32, show_default=True,
              help="Units of the hidden layer.")  # fmt: skip
@click.option("--epochs", type=click.IntRange(min=1), default=40, show_default=True,
              help="Passes over the training images.")  # fmt: skip
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True,
              help="Seed of the split and the weights.")  # fmt: skip
@click.option("--precision", type=click.Choice(PRECISIONS), default="pseudo-single", show_default=True,
              help="Precision of matrix products.")  # fmt: skip
@cache_option
def command(output: Path, hidden: int, epochs: int, seed: int, precision: str) -> None:
    """Train a digits classifier, compile it, run it on the emulator and compare with the ONNX reference."""
    from onnx.reference import ReferenceEvaluator

    from mnc.build_directory import load, save
    from mnc.cached_compilation import compile, report_of
    from mnc.digits import load_digits, to_onnx, train_classifier
    from mnc.options import Options
    from mnc.report import print_summary

    console = Console()
    digits = load_digits(seed)
    with events.span("stage", "training"):
        layers = train_classifier(digits, hidden, epochs, seed)
    model = to_onnx(layers, len(digits.test_labels))
    try:
        output.mkdir(parents=True, exist_ok=True)
        with whole_file(output / "model.onnx", "choose another directory with -o") as file:
            file.write(model.SerializeToString())
    except OSError as error:
        message = f"cannot write {output}: {error.strerror}"
        raise CompileError(message, hint="choose another directory with -o") from None
    console.print(f"trained on {len(digits.train_labels)} images, exported to {output / 'model.onnx'}")

    executable = compile(output / "model.onnx", Options(precision))  # pyright: ignore[reportArgumentType]
    costs = report_of(executable)
    save(executable, output, costs)
    result = load(output).run_with_statistics({"image": digits.test_images})
    reference = np.asarray(ReferenceEvaluator(model).run(None, {"image": digits.test_images})[0])  # pyright: ignore
    logits = result.outputs["logits"]

    table = Table("held-out digits", "emulator", "ONNX reference")
    shares = [float((values.argmax(1) == digits.test_labels).mean()) for values in (logits, reference)]
    table.add_row(f"accuracy on {len(digits.test_labels)} images", *(f"{share:.2%}" for share in shares))
    table.add_row("largest logit difference", f"{np.abs(logits - reference).max():.3g}", "0")
    console.print(table)
    print_summary(costs, f"{output / 'program.vsm'}, {precision}")
