"""Every optimizer of exported training steps against torch: fresh, under way, and over many steps."""

import copy
import importlib
from typing import Any

import pytest

torch: Any = pytest.importorskip("torch", minversion="2.13", reason="PyTorch is not installed (extra 'torch')")
nn: Any = torch.nn
optim: Any = torch.optim
steps: Any = importlib.import_module("test_torch_train_step")
plan: Any = importlib.import_module("mnc.torch.optimizers").plan

OPTIMIZERS = {
    "decay": lambda p: optim.SGD(p, lr=0.1, weight_decay=0.01, maximize=True),
    "momentum": lambda p: optim.SGD(p, lr=0.1, momentum=0.9, weight_decay=0.01),
    "damped": lambda p: optim.SGD(p, lr=0.1, momentum=0.9, dampening=0.5, weight_decay=0.01),
    "adam": lambda p: optim.Adam(p, lr=0.01, betas=(0.8, 0.99), weight_decay=0.1),
    "amsgrad": lambda p: optim.AdamW(p, lr=0.01, amsgrad=True),
    "adamax": lambda p: optim.Adamax(p, lr=0.01, weight_decay=0.1),
    "adamax, forgetting": lambda p: optim.Adamax(p, lr=0.01, betas=(0.5, 0.6), maximize=True),
    "nadam": lambda p: optim.NAdam(p, lr=0.01, betas=(0.8, 0.9), weight_decay=0.1),
    "nadam, decoupled": lambda p: optim.NAdam(
        p, lr=0.01, momentum_decay=0.1, weight_decay=0.1, decoupled_weight_decay=True, maximize=True
    ),
    "radam": lambda p: optim.RAdam(p, lr=0.01, betas=(0.7, 0.9999), weight_decay=0.1),
    "radam, decoupled": lambda p: optim.RAdam(
        p, lr=0.01, betas=(0.7, 0.9), weight_decay=0.1, decoupled_weight_decay=True, maximize=True
    ),
    "radam, never long": lambda p: optim.RAdam(p, lr=0.01, betas=(0.9, 0.6)),
    "rmsprop": lambda p: optim.RMSprop(p, lr=0.01, weight_decay=0.01),
    "centred": lambda p: optim.RMSprop(p, lr=0.01, alpha=0.9, momentum=0.9, centered=True, eps=1e-2),
    "adagrad": lambda p: optim.Adagrad(p, lr=0.01, weight_decay=0.01, initial_accumulator_value=0.1),
    "adagrad, slowing": lambda p: optim.Adagrad(p, lr=0.1, lr_decay=0.5, maximize=True),
    "adadelta": lambda p: optim.Adadelta(p, weight_decay=0.1),
    "adadelta, forgetting": lambda p: optim.Adadelta(p, lr=0.5, rho=0.5, eps=1e-3, maximize=True),
    "asgd": lambda p: optim.ASGD(p, lr=0.1, lambd=0.1, alpha=0.9, t0=2, weight_decay=0.1),
    "asgd, not averaging": lambda p: optim.ASGD(p, maximize=True),
    "rprop": lambda p: optim.Rprop(p, lr=0.1, etas=(0.3, 1.5), step_sizes=(0.05, 0.2), maximize=True),
    "adafactor": lambda p: optim.Adafactor(p),
    "adafactor, without a limit": lambda p: optim.Adafactor(
        p, lr=0.5, beta2_decay=-0.5, eps=(1e-8, 1e-2), d=1.5, weight_decay=0.1, maximize=True
    ),
    "groups": lambda p: optim.Adam([{"params": p[:2]}, {"params": p[2:], "lr": 0.1, "eps": 1e-3}], lr=0.01),
    "groups that count": lambda p: optim.NAdam([{"params": p[:2]}, {"params": p[2:], "lr": 0.1}], lr=0.01),
}


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_fresh_and_under_way(name: str) -> None:
    module, sample = steps._perceptron(6, 5, 3, 8)
    optimizer = OPTIMIZERS[name](list(module.parameters()))
    fresh = copy.deepcopy((module, optimizer))
    steps._check(*fresh, sample, steps=9)
    for _ in range(7):  # the average of RAdam is long by then
        steps._trained(module, nn.CrossEntropyLoss(), optimizer, [sample])
    steps._check(module, optimizer, sample)  # its state is that of training so far


@pytest.mark.parametrize("name", ["adam", "adamax", "nadam", "radam", "asgd", "adagrad, slowing"])
def test_many_steps_in_single_precision(name: str) -> None:
    """State that stands for the number of steps stays what that number says."""
    gradients = torch.randn(800, 5, generator=torch.Generator().manual_seed(0))
    exact = nn.Parameter(torch.ones(5, dtype=torch.float64))
    optimizer = OPTIMIZERS[name]([exact])
    value = nn.Parameter(torch.ones(5))
    planned = plan(OPTIMIZERS[name]([value]), {"value": value})
    values, state = {"value": value.detach()}, planned.state
    for gradient in gradients:
        exact.grad = gradient.double()
        optimizer.step()
        values, state = planned.apply(values, {"value": gradient}, state)
    torch.testing.assert_close(values["value"], exact.detach().float(), rtol=1e-4, atol=1e-5)


def test_parameters_that_have_taken_different_numbers_of_steps() -> None:
    errors: Any = importlib.import_module("mnc.core.diagnostics")
    module, sample = steps._perceptron(6, 5, 3, 8)
    optimizer = optim.NAdam(module.parameters())
    module[0].requires_grad_(False)
    steps._trained(module, nn.CrossEntropyLoss(), optimizer, [sample])
    module[0].requires_grad_(True)
    with pytest.raises(errors.CompileError, match="have taken different numbers of steps"):
        steps.export(module, nn.CrossEntropyLoss(), optimizer, sample)
