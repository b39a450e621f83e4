"""What Python hands over to training steps and machines that is none of their arguments."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import mnc
from mnc.mncore_backend.target import named, use
from mnc.training import make_model, training_step

MODEL: Any = make_model("mlp:8-4-3", 8)
CASES: dict[str, tuple[Callable[[], object], str]] = {
    "model of another type": (lambda: training_step(3, batch=4), "the model is a value of type int"),
    "model of bytes": (lambda: training_step(b"x", batch=4), "the model is a value of type bytes"),
    "no name": (lambda: make_model(None, 8), "the model is a value of type NoneType"),  # pyright: ignore[reportArgumentType]
    "no seed": (lambda: make_model("cnn", 8, seed=-1), "the seed is -1"),
    "batch of none": (lambda: training_step(MODEL, batch=0), "a batch of 0 samples"),
    "batch of text": (lambda: training_step(MODEL, batch="4"), "a batch of '4' samples"),  # pyright: ignore[reportArgumentType]
    "half a batch": (lambda: training_step(MODEL, batch=2.5), "a batch of 2.5 samples"),  # pyright: ignore[reportArgumentType]
    "true batch": (lambda: training_step(MODEL, batch=True), "a batch of True samples"),
    "loss": (lambda: training_step(MODEL, batch=4, loss=["mse"]), "there is no loss"),  # pyright: ignore[reportArgumentType]
    "rate": (lambda: training_step(MODEL, batch=4, learning_rate=float("nan")), "learning_rate is nan"),
    "momentum": (lambda: training_step(MODEL, batch=4, optimizer="momentum", momentum=np.inf), "momentum is inf"),
    "options": (lambda: training_step(MODEL, batch=4).compile(3), "the options are a value of type int"),  # pyright: ignore[reportArgumentType]
}


@pytest.mark.parametrize("name", CASES)
def test_steps_are_refused(name: str) -> None:
    wrong, words = CASES[name]
    with pytest.raises(mnc.CompileError, match=words.replace(".", r"\.")) as caught:
        wrong()
    assert caught.value.hint


def test_steps_take_options_as_compile_does() -> None:
    step = training_step(MODEL, batch=np.int64(4))  # pyright: ignore[reportArgumentType]
    found = step.compile({"effort": "quick", "resident": "state"})
    assert found.text == step.compile(mnc.Options(effort="quick", resident="state")).text


@pytest.mark.parametrize("machine", ["small", 3, None])
def test_machines_are_used_by_themselves(machine: Any) -> None:
    with pytest.raises(TypeError, match="is no machine"), use(machine):
        pass
    with pytest.raises(ValueError, match="there is no machine"):
        named(machine if machine != "small" else "smal")
