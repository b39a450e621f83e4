"""Decompositions that put, pick, sort and count elements, against the ATen operators that they replace."""

import importlib
from typing import Any

import pytest

torch: Any = pytest.importorskip("torch", minversion="2.13", reason="PyTorch is not installed (extra 'torch')")
aten: Any = torch.ops.aten
OWN: Any = importlib.import_module("mnc.torch.decompositions")._OWN


def _rand(*shape: int, seed: int = 0) -> Any:
    return torch.randn(shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed + sum(shape)))


def _is_same(operator: Any, *arguments: Any, **options: Any) -> None:
    """Equal but for rounding in double precision, also in type."""
    found, wanted = OWN[operator](*arguments, **options), operator(*arguments, **options)
    for mine, theirs in zip(*((v,) if isinstance(v, torch.Tensor) else v for v in (found, wanted)), strict=True):
        torch.testing.assert_close(mine, theirs, rtol=1e-10, atol=1e-11)


X, CUBE = _rand(5, 4), _rand(3, 4, 5)
FLAGS = CUBE > 0.3


@pytest.mark.parametrize(("offset", "dims"), [(0, (0, 1)), (1, (0, 2)), (-2, (1, 2)), (2, (2, 0)), (-1, (-1, -2))])
def test_diagonals_that_are_replaced(offset: int, dims: tuple[int, int]) -> None:
    part = aten.diagonal(CUBE, offset, *dims)
    _is_same(aten.diagonal_scatter.default, CUBE, _rand(*part.shape, seed=1), offset, *dims)


@pytest.mark.parametrize(("dim", "size", "step"), [(0, 2, 1), (1, 4, 1), (-1, 3, 2), (2, 1, 4)])
def test_windows(dim: int, size: int, step: int) -> None:
    _is_same(aten.unfold.default, CUBE, dim, size, step)
    _is_same(aten.unfold.default, torch.tensor(2.5), 0, 1, 1)


PLACES = {
    "rows": [[0, 2]],
    "columns": [None, [3, -4]],
    "elements": [[0, 2, -1], [1, 1, 3]],
    "apart": [[0, 2], None, [1, -1]],
    "a grid": [[[0], [1]], [2, 3, 0], None],
}


@pytest.mark.parametrize("name", PLACES)
def test_assignment_to_places(name: str) -> None:
    indices = [None if part is None else torch.tensor(part) for part in PLACES[name]]
    shape = aten.index(CUBE, indices).shape
    for values in (_rand(*shape, seed=1), _rand(*shape[-1:], seed=2), torch.tensor(2.0, dtype=torch.float64)):
        _is_same(aten.index_put.default, CUBE, indices, values)
    _is_same(aten.index_put.default, (10 * CUBE).long(), indices, torch.tensor(7))


@pytest.mark.parametrize("mask", [FLAGS, FLAGS[..., 0], FLAGS[0, :, 0][:3]])
def test_assignment_under_a_mask(mask: Any) -> None:
    inner = CUBE.shape[mask.dim() :]
    for shape in ((), inner, (1, *inner)):
        _is_same(aten.index_put.default, CUBE, [mask], _rand(*shape, seed=1))
    assert OWN[aten.index_put.default](CUBE, [mask], aten.index(CUBE, [mask])) is NotImplemented
    assert OWN[aten.index_put.default](CUBE, [mask], torch.ones(()), True) is NotImplemented


def test_places_that_count_all_elements() -> None:
    index, values = torch.tensor([[0, 19], [7, -3]]), _rand(2, 2)
    _is_same(aten.put.default, X, index, values)
    _is_same(aten.put.default, X, torch.tensor([3, 3, 1, -1]), values.reshape(-1), True)


@pytest.mark.parametrize("include", [False, True])
@pytest.mark.parametrize("how", ["prod", "mean", "amax", "amin"])
def test_slices_that_come_together(how: str, include: bool) -> None:
    for dim in (0, -1):
        source = _rand(4, 4, 5, seed=1) if dim == 0 else _rand(3, 4, 4, seed=1)
        _is_same(aten.index_reduce.default, CUBE, dim, torch.tensor([0, 2, 2, 0]), source, how, include_self=include)


def test_elements_put_under_a_mask_in_order() -> None:
    _is_same(aten.masked_scatter.default, CUBE, FLAGS, _rand(60, seed=1))
    _is_same(aten.masked_scatter.default, CUBE, FLAGS[0], _rand(70, seed=1))
    _is_same(aten.masked_scatter.default, CUBE, torch.zeros_like(FLAGS), _rand(1))


@pytest.mark.parametrize("size", [1, 7, 90])
def test_places_of_what_is_not_zero(size: int) -> None:
    for x in (FLAGS, CUBE * FLAGS, torch.zeros(3, dtype=torch.int32), torch.tensor([True])):
        _is_same(aten.nonzero_static.default, x, size=size)
        _is_same(aten.nonzero_static.default, x, size=size, fill_value=4)


