"""Masks of PyTorch as its own exporters write them: results with as many rows as a run finds."""

import importlib.util
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

import mnc

torch = pytest.importorskip("torch")


class Places(torch.nn.Module):
    def forward(self, x: Any) -> Any:
        return torch.nonzero(x > 0.3)


class Elements(torch.nn.Module):
    def forward(self, x: Any) -> Any:
        return x[x > 0.3]


class Rows(torch.nn.Module):
    """One mask for two tensors, a layer and a sum behind it."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = torch.nn.Linear(5, 3)

    def forward(self, x: Any) -> Any:
        keep = x[:, 0] > 0
        kept = torch.relu(x[keep]) + (2 * x)[keep]
        return self.layer(kept).softmax(-1), kept.sum()


class Values(torch.nn.Module):
    def forward(self, x: Any) -> Any:
        return torch.unique((2 * x).to(torch.int32))


@pytest.mark.parametrize("dynamo", [False, True])
@pytest.mark.parametrize("kind", [Places, Elements, Rows, Values])
def test_exported_masks(kind: Any, dynamo: bool, tmp_path: Path) -> None:
    if dynamo and importlib.util.find_spec("onnxscript") is None:
        pytest.skip("this exporter of PyTorch needs onnxscript")
    torch.manual_seed(0)
    module, path = kind().eval(), tmp_path / "model.onnx"
    torch.onnx.export(module, (torch.randn(7, 5),), str(path), dynamo=dynamo, verbose=False)
    executable = mnc.compile(onnx.load(path), {"precision": "single"})
    for sample in (torch.randn(7, 5), torch.full((7, 5), -1.0), torch.full((7, 5), 1.0)):
        with torch.no_grad():
            wanted = module(sample)
        found = executable.run({executable.inputs[0].name: sample.numpy()}).values()
        for got, want in zip(found, wanted if isinstance(wanted, tuple) else (wanted,), strict=True):
            assert got.shape == tuple(want.shape)
            np.testing.assert_allclose(got, want.numpy(), 1e-5, 1e-5)
