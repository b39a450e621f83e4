"""Fourier transforms and complex numbers inside of a module; each export proves them against torch."""

import importlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import mnc
from mnc.core.diagnostics import CompileError

torch: Any = pytest.importorskip("torch", minversion="2.13", reason="PyTorch is not installed (extra 'torch')")
exports: Any = importlib.import_module("mnc.torch")
nn: Any = torch.nn
fft: Any = importlib.import_module("torch.fft")


class Behind(nn.Module):
    """A function of what a layer gives."""

    def __init__(self, function: Callable[[Any], Any]) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.inner, self.function = nn.Linear(6, 6), function

    def forward(self, x: Any) -> Any:
        return self.function(self.inner(x))


X = torch.randn(5, 6, generator=torch.Generator().manual_seed(1))
TURNS = torch.polar(torch.ones(5, 3), torch.randn(5, 3, generator=torch.Generator().manual_seed(2)))


def _arithmetic(x: Any) -> Any:
    z = torch.complex(x, x.flip(0) + 3)
    quotient = (z * z.conj() + 2 - 1j) / z + z**2 - 3 * z + 1 / z
    return quotient.abs() + torch.exp(0.1 * z).real + (z @ z.T).imag.sum() + (z**0.5).real


def _filtered(x: Any) -> Any:
    """The lowest frequencies, put among zeros."""
    found = torch.zeros(5, 4, dtype=torch.complex64)
    found[:, :2] = fft.rfft(x)[:, :2] * torch.tensor([1.0, 0.5 - 0.5j])
    return fft.irfft(found, n=6)


def _filled(x: Any) -> Any:
    """Numbers are put among complex ones: they have no imaginary part, unless they say so."""
    z = fft.fft(x)
    z = torch.where(x > 1, torch.ones_like(z), z.masked_fill(x < 0, 2.0) + torch.full_like(z, 1 - 1j))
    return torch.view_as_real(nn.functional.pad(z, (0, 2), value=1.0))


FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "spectra": lambda x: torch.view_as_real(fft.rfft(x)),
    "of columns": lambda x: fft.rfft(x, dim=0, norm="ortho").abs(),
    "back": lambda x: fft.irfft(fft.rfft(x) * fft.rfft(2 * x.flip(0)).conj(), n=6),
    "of other lengths": lambda x: fft.irfft(fft.rfft(x, n=9), n=5, norm="forward"),
    "both halves": lambda x: fft.fft(x).real + fft.fft(x, dim=0).imag + fft.ifft(x).imag,
    "images": lambda x: fft.fft2(x).abs() + fft.ifft2(2 * fft.fft2(x)).real,
    "half images": lambda x: fft.irfft2(0.5 * fft.rfft2(x), s=(5, 6)),
    "angles": lambda x: fft.rfft(x)[:, 1:3].angle().cos(),
    "shifted": lambda x: fft.fftshift(fft.fft(x)).abs() * fft.fftfreq(6) + fft.rfftfreq(11),
    "frames": lambda x: torch.stft(x, 4, 2, window=torch.hann_window(4), return_complex=True).abs(),
    "arithmetic": _arithmetic,
    "filtered": _filtered,
    "filled": _filled,
    "turned": lambda x: torch.view_as_real(torch.view_as_complex(x.reshape(5, 3, 2)) * TURNS).flatten(-2),
    "polar": lambda x: torch.polar(x.exp(), x).real + torch.polar(x.exp(), x).imag,
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_inference_and_training(name: str) -> None:
    module = Behind(FUNCTIONS[name])
    exports.export_inference(module, X)
    optimizer = torch.optim.SGD(module.parameters(), lr=0.01)
    exports.export_train_step(module, nn.MSELoss(), optimizer, (X, torch.zeros_like(module(X))))


@pytest.mark.parametrize("name", ["back", "turned"])
def test_on_the_chip(name: str) -> None:
    module = Behind(FUNCTIONS[name])
    program = mnc.compile(exports.export_inference(module, X), mnc.Options("single"))
    np.testing.assert_allclose(program.run({"x": X.numpy()})["output"], module(X).detach(), rtol=1e-4, atol=1e-4)


def test_what_has_no_real_form() -> None:
    with pytest.raises(CompileError, match="the module returns complex numbers"):
        exports.export_inference(Behind(fft.fft), X)
    with pytest.raises(CompileError, match="is not supported for complex numbers, in the forward method of Behind"):
        exports.export_inference(Behind(lambda x: fft.fft(x).sin().real), X)
    module = Behind(lambda x: x)
    module.register_buffer("turns", TURNS)
    with pytest.raises(CompileError, match="'turns' is complex"):
        exports.export_inference(module, X)
