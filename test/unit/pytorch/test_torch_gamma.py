"""The gamma function's logarithm and its derivatives against torch, on both sides of zero."""

import importlib
from typing import Any

import pytest

torch: Any = pytest.importorskip("torch", minversion="2.13", reason="PyTorch is not installed (extra 'torch')")
gamma: Any = importlib.import_module("mnc.torch.decompositions.gamma")
mnc_torch: Any = importlib.import_module("mnc.torch")

POSITIVE = torch.cat([torch.linspace(1e-3, 12, 20011), torch.logspace(-7, 7, 501)]).double()
NEGATIVE = torch.linspace(-8.993, -0.007, 999).double()


def _error(found: Any, expected: Any) -> float:
    """The largest, relative to elements that are larger than 1."""
    return float(((found - expected).abs() / (1 + expected.abs())).max())


@pytest.mark.parametrize("x", [POSITIVE, NEGATIVE], ids=["positive", "negative"])
def test_in_double_precision(x: Any) -> None:
    assert _error(gamma.lgamma(x), torch.lgamma(x)) < 2e-9
    assert _error(gamma.digamma(x), torch.digamma(x)) < 2e-9
    assert _error(gamma.polygamma(1, x), torch.polygamma(1, x)) < 2e-9
    if bool((x > 0).all()):
        for n in (2, 3, 5):
            assert _error(gamma.polygamma(n, x[x > 0.1]), torch.polygamma(n, x[x > 0.1])) < 1e-9


def test_zeros_of_the_logarithm_keep_their_digits() -> None:
    """In single precision, where a difference of large numbers would have none left."""
    x = torch.tensor([0.99, 0.9999, 1.0, 1.0001, 1.9999, 2.0, 2.001])
    exact = torch.lgamma(x.double())
    assert bool(((gamma.lgamma(x).double() - exact).abs() <= 3e-6 * exact.abs()).all())


def test_training_of_densities() -> None:
    """Their gradients take digamma, and polygamma where they are differentiated again."""

    class Beta(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = torch.nn.Linear(3, 2)

        def forward(self, x: Any) -> Any:
            a, b = torch.nn.functional.softplus(self.inner(x)).add(0.5).unbind(1)
            beta = torch.distributions.Beta(a, b)
            slope = torch.func.grad(lambda v: torch.lgamma(v).sum())(a)
            return beta.log_prob(x[:, 0].sigmoid()) + 0.1 * beta.entropy() + 0.1 * slope

    torch.manual_seed(0)
    module, x = Beta(), torch.randn(5, 3)
    mnc_torch.export_inference(module, x)
    optimizer = torch.optim.Adam(module.parameters())
    mnc_torch.export_train_step(module, lambda y, _: -y.mean(), optimizer, (x, torch.zeros(1)))
