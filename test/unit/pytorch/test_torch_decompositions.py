"""Every decomposition of our own against the ATen operator that it replaces, in double precision.

This folder has no ``__init__.py``: as a package it would hide the real torch from tests that run with test/unit on the
search path.
"""

import importlib
import itertools
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

torch: Any = pytest.importorskip("torch", minversion="2.13", reason="PyTorch is not installed (extra 'torch')")


def _module(name: str) -> Any:
    return importlib.import_module(f"mnc.torch.decompositions.{name}")


def _rand(*shape: int, seed: int = 0) -> Any:
    return torch.randn(shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed + sum(shape)))


def _same(found: Sequence[Any], expected: Sequence[Any]) -> None:
    """Equal but for rounding in double precision; None only where both have none."""
    for mine, theirs in zip(found, expected, strict=True):
        assert (mine is None) == (theirs is None)
        if theirs is not None:
            torch.testing.assert_close(mine, theirs, rtol=1e-10, atol=1e-11)


@settings(max_examples=20)
@given(st.data())
def test_convolution_backward(data: Any) -> None:
    groups, rank = data.draw(st.sampled_from([1, 2, 3])), data.draw(st.sampled_from([1, 2]))
    small = st.integers(1, 3)
    inner, outer = groups * data.draw(st.integers(1, 2)), groups * data.draw(st.integers(1, 2))
    kernel = [data.draw(small) for _ in range(rank)]
    stride, dilation = ([data.draw(small) for _ in range(rank)] for _ in range(2))
    padding = [data.draw(st.integers(0, 2)) for _ in range(rank)]
    transposed = data.draw(st.booleans())
    extents = [data.draw(st.integers(4, 9)) for _ in range(rank)]
    assume(all(e + 2 * p > d * (k - 1) for e, p, d, k in zip(extents, padding, dilation, kernel, strict=True)))
    most = [max(s, d) - 1 if transposed else 0 for s, d in zip(stride, dilation, strict=True)]
    extra = [data.draw(st.integers(0, limit)) for limit in most]
    x = _rand(2, inner, *extents)
    weight = _rand(*((inner, outer // groups) if transposed else (outer, inner // groups)), *kernel)
    numbers = (stride, padding, dilation, transposed, extra, groups)
    try:
        y = torch.ops.aten.convolution(x, weight, None, *numbers)
    except RuntimeError:
        assume(False)  # a transposed convolution with more padding than it has elements
        return
    assume(y.numel() > 0)
    arguments = (_rand(*y.shape, seed=1), x, weight, [outer], *numbers, [True, True, True])
    _same(_module("contraction").convolution_backward(*arguments), torch.ops.aten.convolution_backward(*arguments))


WINDOWS = [
    (kernel, stride, padding, dilation, ceil)
    for kernel, stride, padding, dilation, ceil in itertools.product(
        ([2, 2], [3, 2]), ([], [1, 2], [3, 3]), ([0, 0], [1, 1]), ([1, 1], [2, 1]), (False, True)
    )
]


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize(("kernel", "stride", "padding", "dilation", "ceil"), WINDOWS)
def test_max_pool_backward(kernel: Any, stride: Any, padding: Any, dilation: Any, ceil: bool, ties: bool) -> None:
    x = _rand(2, 3, 8, 9)
    x = x.round() if ties else x  # many equal maxima: the first one in a window gets the gradient
    numbers = (kernel, stride, padding, dilation, ceil)
    y, indices = torch.ops.aten.max_pool2d_with_indices(x, *numbers)
    arguments = (_rand(*y.shape, seed=1), x, *numbers, indices)
    found = _module("pooling").max_pool2d_with_indices_backward(*arguments)
    _same([found], [torch.ops.aten.max_pool2d_with_indices_backward(*arguments)])


@pytest.mark.parametrize("include_pad", [False, True])
@pytest.mark.parametrize(("kernel", "stride", "padding", "dilation", "ceil"), [w for w in WINDOWS if w[3] == [1, 1]])
def test_average_pool_backward(
    kernel: Any, stride: Any, padding: Any, dilation: Any, ceil: bool, include_pad: bool
) -> None:
    x = _rand(2, 3, 8, 9)
    numbers = (kernel, stride, padding, ceil, include_pad, None)
    y = torch.ops.aten.avg_pool2d(x, *numbers)
    arguments = (_rand(*y.shape, seed=1), x, *numbers)
    found = _module("pooling").avg_pool2d_backward(*arguments)
    _same([found], [torch.ops.aten.avg_pool2d_backward(*arguments)])


ADAPTIVE = [("avg", [4, 2]), ("avg", [3, 4]), ("avg", [9, 1]), ("max", [4, 2]), ("max", [1, 6]), ("max", [3, 4]),
            ("max", [5, 2]), ("max", [9, 1])]  # fmt: skip


@pytest.mark.parametrize(("kind", "out"), ADAPTIVE)
def test_adaptive_pool(kind: str, out: list[int]) -> None:
    aten, table = torch.ops.aten, _module("adaptive_pooling").DECOMPOSITIONS
    for extents in ([8, 6], [2, 8, 6]):
        x, size, rank = (2 * _rand(2, 3, *extents)).round(), [1] * (len(extents) - 2) + out, len(extents)
        forward = getattr(aten, f"_adaptive_avg_pool{rank}d" if kind == "avg" else f"adaptive_max_pool{rank}d")
        backward = getattr(aten, f"{forward.__name__}_backward")
        theirs, mine = forward(x, size), table[forward.default](x, size)
        _same([mine] if kind == "avg" else mine, [theirs] if kind == "avg" else theirs)
        g = _rand(2, 3, *size, seed=1)
        arguments = (g, x) if kind == "avg" else (g, x, theirs[1])
        _same([table[backward.default](*arguments)], [backward(*arguments)])


@pytest.mark.parametrize("rank", [2, 3])
def test_elements_back_at_their_places(rank: int) -> None:
    aten, table, x = torch.ops.aten, _module("adaptive_pooling").DECOMPOSITIONS, _rand(2, 3, *[5, 6, 4][:rank])
    values, indices = getattr(aten, f"max_pool{rank}d_with_indices")(x, [2] * rank)
    whole, geometry = list(x.shape[2:]), () if rank == 2 else ([2] * rank, [0] * rank)
    unpool = getattr(aten, f"max_unpool{rank}d").default
    _same([table[unpool](values, indices, whole, *geometry)], [unpool(values, indices, whole, *geometry)])


@pytest.mark.parametrize("dim", [0, -1])
@pytest.mark.parametrize("extent", [1, 2, 7])
def test_running_products_and_extremes(extent: int, dim: int) -> None:
    aten, table, x = torch.ops.aten, _module("scanning").DECOMPOSITIONS, (2 * _rand(extent, 3, extent)).round()
    _same([table[aten.cumprod.default](x, dim)], [aten.cumprod(x, dim)])
    for name in ("cummax", "cummin"):
        _same(table[getattr(aten, name).default](x, dim), getattr(aten, name)(x, dim))
    ids = torch.tensor([3, -2, 5], dtype=torch.int32)
    _same([table[aten.cumprod.default](ids, dim)], [aten.cumprod(ids, dim)])
    number = torch.tensor(2.5)
    _same([table[aten.cumprod.default](number, 0)], [aten.cumprod(number, 0)])


@pytest.mark.parametrize("dtype", [torch.int64, torch.int32, torch.int8, torch.uint8])
def test_shifts(dtype: Any) -> None:
    aten, table = torch.ops.aten, _module("bits").DECOMPOSITIONS
    x, by = torch.tensor([[0, 1, 5], [7, 100, 3]], dtype=dtype), torch.tensor([0, 1, 4], dtype=dtype)
    x = x if dtype == torch.uint8 else -x
    for side in ("left", "right"):
        shift = getattr(aten, f"bitwise_{side}_shift")
        _same([table[shift.Tensor](x, by), table[shift.Tensor_Scalar](x, 2)], [shift(x, by), shift(x, 2)])
        assert table[shift.Tensor_Scalar](x, 31) is NotImplemented


@pytest.mark.parametrize("ceil", [False, True])
@pytest.mark.parametrize(
    ("kernel", "stride", "padding"), [([2, 2, 2], [2, 2, 2], 0), ([3, 2, 1], [1, 2, 2], 0), (3, [2], 1)]
)
def test_pooling_of_volumes(kernel: Any, stride: Any, padding: int, ceil: bool) -> None:
    aten, table, x = torch.ops.aten, _module("pooling").DECOMPOSITIONS, _rand(2, 3, 6, 5, 4)
    y, indices = aten.max_pool3d_with_indices(x, kernel, stride, padding, 1, ceil)
    arguments = (_rand(*y.shape, seed=1), x, kernel, stride, padding, 1, ceil, indices)
    backward = aten.max_pool3d_with_indices_backward
    wide = (*arguments[:2], *([v] * 3 if isinstance(v, int) else v for v in arguments[2:6]), ceil, indices)
    _same([table[backward.default](*arguments)], [backward(*wide)])
    for numbers in ((kernel, stride, padding, ceil, False, None), (kernel, stride, padding, ceil, True, 5)):
        g = _rand(*aten.avg_pool3d(x, *numbers).shape, seed=1)
        _same([table[aten.avg_pool3d_backward.default](g, x, *numbers)], [aten.avg_pool3d_backward(g, x, *numbers)])


UPSAMPLED = [
    (name, rank, sizes)
    for name, rank in (("nearest", 1), ("nearest", 2), ("_exact", 2), ("linear", 1), ("bilinear", 2), ("trilinear", 3),
                       ("bicubic", 2))
    for sizes in ((6, 8, 6), (7, 3, 5), (1, 5, 2))
]  # fmt: skip


@pytest.mark.parametrize(("kind", "rank", "sizes"), UPSAMPLED)
@pytest.mark.parametrize("corners", [False, True])
@pytest.mark.parametrize("scale", [None, 1.7])
def test_interpolation(kind: str, rank: int, sizes: Any, corners: bool, scale: Any) -> None:
    aten, table = torch.ops.aten, _module("resampling").DECOMPOSITIONS
    name = f"_upsample_nearest_exact{rank}d" if kind == "_exact" else f"upsample_{kind}{rank}d"
    extents = [3, 4, 2][:rank]
    size = [int(e * scale) for e in extents] if scale else list(sizes[:rank])
    x = _rand(2, 3, *extents)
    aligned = () if "nearest" in name else (corners,)
    scales = (scale,) * rank
    forward, backward = getattr(aten, name).default, getattr(aten, f"{name}_backward").default
    _same([table[forward](x, size, *aligned, *scales)], [forward(x, size, *aligned, *scales)])
    arguments = (_rand(2, 3, *size, seed=1), size, list(x.shape), *aligned, *scales)
    _same([table[backward](*arguments)], [backward(*arguments)])


INDICES = {
    "pair": [[0, 2, -1], [1, 1, 3], None],
    "apart": [[0, 2], None, [1, -1]],
    "last": [None, [0, -4, 0], [1, 1, 4]],
    "outer": [[[0], [1]], [2, 2, 0], None],
    "all": [[0, 2, 0], [1, 1, 1], [4, 4, 4]],
}


@pytest.mark.parametrize("name", INDICES)
def test_indexing_by_several_tensors(name: str) -> None:
    aten, indexing, x = torch.ops.aten, _module("indexing"), _rand(3, 4, 5)
    indices = [None if part is None else torch.tensor(part) for part in INDICES[name]]
    expected = aten.index(x, indices)
    _same([indexing.index(x, indices)], [expected])
    for values in (_rand(*expected.shape, seed=1), _rand(*([1] * expected.dim()), seed=2)):
        _same([indexing.index_put(x, indices, values, True)], [aten.index_put(x, indices, values, True)])


def test_indexing_that_stays_whole() -> None:
    indexing, x = _module("indexing"), _rand(3, 4)
    assert indexing.index(x, [x > 0]) is NotImplemented
    assert indexing.index(x, [torch.tensor([1])]) is NotImplemented
    value = torch.tensor(2.0, dtype=torch.float64)
    _same([indexing.index_put(x, [x > 0], value)], [torch.ops.aten.index_put(x, [x > 0], value)])
    _same([indexing.index_put(x, [x[:, 0] > 0], value)], [torch.ops.aten.index_put(x, [x[:, 0] > 0], value)])


@pytest.mark.parametrize("dim", [0, 1, -1])
def test_scatter_add(dim: int) -> None:
    index = torch.tensor([[[0, 1, 1], [2, 0, 0]], [[0, 0, 2], [1, 1, 0]]])
    arguments = (_rand(3, 4, 5), dim, index, _rand(2, 3, 4))
    _same([_module("indexing").scatter_add(*arguments)], [torch.ops.aten.scatter_add(*arguments)])


@pytest.mark.parametrize(
    ("dim", "start", "end", "step"), [(0, 1, 2, 1), (-1, 0, 9, 1), (1, -3, -1, 1), (1, 1, 9, 2), (1, 3, 2, 1)]
)
def test_slice_scatter(dim: int, start: int, end: int, step: int) -> None:
    x = _rand(2, 6, 4)
    part = torch.ops.aten.slice(x, dim, start, end, step)
    arguments = (x, _rand(*part.shape, seed=1), dim, start, end, step)
    _same([_module("shape").slice_scatter(*arguments)], [torch.ops.aten.slice_scatter(*arguments)])


@pytest.mark.parametrize("affine", [False, True])
@pytest.mark.parametrize("shape", [(6, 3), (4, 3, 5), (2, 3, 4, 5)])
def test_batch_norm(shape: tuple[int, ...], affine: bool) -> None:
    normalization, x, g = _module("normalization"), _rand(*shape), _rand(*shape, seed=1)
    scale, shift = (_rand(3, seed=2), _rand(3, seed=3)) if affine else (None, None)
    mean, variance = _rand(3, seed=4), _rand(3, seed=5).exp()
    theirs = mean.clone(), variance.clone()
    expected = torch.ops.aten.native_batch_norm(x, scale, shift, *theirs, True, 0.3, 1e-3)
    found = normalization.batch_norm(x, scale, shift, mean, variance, True, 0.3, 1e-3)
    _same(found, (*expected, *theirs))
    for training in (True, False):
        arguments = (g, x, scale, mean, variance, expected[1], expected[2], training, 1e-3, [True, True, True])
        found = normalization.native_batch_norm_backward(*arguments)
        expected_gradients = torch.ops.aten.native_batch_norm_backward(*arguments)
        _same(found[:1] if not affine else found, expected_gradients[:1] if not affine else expected_gradients)


@pytest.mark.parametrize("affine", [False, True])
@pytest.mark.parametrize("inner", [[5], [4, 5], [3, 4, 5]])
def test_layer_norm(inner: list[int], affine: bool) -> None:
    normalization, x, g = _module("normalization"), _rand(3, 4, 5), _rand(3, 4, 5, seed=1)
    scale, shift = (_rand(*inner, seed=2), _rand(*inner, seed=3)) if affine else (None, None)
    expected = torch.ops.aten.native_layer_norm(x, inner, scale, shift, 1e-3)
    _same(normalization.native_layer_norm(x, inner, scale, shift, 1e-3), expected)
    arguments = (g, x, inner, expected[1], expected[2], scale, shift, [True, affine, affine])
    found, theirs = (
        normalization.native_layer_norm_backward(*arguments),
        torch.ops.aten.native_layer_norm_backward(*arguments),
    )
    _same(found if affine else found[:1], theirs if affine else theirs[:1])


@pytest.mark.parametrize("correction", [None, 0, 1, 2])
@pytest.mark.parametrize("dims", [None, [1], [0, -1]])
@pytest.mark.parametrize("keep", [False, True])
def test_variance(dims: Any, correction: Any, keep: bool) -> None:
    normalization, x = _module("normalization"), _rand(3, 4, 5)
    options = {"correction": correction, "keepdim": keep}
    _same(normalization.var_mean(x, dims, **options), torch.ops.aten.var_mean.correction(x, dims, **options))
    _same([normalization.std(x, dims, **options)], [torch.ops.aten.std.correction(x, dims, **options)])


@pytest.mark.parametrize("ignored", [-100, 1])
@pytest.mark.parametrize("reduction", [0, 1, 2])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("extents", [(), (3, 2)])
def test_nll_loss(extents: tuple[int, ...], weighted: bool, reduction: int, ignored: int) -> None:
    loss = _module("loss")
    aten = torch.ops.aten
    scores = _rand(6, 4, *extents).log_softmax(1)
    labels = torch.randint(0, 4, (6, *extents), generator=torch.Generator().manual_seed(3))
    labels[0] = ignored
    weight = _rand(4).exp() if weighted else None
    forward = aten.nll_loss2d_forward if extents else aten.nll_loss_forward
    backward = aten.nll_loss2d_backward if extents else aten.nll_loss_backward
    expected = forward(scores, labels, weight, reduction, ignored)
    found = loss.nll_loss_forward(scores, labels, weight, reduction, ignored)
    _same(found if reduction else found[:1], expected if reduction else expected[:1])
    g = _rand(*expected[0].shape, seed=1)
    arguments = (g, scores, labels, weight, reduction, ignored, expected[1])
    below = backward(*arguments)
    _same([loss.nll_loss_backward(*arguments)], [below])
    whole = aten._log_softmax_backward_data(below, scores, 1, torch.float64)
    _same([loss.cross_entropy_backward(*arguments)], [whole])


@pytest.mark.parametrize("by_frequency", [False, True])
@pytest.mark.parametrize("padding", [-1, 2])
def test_embedding_backward(padding: int, by_frequency: bool) -> None:
    indices = torch.tensor([[0, 2, 2], [5, 0, 2]])
    arguments = (_rand(2, 3, 4), indices, 7, padding, by_frequency)
    found = _module("embedding").embedding_dense_backward(*arguments)
    _same([found], [torch.ops.aten.embedding_dense_backward(*arguments)])


@pytest.mark.parametrize(("start", "end", "step"), [(0, 9, 1), (1, 7, 2), (-6, -1, 3), (2, 9, 4), (0, 8, 3)])
def test_slice_and_select_backward(start: int, end: int, step: int) -> None:
    shape, part = [2, 8, 3], _rand(2, 8, 3)[:, slice(start, end, step)]
    arguments = (part, [2, 8, 3], -2, start, end, step)
    _same([_module("shape").slice_backward(*arguments)], [torch.ops.aten.slice_backward(*arguments)])
    for dim, index in ((0, 1), (-1, -3)):
        g = _rand(*shape).select(dim, index)
        found = _module("shape").select_backward(g, shape, dim, index)
        _same([found], [torch.ops.aten.select_backward(g, shape, dim, index)])


BORDERS = [[2, 1], [0, 3], [-1, 2], [1, -2], [1, 2, 0, 1], [2, -1, -1, 3], [1, 0, 2, 1, 0, 3]]


@pytest.mark.parametrize("padding", BORDERS)
@pytest.mark.parametrize("extent", [1, 2, 5])
def test_padding_by_the_border(extent: int, padding: list[int]) -> None:
    rank = len(padding) // 2
    if extent + min(padding) <= 0:
        pytest.skip("nothing is left")
    x = _rand(2, 3, *[extent] * rank)
    name = f"replication_pad{rank}d"
    g = _rand(*getattr(torch.ops.aten, name)(x, padding).shape, seed=1)
    found = _module("padding").replication_pad_backward(g, x, padding)
    _same([found], [getattr(torch.ops.aten, f"{name}_backward")(g, x, padding)])


@pytest.mark.parametrize("reduction", [0, 1, 2])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("p", "margin"), [(1, 1.0), (2, 0.3)])
@pytest.mark.parametrize("batch", [(), (6,)])
def test_multi_margin_loss(batch: tuple[int, ...], p: int, margin: float, weighted: bool, reduction: int) -> None:
    scores, labels = _rand(*batch, 4), torch.arange(6).remainder(4)[: 6 if batch else 1].reshape(batch)
    weight = _rand(4).exp() if weighted else None
    g = _rand(*torch.ops.aten.multi_margin_loss(scores, labels, p, margin, weight, reduction).shape, seed=1)
    arguments = (g, scores, labels, p, margin, weight, reduction)
    found = _module("margin").multi_margin_loss_backward(*arguments)
    _same([found], [torch.ops.aten.multi_margin_loss_backward(*arguments)])


@pytest.mark.parametrize("reduction", [0, 1, 2])
@pytest.mark.parametrize("labels", [[[2, 0, -1, 1], [-1, 3, 3, 3], [1, 3, 0, 2], [1, 1, -1, 0]], [3, 1, -1, 0]])
def test_multilabel_margin_loss(labels: Any, reduction: int) -> None:
    target = torch.tensor(labels)
    scores = _rand(*target.shape)
    loss, is_target = torch.ops.aten.multilabel_margin_loss_forward(scores, target, reduction)
    arguments = (_rand(*loss.shape, seed=1), scores, target, reduction, is_target)
    found = _module("margin").multilabel_margin_loss_backward(*arguments)
    _same([found], [torch.ops.aten.multilabel_margin_loss_backward(*arguments)])


@pytest.mark.parametrize("pad", [[2, 1], [0, 3], [-1, 2], [1, -2], [-1, -1], [1, 2, 0, 3], [2, -1, -1, 3]])
def test_circular_padding(pad: list[int]) -> None:
    x = _rand(2, 3, *[4] * (len(pad) // 2))
    found = importlib.import_module("mnc.torch.other_functions")._pad(x, pad, mode="circular")
    _same([found], [torch.nn.functional.pad(x, pad, mode="circular")])
