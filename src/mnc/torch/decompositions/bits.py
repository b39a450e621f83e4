"""Shifts of integers as products with, and quotients by, powers of two."""

import torch

_aten = torch.ops.aten
FURTHEST = 30
"""The last power of two that an integer of the machine holds, which has 32 bits."""
Operand = torch.Tensor | int


def _power(by: Operand, dtype: torch.dtype) -> Operand | None:
    """2^by, of tensors looked up, because their powers would be those of floats; None if it is too large."""
    if not isinstance(by, torch.Tensor):
        return 2**by if 0 <= by <= FURTHEST else None
    last = min(FURTHEST, torch.iinfo(dtype).bits - 2)
    return torch.tensor([2**count for count in range(last + 1)], dtype=dtype)[by.to(torch.int64)]


def _left(self: Operand, other: Operand) -> torch.Tensor:
    """``aten.bitwise_left_shift``, by 0 to 30; others stay whole, and are refused."""
    power = _power(other, torch.result_type(self, other))
    return NotImplemented if power is None else torch.mul(self, power)  # pyright: ignore[reportArgumentType]


def _right(self: Operand, other: Operand) -> torch.Tensor:
    """``aten.bitwise_right_shift``, by 0 to 30, which rounds down; others stay whole, and are refused."""
    dtype = torch.result_type(self, other)
    power = _power(other, dtype)
    if power is None:
        return NotImplemented
    value = self if isinstance(self, torch.Tensor) else torch.tensor(self, dtype=dtype)
    return torch.div(value, power, rounding_mode="floor")


DECOMPOSITIONS = {
    **dict.fromkeys((_aten.__lshift__.Tensor, _aten.__lshift__.Scalar), _left),
    **dict.fromkeys((_aten.__rshift__.Tensor, _aten.__rshift__.Scalar), _right),
    **{getattr(_aten.bitwise_left_shift, kind): _left for kind in ("Tensor", "Tensor_Scalar", "Scalar_Tensor")},
    **{getattr(_aten.bitwise_right_shift, kind): _right for kind in ("Tensor", "Tensor_Scalar", "Scalar_Tensor")},
}
