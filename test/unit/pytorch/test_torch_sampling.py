"""Samples of images at computed places, and bags of embeddings; each export proves them against torch."""

import importlib
from typing import Any

import numpy as np
import pytest

import mnc
from mnc.core.diagnostics import CompileError

torch: Any = pytest.importorskip("torch", minversion="2.13", reason="PyTorch is not installed (extra 'torch')")
exports: Any = importlib.import_module("mnc.torch")
nn: Any = torch.nn
F: Any = nn.functional


def _rand(*shape: int) -> Any:
    return torch.randn(shape, generator=torch.Generator().manual_seed(sum(shape)))


def _train(module: Any, data: Any) -> None:
    target = _rand(*module(*data).shape)
    optimizer = torch.optim.SGD(module.parameters(), lr=0.1)
    exports.export_train_step(module, nn.MSELoss(), optimizer, (data, target))


def _agrees_on_the_chip(module: Any, **inputs: Any) -> None:
    program = mnc.compile(exports.export_inference(module, tuple(inputs.values())), mnc.Options("single"))
    found = program.run({
        name: value.numpy().astype(np.float32 if value.is_floating_point() else np.int32)
        for name, value in inputs.items()
    })  # fmt: skip
    np.testing.assert_allclose(found["output"], module(*inputs.values()).detach(), rtol=1e-4, atol=1e-5)


class Sampled(nn.Module):
    """An image, sampled at places of which some are outside; both have a gradient."""

    def __init__(self, rank: int = 2, **options: Any) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.image, self.places, self.options = nn.Linear(5, 5), nn.Linear(rank, rank), options

    def forward(self, x: Any, grid: Any) -> Any:
        return F.grid_sample(self.image(x), self.places(grid), **self.options)


IMAGE, GRID = _rand(2, 2, 4, 5), 1.5 * _rand(2, 3, 2, 2)


@pytest.mark.parametrize("corners", [False, True])
@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("mode", ["bilinear", "nearest", "bicubic"])
def test_images(mode: str, padding: str, corners: bool) -> None:
    module = Sampled(mode=mode, padding_mode=padding, align_corners=corners)
    model = exports.export_inference(module, (IMAGE, GRID))
    assert [node.op_type for node in model.graph.node].count("GridSample") == 1
    _train(module, (IMAGE, GRID))


def test_volumes() -> None:
    module, data = Sampled(3, align_corners=True), (_rand(1, 2, 3, 4, 5), _rand(1, 2, 2, 2, 3))
    exports.export_inference(module, data)
    _train(module, data)


def test_an_image_of_one_row() -> None:
    _train(Sampled(padding_mode="reflection", align_corners=True), (IMAGE[:, :, :1], GRID))


def test_images_on_the_chip() -> None:
    _agrees_on_the_chip(Sampled(align_corners=False, mode="nearest"), x=IMAGE, grid=GRID)


class Bags(nn.Module):
    """Bags of equal size, or of sizes 2, 0, 3 and the rest."""

    def __init__(self, weights: Any = None, last: int = 5, **options: Any) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.bags, self.weights = nn.EmbeddingBag(7, 3, **options), weights
        self.register_buffer("offsets", torch.tensor([0, 2, 2, last]))

    def forward(self, indices: Any) -> Any:
        return self.bags(indices, self.offsets if indices.dim() == 1 else None, self.weights)


EQUAL, LONG = torch.tensor([[0, 2, 2], [6, 1, 5], [2, 2, 2]]), torch.tensor([3, 2, 2, 0, 6, 2, 1, 5])


@pytest.mark.parametrize("indices", [EQUAL, LONG])
@pytest.mark.parametrize("padding", [None, 2, -1])
@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
def test_bags(mode: str, padding: Any, indices: Any) -> None:
    module = Bags(mode=mode, padding_idx=padding)
    exports.export_inference(module, indices)
    _train(module, (indices,))


def test_bags_with_weights_and_a_last_offset() -> None:
    _train(Bags(nn.Parameter(_rand(3, 3)), mode="sum"), (EQUAL,))
    _train(Bags(nn.Parameter(_rand(8)), mode="sum"), (LONG,))
    _train(Bags(last=8, include_last_offset=True), (LONG,))


def test_bags_on_the_chip() -> None:
    _agrees_on_the_chip(Bags(mode="max"), indices=LONG)
    _agrees_on_the_chip(nn.EmbeddingBag(7, 3), input=LONG, offsets=torch.tensor([0, 3, 3]))


def test_bags_that_torch_itself_computes_in_two_ways() -> None:
    with pytest.raises(CompileError, match="the last offset must be the number of indices, 8"):
        exports.export_inference(Bags(include_last_offset=True), LONG)
    with pytest.raises(CompileError, match="other frequencies"):
        _train(Bags(scale_grad_by_freq=True), (LONG,))
    with pytest.raises(CompileError, match="the offsets of bags must not descend"):
        exports.export_inference(Bags(last=1), LONG)


def test_boundaries_that_descend() -> None:
    class Among(nn.Module):
        def forward(self, x: Any, boundaries: Any) -> Any:
            return torch.bucketize(x, boundaries), torch.searchsorted(boundaries, x)

    ascending = torch.tensor([-1.0, 0.0, 0.5])
    exports.export_inference(Among(), (IMAGE, ascending))  # the random data of the proof do not descend, either
    with pytest.raises(CompileError, match="the boundaries must not descend"):
        exports.export_inference(Among(), (IMAGE, ascending.flip(0)))


def test_distances_of_pairs_and_covariances() -> None:
    class Statistics(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = nn.Linear(5, 5)

        def forward(self, x: Any) -> Any:
            x = self.inner(x)
            return F.pdist(x).sum() + F.pdist(x, 1).sum() + x.cov() + torch.corrcoef(x) + torch.cov(x[0], correction=0)

    exports.export_inference(Statistics(), _rand(4, 5))
    _train(Statistics(), (_rand(4, 5),))