@pytest.mark.parametrize("keep", [False, True])
@pytest.mark.parametrize("dim", [0, 1, -1])
def test_ranks(dim: int, keep: bool) -> None:
    for k in (1, 2, 3):
        _is_same(aten.kthvalue.default, CUBE, k, dim, keep)
    _is_same(aten.median.dim, CUBE, dim, keep)
    _is_same(aten.median.dim, torch.tensor(2.5), -1, keep)
    _is_same(aten.median.default, CUBE)
    _is_same(aten.median.default, X[:, 0])


@pytest.mark.parametrize("right", [False, True])
@pytest.mark.parametrize("is_32", [False, True])
def test_places_among_boundaries(is_32: bool, right: bool) -> None:
    options = {"out_int32": is_32, "right": right}
    boundaries, values = torch.tensor([-1.0, 0.0, 0.5, 2.0]), torch.tensor([[0.5, -3.0], [0.0, 2.5]])
    _is_same(aten.bucketize.Tensor, values, boundaries, **options)
    _is_same(aten.searchsorted.Tensor, boundaries, values, **options)
    rows, order = X.sort(1)[0][:2].float(), torch.tensor([3, 0, 1, 2])
    _is_same(aten.searchsorted.Tensor, rows, values, **options)
    _is_same(aten.searchsorted.Tensor, boundaries[[1, 2, 3, 0]], values, sorter=order, **options)
    _is_same(aten.searchsorted.Tensor, boundaries, values, side="right")


def test_histogram() -> None:
    x = torch.tensor([0.0, 0.5, 1.0, 1.0, 1.9, 2.0, 2.1, -0.1], dtype=torch.float64)
    _is_same(aten.histc.default, x, 4, 0, 2)
    _is_same(aten.histc.default, CUBE, 7)


@pytest.mark.parametrize("dim", [0, -1])
@pytest.mark.parametrize("extent", [1, 2, 7])
def test_running_sums_of_exponentials(extent: int, dim: int) -> None:
    _is_same(aten.logcumsumexp.default, _rand(extent, 3, extent), dim)
    _is_same(aten.logcumsumexp.default, torch.tensor(2.5), 0)


@pytest.mark.parametrize("order", [0, 1, 2, 3, 0.5, float("inf"), float("-inf")])
def test_norms(order: float) -> None:
    for dims in (None, [1], [0, -1]):
        for keep in (False, True):
            _is_same(aten.linalg_vector_norm.default, CUBE * FLAGS, order, dims, keep)
    _is_same(aten.dist.default, X, X.flip(0), order)


def test_element_wise() -> None:
    y = X.flip(0)
    for weight in (0.0, 0.3, 0.7, 1.0):
        _is_same(aten.lerp.Scalar, X, y, weight)
    _is_same(aten.lerp.Tensor, X, y, torch.rand(5, 4, dtype=torch.float64))
    _is_same(aten.copysign.Tensor, X, y)
    _is_same(aten.signbit.default, X)
    _is_same(aten.ldexp.Tensor, X, torch.tensor([3, -2, 0, 1]))
    _is_same(aten.isinf.default, torch.tensor([1.0, float("inf"), -float("inf"), 0.0]))
    _is_same(aten.isinf.default, torch.tensor([1, 2]))
    scaled = 4 * X.float()
    _is_same(aten.fake_quantize_per_tensor_affine_cachemask.default, scaled, 0.05, 3, -100, 90)


def test_quantized_by_tensors() -> None:
    scaled = 4 * X.float()
    scales, zeros, on = torch.rand(4) * 0.1 + 0.01, torch.tensor([3, -1, 0, 2], dtype=torch.int32), torch.ones(1).int()
    for points in (zeros, zeros + 0.3):
        _is_near(aten.fake_quantize_per_channel_affine_cachemask.default, scaled, scales, points, 1, -10, 9)
    for enabled in (on, 0 * on):
        tensors = scales[:1], zeros[:1], enabled
        _is_near(aten._fake_quantize_per_tensor_affine_cachemask_tensor_qparams.default, scaled, *tensors, -10, 9)


def _is_near(operator: Any, *arguments: Any) -> None:
    """Equal but for rounding in single precision, in which torch has the scales."""
    for mine, theirs in zip(OWN[operator](*arguments), operator(*arguments), strict=True):
        torch.testing.assert_close(mine, theirs)


def test_products_that_are_added() -> None:
    batches = _rand(2, 5, 3), _rand(2, 3, 4)
    for options in ({}, {"beta": 0}, {"beta": 0.5, "alpha": 2}):
        _is_same(aten.addbmm.default, X, *batches, **options)
        _is_same(aten.addmv.default, X[:, 0], X, X[1], **options)
