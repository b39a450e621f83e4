"""Where torch is installed: a step of the networks that `mnc train` offers, against torch's."""

import numpy as np
import pytest

from mnc.options import Options
from mnc.training import make_model, training_step
from mnc.training.backends import compile_program

torch: object = pytest.importorskip("torch")
BATCH, RATE = 6, 0.25


def torch_logits(name: str, x, p):
    import torch
    from torch.nn import functional

    if name.startswith("mlp"):
        hidden = torch.relu(x @ p["layer0.weight"].T + p["layer0.bias"])
        return hidden @ p["layer1.weight"].T + p["layer1.bias"]
    for i in range(2):
        x = functional.conv2d(x, p[f"conv{i}.weight"], p[f"conv{i}.bias"], padding=1)
        x = functional.max_pool2d(torch.relu(x), 2)
    return x.flatten(1) @ p["dense.weight"].T + p["dense.bias"]


@pytest.mark.parametrize(
    ("name", "side", "optimizer"), [("mlp:64-12-10", 8, "momentum"), ("mlp:64-12-10", 8, "adam"), ("cnn", 9, "sgd")]
)
def test_steps(name: str, side: int, optimizer: str) -> None:
    """Loss and parameters after three steps on random images."""
    import torch

    step = training_step(make_model(name, side), batch=BATCH, optimizer=optimizer, learning_rate=RATE / 10)
    program = compile_program(step.module(), "cpu", Options())
    state = dict(step.initial)
    parameters = {n: torch.tensor(state[n], requires_grad=True) for n in step.forward.parameters}
    made = {
        "sgd": lambda p: torch.optim.SGD(p, RATE / 10), "momentum": lambda p: torch.optim.SGD(p, RATE / 10, 0.9),
        "adam": lambda p: torch.optim.Adam(p, RATE / 10),
    }[optimizer](list(parameters.values()))  # fmt: skip
    rng = np.random.default_rng(0)
    for _ in range(3):
        x = rng.standard_normal(step.forward.shape).astype(np.float32)
        labels = rng.integers(0, 10, BATCH).astype(np.int32)
        outputs = program({"image": x, "labels": labels, **state})
        state = {n: outputs[o] for n, o in step.updates.items()}
        loss = torch.nn.functional.cross_entropy(
            torch_logits(name, torch.tensor(x), parameters), torch.tensor(labels, dtype=torch.int64)
        )
        made.zero_grad()
        loss.backward()
        made.step()
        np.testing.assert_allclose(outputs["loss"], loss.detach().numpy(), rtol=1e-4)
    for n, value in parameters.items():
        want = value.detach().numpy()
        np.testing.assert_allclose(state[n], want, rtol=0, atol=1e-5, err_msg=n)
