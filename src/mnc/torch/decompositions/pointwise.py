"""Element-wise operators that torch has no definition of, or one that guards against NaN."""

import math

import torch

_aten = torch.ops.aten


def shrink_backward(grad_output: torch.Tensor, self: torch.Tensor, lambd: float) -> torch.Tensor:
    """``aten.hardshrink_backward`` and ``aten.softshrink_backward``: nothing passes between -lambd and lambd."""
    return torch.where(self.abs() <= lambd, 0.0, grad_output)


def xlogy(self: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
    """``aten.xlogy.Tensor``: zero where `self` is."""
    return torch.where(self == 0, 0.0, self * torch.log(other))


def log2(self: torch.Tensor) -> torch.Tensor:
    """``aten.log2``."""
    return torch.log(self) * (1 / math.log(2))


def log10(self: torch.Tensor) -> torch.Tensor:
    """``aten.log10``."""
    return torch.log(self) * (1 / math.log(10))


def exp2(self: torch.Tensor) -> torch.Tensor:
    """``aten.exp2``."""
    return torch.exp(self * math.log(2))


def erfc(self: torch.Tensor) -> torch.Tensor:
    """``aten.erfc``, to the rounding of erf."""
    return 1 - torch.erf(self)


def hypot(self: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
    """``aten.hypot``, where squares are no infinity."""
    return torch.sqrt(self * self + other * other)


def atan2(self: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
    """``aten.atan2``: the angle of (other, self), from one within an eighth of the circle; zeros have no sign."""
    high, wide = self.abs(), other.abs()
    longest = torch.maximum(high, wide)
    angle = torch.atan(torch.minimum(high, wide) / torch.where(longest == 0, 1.0, longest))
    angle = torch.where(high > wide, math.pi / 2 - angle, angle)
    angle = torch.where(other < 0, math.pi - angle, angle)
    return torch.where(self < 0, -angle, angle)


def isinf(self: torch.Tensor) -> torch.Tensor:
    """``aten.isinf``."""
    return self.abs() == math.inf if self.is_floating_point() else torch.zeros_like(self, dtype=torch.bool)


def signbit(self: torch.Tensor) -> torch.Tensor:
    """``aten.signbit``; zeros have no sign."""
    return self < 0


def copysign(self: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
    """``aten.copysign.Tensor``; zeros have no sign."""
    size = self.abs()
    return torch.where(other < 0, -size, size)


def lerp(self: torch.Tensor, end: torch.Tensor, weight: torch.Tensor | float) -> torch.Tensor:
    """``aten.lerp``, from the end that is nearer, so that both ends are exact."""
    way = end - self
    if isinstance(weight, torch.Tensor):
        return torch.where(weight.abs() < 0.5, self + weight * way, end - (1 - weight) * way)
    return self + weight * way if abs(weight) < 0.5 else end - (1 - weight) * way


def ldexp(self: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
    """``aten.ldexp.Tensor``."""
    return self * torch.pow(2.0, other)


def fake_quantize(
    self: torch.Tensor, scale: float, zero_point: int, quant_min: int, quant_max: int
) -> tuple[torch.Tensor, torch.Tensor]:
    """``aten.fake_quantize_per_tensor_affine_cachemask``: the result, and which elements are in range."""
    number = (self * (1 / scale)).round() + zero_point
    inside = (number >= quant_min) & (number <= quant_max)
    return (number.clamp(quant_min, quant_max) - zero_point) * scale, inside


def fake_quantize_channels(
    self: torch.Tensor, scale: torch.Tensor, zero_point: torch.Tensor, axis: int, quant_min: int, quant_max: int
) -> tuple[torch.Tensor, torch.Tensor]:
    """``aten.fake_quantize_per_channel_affine_cachemask``: `scale` and `zero_point` of each place along `axis`."""
    shape = [-1 if dim == axis % self.dim() else 1 for dim in range(self.dim())]
    return _fake_quantize_by(self, scale.reshape(shape), zero_point.reshape(shape), quant_min, quant_max)


def fake_quantize_by_tensors(
    self: torch.Tensor, scale: torch.Tensor, zero_point: torch.Tensor, fake_quant_enabled: torch.Tensor, quant_min: int,
    quant_max: int,
) -> tuple[torch.Tensor, torch.Tensor]:  # fmt: skip
    """``aten._fake_quantize_per_tensor_affine_cachemask_tensor_qparams``: nothing changes where it is not enabled."""
    found, inside = _fake_quantize_by(self, scale, zero_point, quant_min, quant_max)
    enabled = fake_quant_enabled != 0
    return torch.where(enabled, found, self), inside | ~enabled


def _fake_quantize_by(
    x: torch.Tensor, scale: torch.Tensor, zero_point: torch.Tensor, low: int, high: int
) -> tuple[torch.Tensor, torch.Tensor]:
    number = x * (1 / scale)
    # Torch rounds before it adds a whole zero point, and behind a broken one.
    number = (number + zero_point).round() if zero_point.is_floating_point() else number.round() + zero_point
    return (number.clamp(low, high) - zero_point) * scale, (number >= low) & (number <= high)


DECOMPOSITIONS = {
    _aten._fake_quantize_per_tensor_affine_cachemask_tensor_qparams.default: fake_quantize_by_tensors,
    _aten.fake_quantize_per_channel_affine_cachemask.default: fake_quantize_channels,
    _aten.atan2.default: atan2,
    _aten.copysign.Tensor: copysign,
    _aten.erfc.default: erfc,
    _aten.exp2.default: exp2,
    _aten.fake_quantize_per_tensor_affine_cachemask.default: fake_quantize,
    _aten.hardshrink_backward.default: shrink_backward,
    _aten.hypot.default: hypot,
    _aten.isinf.default: isinf,
    _aten.ldexp.Tensor: ldexp,
    _aten.lerp.Scalar: lerp,
    _aten.lerp.Tensor: lerp,
    _aten.log10.default: log10,
    _aten.log2.default: log2,
    _aten.signbit.default: signbit,
    _aten.softshrink_backward.default: shrink_backward,
    _aten.xlogy.Tensor: xlogy,
}
