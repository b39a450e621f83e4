"""Modules that take gradients by torch.autograd in their own forward part; the export itself proves the numbers."""

import importlib
from typing import Any

import pytest

torch: Any = pytest.importorskip("torch", minversion="2.13", reason="PyTorch is not installed (extra 'torch')")
nn: Any = torch.nn
grad: Any = torch.autograd.grad
functional: Any = torch.autograd.functional
mnc_torch: Any = importlib.import_module("mnc.torch")
errors: Any = importlib.import_module("mnc.core.diagnostics")

X = torch.randn(4, 3, generator=torch.Generator().manual_seed(0))


class Network(nn.Module):
    """A small network, and a function of it and the data."""

    def __init__(self, function: Any) -> None:
        super().__init__()
        self.layers, self.function = nn.Sequential(nn.Linear(3, 6), nn.Tanh(), nn.Linear(6, 1)), function

    def forward(self, x: Any) -> Any:
        return self.function(self.layers, x)


def _forces(layers: Any, x: Any) -> Any:
    x.requires_grad_(True)
    return -grad(layers(x).sum(), x, create_graph=True)[0]


def _residual(layers: Any, x: Any) -> Any:
    """Of a differential equation of second order."""
    x.requires_grad = True
    u = layers(x)
    first = grad(u, x, grad_outputs=torch.ones_like(u), create_graph=True)[0]
    return grad(first[:, 0].sum(), x, create_graph=True)[0][:, 0] + u[:, 0] * first[:, 1]


def _penalty(layers: Any, x: Any) -> Any:
    between = (0.3 * x + 0.7 * x.flip(0)).detach().requires_grad_(True)
    scores = layers(between)
    slope = grad(scores, between, torch.ones_like(scores), create_graph=True, retain_graph=True)[0]
    return (slope.norm(2, dim=1) - 1) ** 2 + scores.mean()


def _descent(layers: Any, x: Any) -> Any:
    """Where the network is low, and nothing of the way there."""
    with torch.enable_grad():
        place = x
        for _ in range(2):
            place = place.detach().requires_grad_(True)
            place = place - 0.1 * grad(layers(place).sum(), place)[0]
    return layers(place.detach())


CASES = {
    "forces": _forces,
    "residual": _residual,
    "penalty": _penalty,
    "descent": _descent,
    "jacobian": lambda layers, x: functional.jacobian(lambda v: layers(v).sum(0), x, create_graph=True),
    "hessian": lambda layers, x: functional.hessian(lambda v: layers(v).sum(), x[0], create_graph=True) + x[0],
    "needless": lambda layers, x: layers(x.requires_grad_()),
}


@pytest.mark.parametrize("name", CASES)
def test_inference_and_training(name: str) -> None:
    torch.manual_seed(0)
    module = Network(CASES[name])
    mnc_torch.export_inference(module, X)
    optimizer = torch.optim.Adam(module.parameters())
    step = mnc_torch.export_train_step(module, lambda y, _: (y**2).mean(), optimizer, (X, torch.zeros(1)))
    assert "layers.0.weight" in step.parameters


def _backward(layers: Any, x: Any) -> Any:
    x = x.clone().requires_grad_()
    layers(x).sum().backward()
    return x.grad


def _mapped(layers: Any, x: Any) -> Any:
    return torch.func.vmap(lambda v: grad(layers(v).sum(), v.requires_grad_())[0])(x)


REFUSED = {
    "no request": (lambda layers, x: grad(x.sum(), x)[0], "call requires_grad_() of the input, or take"),
    "backward": (_backward, "hint: take gradients by torch.autograd.grad, or by torch.func"),
    "mapped": (_mapped, "inside of a function being transformed"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_other_ways(name: str) -> None:
    function, message = REFUSED[name]
    with pytest.raises(errors.CompileError) as caught:
        mnc_torch.export_inference(Network(function), X)
    assert message in caught.value.render()
