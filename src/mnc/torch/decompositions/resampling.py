"""Interpolation: one matrix per spatial dimension, whose transpose is the gradient."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch

_aten = torch.ops.aten
Weights = list[list[float]]
_CUBIC = -0.75  # the coefficient of torch's bicubic kernel


def constant(values: Any, dtype: torch.dtype) -> torch.Tensor:
    """Numbers in a trace: in double precision as they are, so that a proof does not see them rounded."""
    return torch.tensor(values, dtype=torch.float64).to(dtype)


def resampled(x: torch.Tensor, weights: Sequence[Weights], transposed: bool = False) -> torch.Tensor:
    """`x` with a matrix [out, extent] applied to each of its last dimensions; or with the transposed matrices."""
    for i, rows in enumerate(weights):
        axis = x.dim() - len(weights) + i
        matrix = constant(rows, x.dtype)
        moved = x.transpose(axis, -1)
        flat = moved.reshape(-1, moved.shape[-1])
        product = _aten.mm(flat, matrix if transposed else matrix.t())
        x = product.reshape(*moved.shape[:-1], product.shape[-1]).transpose(axis, -1)
    return x


def _source(place: int, extent: int, out: int, corners: bool, scale: float | None) -> float:
    """Where the output element `place` lies among the input elements."""
    if corners:
        return place * (extent - 1) / (out - 1) if out > 1 else 0.0
    return (place + 0.5) * (1 / scale if scale else extent / out) - 0.5


def _row(extent: int, taps: dict[int, float]) -> list[float]:
    """A row of a matrix; taps beyond the border fall on it."""
    row = [0.0] * extent
    for place, weight in taps.items():
        row[min(max(place, 0), extent - 1)] += weight
    return row


def _linear(extent: int, out: int, corners: bool, scale: float | None) -> Weights:
    rows = []
    for i in range(out):
        source = max(_source(i, extent, out, corners, scale), 0.0)
        low = min(math.floor(source), extent - 1)
        rows.append(_row(extent, {low: 1 - (source - low), low + 1: source - low}))
    return rows


def _cubic(extent: int, out: int, corners: bool, scale: float | None) -> Weights:
    a, rows = _CUBIC, []
    for i in range(out):
        source = _source(i, extent, out, corners, scale)
        low = math.floor(source)
        taps = {}
        for place in range(low - 1, low + 3):
            d = abs(source - place)
            near, far = ((a + 2) * d - (a + 3)) * d * d + 1, ((d - 5) * d + 8) * d * a - 4 * a
            taps[place] = near if d <= 1 else far
        rows.append(_row(extent, taps))
    return rows


def _nearest(extent: int, out: int, scale: float | None, exact: bool) -> list[int]:
    """Which input element each output element is."""
    step = 1 / scale if scale else extent / out
    return [min(math.floor((i + (0.5 if exact else 0.0)) * step), extent - 1) for i in range(out)]


def _interpolation(rank: int, kind: Callable[..., Weights]) -> tuple[Any, Any]:
    """``aten.upsample_*`` and its backward."""

    def weights(extents: Sequence[int], out: Sequence[int], corners: bool, scales: Sequence[Any]) -> list[Weights]:
        given = list(scales) or [None] * rank
        return [kind(e, o, corners, s) for e, o, s in zip(extents, out, given, strict=True)]

    def forward(self: torch.Tensor, output_size: list[int], align_corners: bool, *scales: float | None) -> torch.Tensor:
        return resampled(self, weights(self.shape[-rank:], output_size, align_corners, scales))

    def backward(
        grad_output: torch.Tensor, output_size: list[int], input_size: list[int], align_corners: bool,
        *scales: float | None,
    ) -> torch.Tensor:  # fmt: skip
        found = weights(input_size[-rank:], output_size, align_corners, scales)
        return resampled(grad_output, found, transposed=True)

    return forward, backward


def _repetition(rank: int, exact: bool) -> tuple[Any, Any]:
    """``aten.upsample_nearest*`` and its backward: elements are repeated, not computed."""

    def places(extents: Sequence[int], out: Sequence[int], scales: Sequence[Any]) -> list[list[int]]:
        given = list(scales) or [None] * rank
        return [_nearest(e, o, s, exact) for e, o, s in zip(extents, out, given, strict=True)]

    def forward(self: torch.Tensor, output_size: list[int], *scales: float | None) -> torch.Tensor:
        extents, result = self.shape[-rank:], self
        for i, chosen in enumerate(places(extents, output_size, scales)):
            result = _repeated(result, self.dim() - rank + i, chosen)
        return result

    def backward(
        grad_output: torch.Tensor, output_size: list[int], input_size: list[int], *scales: float | None
    ) -> torch.Tensor:
        result, extents = grad_output, input_size[-rank:]
        for i, chosen in enumerate(places(extents, output_size, scales)):
            result = _collected(result, grad_output.dim() - rank + i, chosen, extents[i])
        return result

    return forward, backward


def _factor(chosen: list[int], extent: int) -> int | None:
    """How often each element stands there, if all stand there equally often."""
    factor = len(chosen) // extent
    return factor if factor and chosen == [i // factor for i in range(extent * factor)] else None


def _repeated(x: torch.Tensor, axis: int, chosen: list[int]) -> torch.Tensor:
    extent = x.shape[axis]
    factor = _factor(chosen, extent)
    if factor is None:
        return _aten.index_select(x, axis, torch.tensor(chosen))
    before, behind = x.shape[:axis], x.shape[axis + 1 :]
    wide = x.unsqueeze(axis + 1).expand(*before, extent, factor, *behind)
    return wide.reshape(*before, extent * factor, *behind)


def _collected(g: torch.Tensor, axis: int, chosen: list[int], extent: int) -> torch.Tensor:
    """The transpose of `_repeated`."""
    factor = _factor(chosen, extent)
    if factor is not None:
        return g.reshape(*g.shape[:axis], extent, factor, *g.shape[axis + 1 :]).sum(axis + 1)
    weights = [_row(extent, {place: 1.0}) for place in chosen]
    return resampled(g.transpose(axis, -1), [weights], transposed=True).transpose(axis, -1)


def _table() -> dict[Any, Callable[..., Any]]:
    pairs: dict[str, tuple[Any, Any]] = {
        "upsample_linear1d": _interpolation(1, _linear),
        "upsample_bilinear2d": _interpolation(2, _linear),
        "upsample_trilinear3d": _interpolation(3, _linear),
        "upsample_bicubic2d": _interpolation(2, _cubic),
    }
    for rank in (1, 2, 3):
        pairs[f"upsample_nearest{rank}d"] = _repetition(rank, exact=False)
        pairs[f"_upsample_nearest_exact{rank}d"] = _repetition(rank, exact=True)
    table = {}
    for name, (forward, backward) in pairs.items():
        table[getattr(_aten, name).default] = forward
        table[getattr(_aten, f"{name}_backward").default] = backward
    return table


DECOMPOSITIONS = _table()
