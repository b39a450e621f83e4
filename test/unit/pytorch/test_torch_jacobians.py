"""Derivatives that a module takes itself, by the functions of torch.func; each export proves them against torch."""

import importlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import mnc

torch: Any = pytest.importorskip("torch", minversion="2.13", reason="PyTorch is not installed (extra 'torch')")
func: Any = importlib.import_module("torch.func")
exports: Any = importlib.import_module("mnc.torch")
nn: Any = torch.nn


class Differentiated(nn.Module):
    """Something of a small network."""

    def __init__(self, take: Callable[[Any, Any], Any]) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.net, self.take = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2)), take

    def forward(self, x: Any) -> Any:
        return self.take(self.net, x)


def _scalar(net: Any) -> Callable[[Any], Any]:
    """Its products with itself have second derivatives in which torch adds zeros that it knows to be zeros."""
    return lambda x: (net(x) ** 2).sum()


DERIVATIVES: dict[str, Callable[[Any, Any], Any]] = {
    "backwards": lambda net, x: func.jacrev(net)(x[0]),
    "forwards": lambda net, x: func.jacfwd(net)(x[0]),
    "twice": lambda net, x: func.hessian(_scalar(net))(x[0]),
    "backwards twice": lambda net, x: func.jacrev(func.jacrev(_scalar(net)))(x[0]),
    "of each sample": lambda net, x: func.vmap(func.jacrev(net))(x),
    "forwards of each sample": lambda net, x: func.vmap(func.jacfwd(net))(x),
    "twice of each sample": lambda net, x: func.vmap(func.hessian(_scalar(net)))(x),
    "by parts": lambda net, x: func.vmap(func.jacrev(net, chunk_size=1))(x),
    "of several outputs": lambda net, x: func.jacrev(lambda y: (net(y), y.sum()))(x[0]),
    "of parameters": lambda net, x: func.jacrev(lambda p: func.functional_call(net, p, (x,)).sum(0))(
        dict(net.named_parameters())
    )["0.weight"],
    "of a normalisation": lambda net, x: func.vmap(func.jacrev(lambda y: nn.functional.layer_norm(net(y), (2,))))(x),
    "a product with it": lambda net, x: func.jvp(func.grad(_scalar(net)), (x,), (x,))[1],
}  # fmt: skip


@pytest.mark.parametrize("name", DERIVATIVES)
def test_inference(name: str) -> None:
    exports.export_inference(Differentiated(DERIVATIVES[name]), torch.randn(5, 3))


@pytest.mark.parametrize("name", ["backwards", "twice of each sample"])
def test_training(name: str) -> None:
    module = Differentiated(DERIVATIVES[name])
    optimizer = torch.optim.SGD(module.parameters(), lr=0.1)
    loss = lambda found, y: ((found - y.mean()) ** 2).mean()  # noqa: E731
    exports.export_train_step(module, loss, optimizer, (torch.randn(5, 3),) * 2)


@pytest.mark.parametrize("name", ["forwards", "twice of each sample"])
def test_on_the_chip(name: str) -> None:
    module, x = Differentiated(DERIVATIVES[name]), torch.randn(5, 3)
    program = mnc.compile(exports.export_inference(module, x), mnc.Options("single"))
    np.testing.assert_allclose(program.run({"x": x.numpy()})["output"], module(x).detach(), rtol=1e-4, atol=1e-5)
