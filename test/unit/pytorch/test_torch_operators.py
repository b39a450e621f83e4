"""Single functions through export_inference and back through the importer; the export itself proves the numbers."""

import importlib
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mnc.core.context import make_context
from mnc.lowering.onnx_to_graph.importer import import_model

torch: Any = pytest.importorskip("torch", minversion="2.13", reason="PyTorch is not installed (extra 'torch')")
F: Any = torch.nn.functional
proof: Any = importlib.import_module("mnc.torch.proof")
export: Any = importlib.import_module("mnc.torch").export_inference


class Function(torch.nn.Module):
    """A function as a module."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *inputs: Any) -> Any:
        return self.function(*inputs)


def _rand(*shape: int) -> Any:
    return torch.randn(shape, generator=torch.Generator().manual_seed(sum(shape)))


X, Y, IMAGE = _rand(3, 4), _rand(3, 4), _rand(2, 4, 6, 6)
SMALL = torch.tensor([[0, 2, 1], [2, 2, 0]])
IDS = torch.tensor([[0, 2, 1], [3, 3, 0]])

CASES: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "pool of channels that are last": (lambda x: F.adaptive_avg_pool2d(x.permute(0, 3, 1, 2), 1), (IMAGE,)),
    "strided, as transposed": (lambda x: torch.as_strided(2 * x, (4, 3), (1, 4)), (X,)),
    "strided, some elements twice": (lambda x: torch.as_strided(2 * x, (3, 2), (2, 3), 1), (X,)),
    "arithmetic": (lambda x, y: (x + 2 * y - 3) / (y.abs() + 1) - 1.5 / (x * x + 1), (X, Y)),
    "alpha": (lambda x, y: torch.add(x, y, alpha=3) + torch.sub(x, y, alpha=0.5) + torch.rsub(x, y, alpha=2), (X, Y)),
    "powers": (lambda x: x**2 + x**3 + (x.abs() + 1) ** 0.5 + (x.abs() + 1) ** -1 + (x.abs() + 1) ** 1.7 + 2**x, (X,)),
    "elementary": (lambda x: x.exp() + x.sin() * x.cos() + x.tanh() + (x.abs() + 1).log() + x.erf() + x.sign(), (X,)),
    "roots": (lambda x: (x.abs() + 1).rsqrt() + (x * x).sqrt() + x.sigmoid() + (x.abs() + 0.5).reciprocal(), (X,)),
    "rounding": (lambda x: x.floor() + x.ceil() + (3 * x).round() + torch.div(x, 0.3, rounding_mode="floor"), (X,)),
    "small": (lambda x: torch.expm1(x) + torch.log1p(x.abs()), (X,)),
    "activations": (lambda x: F.relu(x) + F.gelu(x) + F.gelu(x, approximate="tanh") + F.silu(x) + F.elu(x), (X,)),
    "more activations": (lambda x: F.leaky_relu(x) + F.softplus(x) + F.hardtanh(x) + F.mish(x) + F.hardswish(x), (X,)),
    "comparisons": (lambda x, y: ((x < y) & (x >= 0)) | (x == y) ^ (y != 0) | ~(x <= 1), (X, Y)),
    "mixed comparison": (lambda i, x: (i > 1.5).float().sum() + torch.where(x > 0, x, 0), (IDS, X)),
    "clamps": (lambda x, y: x.clamp(-0.5, 0.7) + torch.maximum(x, y) * torch.minimum(x, y) + x.clamp_min(0.1), (X, Y)),
    "integers": (lambda i: (i + 1) * 2 - i, (IDS,)),
    "conversion": (lambda i, x: i.float() * 0.5 + x[:2, :3].to(torch.int32), (IDS, X)),
    "sums": (lambda x: x.sum() + x.mean(1) + x.sum(0, keepdim=True).sum() + x.prod(1), (X,)),
    "extremes": (lambda x: x.amax(1) + x.amin(1) + x.max() - x.min(), (X,)),
    "sorted": (lambda x: (*x.sort(1, descending=True), *x.sort(dim=0, stable=True)), (X,)),
    "largest": (lambda x: (*x.topk(2, 0, largest=False), *x.topk(3)), (X,)),
    "places of triangles": (lambda x: (x[:, torch.tril_indices(3, 4)[0]], x[:, torch.triu_indices(4, 3, 1)[1]]), (X,)),
    "pairs of a triangle": (lambda x: (x.T @ x)[tuple(torch.tril_indices(4, 4, -1))], (X,)),
    "scattered": (lambda x, i: x.scatter(1, i, 2.5).scatter(0, i[:1], x[:1]), (_rand(3, 3), SMALL)),
    "scattered parts": (lambda x, i: x.scatter(1, i[:1, :2], x).scatter_reduce(0, i[:1], x + 1, "sum"),
                        (_rand(3, 3), SMALL)),
    **{
        f"scattered {how}, {include}": (
            lambda x, i, how=how, include=include: x.scatter_reduce(1, i, 2 * x[:2], how, include_self=include),
            (_rand(3, 3), SMALL),
        )
        for how in ("sum", "prod", "mean", "amax", "amin") for include in (True, False)
    },
    "scattered integers": (lambda i: i.scatter_reduce(1, i % 3, i + 2, "amax", include_self=False), (IDS,)),
    "put": (lambda x, i: (x.index_put((i[0],), x[0]), x.put(i, x[:2]), x.masked_scatter(x > 0, x.flip(0))),
            (_rand(3, 3), SMALL)),
    "places of what is not zero": (lambda x: torch.nonzero_static(x > 0, size=5), (X,)),
    "among boundaries": (lambda x: (torch.bucketize(x, torch.tensor([-1.0, 0.0, 1.0])), x.histc(4, -2, 2)), (X,)),
    "scattered in the old way": (lambda x, i: x.scatter(1, i, x[:2], reduce="add").scatter(1, i, 3, reduce="multiply"),
                                 (_rand(3, 3), SMALL)),
    "in place below": (lambda x, y: F.cosine_similarity(x, y), (X, Y)),
    "places": (lambda x: (x.max(1), x.argmin(0), x.argmax(), (x > 1).any(1), (x > -3).all()), (X,)),
    "spread": (lambda x: x.var(1) + x.std(1, correction=0) + torch.linalg.vector_norm(x, dim=1) + x.logsumexp(1), (X,)),
    "softmax": (lambda x: x.softmax(0) + x.log_softmax(-1), (X,)),
    "running sum": (lambda x: x.cumsum(1), (X,)),
    "running products": (lambda x: (x.cumprod(1), *x.cummax(0), *x.cummin(1)), (X,)),
    "determinants": (lambda x: (torch.linalg.det(x[:, :, 1:, 1:]), x[0, 0, :3, :3].det(), x[..., :1, :1].det()),
                     (IMAGE,)),
    "bits": (lambda i: ((i & 2) | ~i ^ 1, i << 3, (i - 2) >> 1, i << i, i.int() >> i, 9 >> i, 1 << i), (IDS,)),
    "products": (lambda x, y: x @ y.t() + (y @ x.T).T + torch.addmm(x[:, :3], x, y.t(), beta=0.5, alpha=2), (X, Y)),
    "vectors": (lambda x: x @ x[0] + x[1] @ x[2] + torch.outer(x[0], x[1]).sum(), (X,)),
    "batches": (lambda x: x @ x.transpose(2, 3) + torch.einsum("bcij,bckj->bcik", x, x), (IMAGE,)),
    "views": (lambda x: x.permute(2, 0, 3, 1).reshape(6, -1).unsqueeze(1).squeeze().flatten().view(4, -1).T, (IMAGE,)),
    "parts": (lambda x: torch.cat([x[:, 1:3], x[:, ::2], x[:, -1:]], 1)[..., 1:-1:2] + x[:, 2:3, :, :2], (IMAGE,)),
    "selections": (lambda x: x.select(1, 2)[:, None] + x[..., -1, None], (IMAGE,)),
    "splits": (lambda x: torch.stack((*x.split(2, 1), *x.chunk(2, 1))) + torch.stack(x.unbind(1)[:2], 1), (IMAGE,)),
    "growth": (lambda x: x.repeat(2, 3).flip(0) + F.pad(x.expand(2, 3, 4), (0, 8))[0].repeat(2, 1), (X,)),
    "padding": (lambda x: F.pad(x, (1, -2, 0, 1), value=2.0), (X,)),
    "triangles": (lambda x: x.tril() + x.triu(1) + torch.eye(3, 4) + torch.arange(4) + torch.linspace(0, 1, 4), (X,)),
    "masks": (lambda x: x.masked_fill(torch.ones(3, 4).tril() == 0, -1e4).softmax(1), (X,)),
    "indices": (lambda x, i: (x[i], x.index_select(0, i[0]), x[:, i[0]], x.gather(1, i.T)), (_rand(3, 5), SMALL)),
    "logarithms and powers": (lambda x: x.abs().add(1).log2() + x.abs().add(1).log10() + x.exp2() + x.erfc(), (X,)),
    "inverse of erf": (lambda x: (0.99 * x.tanh()).erfinv() + (x / 9).erfinv(), (X,)),
    "mean slopes": (lambda x: torch.nn.functional.rrelu(x, 0.1, 0.5), (X,)),
    "angles": (lambda x: (x.atan() + x.asinh() + x.tanh().acos() + x.tanh().asin(), x.exp().add(1).acosh()), (X,)),
    "angles of points": (lambda x, y: torch.atan2(x, y) + torch.hypot(x, y) + (0.5 * x.tanh()).atanh(), (X, Y)),
    "angles of the axes": (lambda x: torch.atan2(x, x.flip(0)), (torch.tensor([0.0, 1.0, -1.0, 0.0]),)),
    "toward zero": (lambda x, y: ((3 * x).trunc(), x.frac(), x.fmod(y), x.div(y, rounding_mode="trunc")), (X, Y)),
    "whole quotients": (lambda i: ((i - 2) // 2, torch.div(i - 2, 2, rounding_mode="trunc"), (i - 2).fmod(3)), (IDS,)),
    "products of booleans": (lambda x, y: (torch.isfinite(x), (x > 0) * (y > 0), (x > 0) + (y > 0)), (X, Y)),
    "finite sums": (lambda x, y: torch.logaddexp(x, y) + torch.nan_to_num(x), (X, Y)),
    "rolled": (lambda x: (x.roll(1), x.roll((1, -6), (0, 1)), x.roll(0, 1), x.roll(3, -1)), (X,)),
    "diagonals": (lambda x: (x.diagonal(), x.diagonal(2), x.diagonal(-1), x.diagonal(5), x[:, :3].trace()), (X,)),
    "diagonals of images": (lambda x: x[:, :, :5].diagonal(1, 3, 2), (IMAGE,)),
    "distances": (lambda x, y: (torch.cdist(x, y), torch.cdist(x, y, 1), torch.cdist(x[None], y, torch.inf)), (X, Y)),
    "remainders": (lambda x, i: (x % 0.7, x % -0.7, (i - 2) % 3), (X, IDS)),
    "embedding": (lambda i, x: F.embedding(i, x), (IDS, _rand(4, 5))),
    "constant tensor": (lambda x: x * torch.tensor([1.0, 2.0, 3.0, 4.0]), (X,)),
    "convolution": (lambda x: F.conv2d(x, torch.ones(6, 2, 3, 2), torch.arange(6.0), 2, (1, 0), (1, 2), 2), (IMAGE,)),
    "transposed": (lambda x: F.conv_transpose2d(x, torch.ones(4, 2, 3, 3), None, 2, 1, 1, 2), (IMAGE,)),
    "pooling": (lambda x: F.max_pool2d(x, 3, 2, 1) + F.avg_pool2d(x, 2) + F.adaptive_avg_pool2d(x, 3), (IMAGE,)),
    "pooling of uneven windows": (lambda x: (*F.adaptive_max_pool2d(x, (4, 5), return_indices=True),
                                             F.adaptive_max_pool1d(x[0], 4), F.adaptive_avg_pool1d(x[0], 4)), (IMAGE,)),
    "places of pooling": (lambda x: (*F.max_pool2d(x, 3, 2, 1, return_indices=True),
                                     *F.max_pool2d(x[0], 2, return_indices=True)), (IMAGE,)),
    "back from pooling": (lambda x: F.max_unpool2d(*F.max_pool2d(x, 2, return_indices=True), 2, output_size=[7, 6]),
                          (IMAGE,)),
    "pooling that leaves a window out": (
        lambda x: (F.avg_pool2d(x[..., :5, :3], 2, padding=1, ceil_mode=True),
                   F.max_pool2d(x[..., :5, :5], 2, 2, 1, 1, True),
                   F.avg_pool3d(x[:, None, :, :5, :5], (1, 2, 2), padding=(0, 1, 1), ceil_mode=True)), (IMAGE,)),
    "wide pooling": (lambda x: F.avg_pool2d(x, 3, 2, 1, False, False) + F.max_pool2d(x, 2, 2), (IMAGE,)),
    "norms": (lambda x: F.layer_norm(x, [6, 6]) + F.group_norm(x, 2) + F.instance_norm(x), (IMAGE,)),
    "attention": (lambda x: F.scaled_dot_product_attention(x, x, x, is_causal=True), (IMAGE,)),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_function(name: str) -> None:
    function, inputs = CASES[name]
    model = export(Function(function), inputs)
    results = torch.utils._pytree.tree_leaves(function(*inputs))
    feeds = {value.name: array.numpy() for value, array in zip(model.graph.input, inputs, strict=True)}
    found = proof.Runner(model).run(feeds)
    for mine, theirs in zip(found.values(), results, strict=True):
        assert mine.dtype == theirs.numpy().dtype
        np.testing.assert_allclose(mine, theirs.numpy(), rtol=1e-4, atol=1e-5)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        import_model(model, make_context())  # checks every declared shape


def test_masks_of_transformers_are_not_looked_at() -> None:
    """torch compares a mask with a causal one, and uses a faster kernel if it is one."""

    class Decoder(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            layer = torch.nn.TransformerDecoderLayer(8, 2, 16, dropout=0.0, batch_first=True)
            self.layers = torch.nn.TransformerDecoder(layer, 1)

        def forward(self, x: Any, memory: Any) -> Any:
            return self.layers(x, memory, tgt_mask=torch.nn.Transformer.generate_square_subsequent_mask(x.shape[1]))

    module, inputs = Decoder().eval(), (_rand(2, 4, 8), _rand(2, 5, 8))
    model = export(module, inputs)
    feeds = {value.name: array.numpy() for value, array in zip(model.graph.input, inputs, strict=True)}
    (found,) = proof.Runner(model).run(feeds).values()
    np.testing.assert_allclose(found, module(*inputs).detach().numpy(), rtol=1e-4, atol=1e-5)


def test_the_document_lists_every_operator() -> None:
    text = (Path(__file__).parents[3] / "docs" / "torch.md").read_text()
    own = importlib.import_module("mnc.torch.decompositions")._OWN
    names = {*importlib.import_module("mnc.torch.operators").OPERATORS}
    names |= {operator._schema.name.split("::")[1] for operator in own}
    assert not [name for name in names if f"`{name}`" not in text]


DIFFERENTIATED: dict[str, Callable[..., Any]] = {
    "running products": lambda x: x.cumprod(-1) + x.cummax(-2)[0],
    "scattered": lambda x: x[0, 0].scatter_reduce(0, IDS.T, 2 * x[0, 1, :3, :2], "amax", include_self=False),
    "determinants": lambda x: torch.linalg.det(x[..., :3, :3]) + x[0, 0, :2, :2].det(),
    "pooling of uneven windows": lambda x: F.adaptive_max_pool2d(x, (4, 5)),
    "back from pooling": lambda x: F.max_unpool2d(*F.max_pool2d(x * x, 2, return_indices=True), 2),
    "assignments": lambda x: _assigned(x),
    "assignments to places": lambda x: x.index_copy(0, IDS[0, :1], 2 * x[:1]).index_fill(3, IDS[0], 3.0),
    "put under a mask": lambda x: x.masked_scatter(IMAGE > 0, 2 * x),
    "diagonals that are replaced": lambda x: torch.diagonal_scatter(x, x[..., 0], 0, 2, 3),
    "windows": lambda x: x.unfold(-1, 3, 2),
    "ranks": lambda x: x.median(1).values + x.kthvalue(2, 1).values,
    "running sums of exponentials": lambda x: x.logcumsumexp(2),
    "norms": lambda x: x.norm(3, 1) + x.norm(0.5, -1, keepdim=True).sum() + torch.dist(x, x.flip(0)),
    "between": lambda x: torch.lerp(x, x.flip(0), 0.3) + torch.lerp(x, x.flip(1), x.sigmoid()),
    "quantized": lambda x: torch.fake_quantize_per_tensor_affine(x, 0.05, 3, -9, 20),
    "quantized by channels": lambda x: torch.fake_quantize_per_channel_affine(
        x, torch.tensor([0.05, 0.1, 0.2, 0.4]), torch.tensor([3, 0, -2, 1], dtype=torch.int32), 1, -9, 20
    ),
}


def _assigned(x: Any) -> Any:
    x = x.clone()
    x[1] = 0
    x[..., 2] = x[..., 0]
    x[IMAGE > 1] = 5
    x[0, IDS[0]] = x[1, :3]
    x[:, 1:3, ::2] *= 2
    return x


@pytest.mark.parametrize("name", DIFFERENTIATED)
def test_gradient(name: str) -> None:
    """The export proves them against torch."""
    function = DIFFERENTIATED[name]
    module = torch.nn.Sequential(torch.nn.Linear(6, 6), Function(function))
    target = _rand(*function(IMAGE).shape)
    optimizer = torch.optim.SGD(module.parameters(), lr=0.01)
    importlib.import_module("mnc.torch").export_train_step(module, torch.nn.MSELoss(), optimizer, (IMAGE, target))
