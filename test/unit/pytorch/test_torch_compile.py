"""From PyTorch to the emulated chip."""

import importlib
import runpy
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mnc
from mnc.core.context import make_context
from mnc.lowering.onnx_to_graph.importer import import_model
from mnc.mncore_backend.target import CYCLES_PER_STEP
from mnc.options import Options
from mnc.report import report
from mnc.stages import stage_pipeline
from mnc.training import training_step
from mnc.training.backends import compile_program
from mnc.training.models import perceptron

torch: Any = pytest.importorskip("torch", minversion="2.13", reason="PyTorch is not installed (extra 'torch')")
export_train_step: Any = importlib.import_module("mnc.torch").export_train_step
Runner: Any = importlib.import_module("mnc.torch.proof").Runner


def test_three_steps_on_the_chip_follow_torch(capsys: pytest.CaptureFixture[str]) -> None:
    """The example compares losses and weights itself, within the bound of single precision."""
    names = runpy.run_path(str(Path(__file__).parents[3] / "examples" / "04_torch_training.py"))
    assert len(names["found"]) == 3 and names["weights"] < 1e-5
    assert "largest difference of a weight" in capsys.readouterr().out


@pytest.mark.normal_effort
def test_a_step_from_torch_costs_what_one_of_the_compiler_costs() -> None:
    """The step from torch also counts the labels that are not ignored: a sum over the batch and two reciprocals,
    whatever the widths."""
    widths, batch = (64, 32, 10), 64
    linear = [torch.nn.Linear(a, b) for a, b in pairwise(widths)]
    module = torch.nn.Sequential(linear[0], torch.nn.ReLU(), linear[1])
    sample = torch.rand(batch, widths[0]), torch.randint(0, widths[-1], (batch,))
    optimizer = torch.optim.SGD(module.parameters(), lr=0.01)
    exported = export_train_step(module, torch.nn.CrossEntropyLoss(), optimizer, sample)
    own = training_step(perceptron(widths), batch=batch, learning_rate=0.01)
    totals = [report(program)["total"] for program in (mnc.compile(exported.model), own.compile())]
    assert totals[0]["steps"] <= totals[1]["steps"] + 48
    assert totals[0]["cycles"] <= totals[1]["cycles"] + 48 * CYCLES_PER_STEP


def _convolutional() -> tuple[Any, Any, Any]:
    torch.manual_seed(0)
    module = torch.nn.Sequential(
        torch.nn.Conv2d(1, 4, 3, padding=1), torch.nn.BatchNorm2d(4), torch.nn.ReLU(), torch.nn.MaxPool2d(2),
        torch.nn.Conv2d(4, 6, 3, stride=2), torch.nn.MaxPool2d(2, 1), torch.nn.Flatten(), torch.nn.Linear(6, 5),
    )  # fmt: skip
    data, labels = torch.randn(4, 1, 11, 11), torch.randint(0, 5, (4,))
    optimizer = torch.optim.SGD(module.parameters(), lr=0.05, momentum=0.9)
    return export_train_step(module, torch.nn.CrossEntropyLoss(), optimizer, (data, labels)), data, labels


def test_convolutional_step_on_the_cpu() -> None:
    """Backward of convolutions and poolings, through all graph passes and the JIT, against the proven graph."""
    step, data, labels = _convolutional()
    inputs = {**step.initial, step.data[0]: data.numpy(), step.labels[0]: labels.numpy()}
    want = Runner(step.model).run(inputs)
    module = import_model(step.model, make_context())
    stage_pipeline("graph", Options()).run(module)
    got = compile_program(module, "cpu", Options())({name: np.asarray(value) for name, value in inputs.items()})
    assert set(got) == set(want)
    for name, value in want.items():
        np.testing.assert_allclose(got[name], value, rtol=1e-5, atol=1e-6, err_msg=name)


def test_state_of_a_step_stays_on_the_chip() -> None:
    torch.manual_seed(0)
    module = torch.nn.Sequential(torch.nn.Linear(6, 5), torch.nn.ReLU(), torch.nn.Linear(5, 3))
    data, labels = torch.randn(8, 6), torch.randint(0, 3, (8,))
    optimizer = torch.optim.SGD(module.parameters(), lr=0.1)
    step = export_train_step(module, torch.nn.CrossEntropyLoss(), optimizer, (data, labels))
    program = mnc.compile(step.model, Options("single", resident="state"))
    assert {tensor.name for tensor in program.tensors} == {step.data[0], step.labels[0], step.loss}
    inputs = {**step.initial, step.data[0]: data.numpy(), step.labels[0]: labels.numpy()}
    want, got = Runner(step.model).run(inputs), program.run(inputs)
    for name, value in want.items():
        np.testing.assert_allclose(got[name], value, rtol=1e-5, atol=1e-6, err_msg=name)


def test_a_step_of_ones_own_runs_as_the_document_says() -> None:
    """Lion with clipped gradients, which `export_train_step` refuses, and with weights that stay on the chip."""
    text = (Path(__file__).parents[3] / "docs" / "torch.md").read_text()
    _, _, section = text.partition("## Steps of one's own")
    torch.manual_seed(0)
    written: dict[str, Any] = {"torch": torch, "mnc": mnc}
    exec(section.partition("```python")[2].partition("```")[0], written)
    x, labels, weight, momentum = written["sample"]
    _, weights, _ = written["Lion"]()(x, labels, weight, momentum)
    found = written["program"].run({
        "x": x.numpy(), "labels": labels.numpy().astype(np.int32),
        "weight": weight.numpy(), "momentum": momentum.numpy(),
    })  # fmt: skip
    np.testing.assert_allclose(found["output1"], weights.detach().numpy(), rtol=1e-5, atol=1e-6)
