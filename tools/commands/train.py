"""mnc train: train a model with compiled steps."""

import math
from pathlib import Path
from typing import Any

import click

from mnc.core.diagnostics import CompileError
from mnc.mncore_backend.target import PRECISIONS
from mnc.tools.commands.paths import GivenPath
from mnc.tools.commands.shared import cache_option

_RANGES = (
    ("learning_rate", "--lr", lambda x: 0 < x < math.inf, "a positive number"),
    ("momentum", "--momentum", lambda x: 0 <= x < 1, "a number from 0 to below 1"),
    ("weight_decay", "--weight-decay", lambda x: 0 <= x < math.inf, "a number from 0 on"),
    ("seed", "--seed", lambda x: x >= 0, "a number from 0 on"),
    ("image_size", "--image-size", lambda x: x > 0, "a positive number"),
)
"""Option of `Session`, on the command line, what it may be, and that in words."""


@click.command()
@click.option("--data", default="digits", show_default=True, metavar="digits|digits-augmented|mnist|FILE.npz",
              help="What to learn; digits-augmented are 60,000 moved copies of the digits.")
@click.option("--path", type=GivenPath(), help="Directory with the IDX files of MNIST.")
@click.option("--image-size", type=int, help="Scale images to N x N; default what the model takes.")
@click.option("--model", default="mlp:64-32-10", show_default=True, metavar="mlp:64-32-10|cnn|FILE.onnx",
              help="A perceptron of these widths, a small convolutional network, or your own model.")  # fmt: skip
@click.option("--epochs", default=3, show_default=True,
              help="Passes over the training images; with --resume the earlier ones count.")  # fmt: skip
@click.option("--batch", default=64, show_default=True, help="Images per step.")
@click.option("--lr", "learning_rate", default=0.1, show_default=True, help="Learning rate.")
@click.option("--optimizer", type=click.Choice(["sgd", "momentum", "adam"]), default="momentum", show_default=True,
              help="How parameters are updated.")  # fmt: skip
@click.option("--momentum", default=0.9, show_default=True, help="Decay of the velocity.")
@click.option("--weight-decay", default=0.0, show_default=True, help="Part of each weight that a step takes off.")
@click.option("--seed", default=0, show_default=True, help="Seed of weights, of the split of images, of their order.")
@click.option("--backend", default="emulator", show_default=True, metavar="emulator|cpu|cpp",
              help="Where the steps run.")
@click.option("--precision", type=click.Choice(PRECISIONS), default="pseudo-single", show_default=True,
              help="Precision of matrix products.")  # fmt: skip
@click.option("-o", "--output", type=GivenPath(), default=Path("build/train"), show_default=True,
              help="Directory for checkpoint.npz, curve.png and the trained model.onnx.")  # fmt: skip
@click.option("--resume", is_flag=True, help="Continue from the checkpoint in the output directory.")
@cache_option
def command(**options: Any) -> None:
    """Train a classifier: every step, from the batch to the updated parameters, is one compiled program."""
    from mnc.training.session import Session

    if options["data"] == "mnist" and options["path"] is None:
        raise CompileError("--data mnist needs the directory of its files", hint="add --path DIR")
    if options["data"] != "mnist" and options["path"] is not None:
        raise CompileError("--path belongs to --data mnist", hint="leave it out, or add --data mnist")
    if options["epochs"] < 1:
        raise CompileError(f"--epochs {options['epochs']} is not possible", hint="give at least 1")
    for name, option, fits, wanted in _RANGES:
        if options[name] is not None and not fits(options[name]):
            raise CompileError(f"{option} {options[name]:g} is not possible", hint=f"give {wanted}")
    Session(**options).run()
