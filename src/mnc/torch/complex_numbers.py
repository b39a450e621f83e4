"""Complex numbers in a trace, as pairs of real tensors: the second round takes calls on them apart."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import fx

from mnc.core.diagnostics import CompileError
from mnc.torch import fourier
from mnc.torch.module_paths import described
from mnc.torch.operators.hints import special_hint

_aten = torch.ops.aten


@dataclass(frozen=True)
class Complex:
    """A complex tensor."""

    real: torch.Tensor
    imag: torch.Tensor

    @property
    def parts(self) -> fourier.Parts:
        """Both."""
        return self.real, self.imag


def lifted(value: Any) -> Complex:
    """A tensor or number as a complex one."""
    if isinstance(value, Complex):
        return value
    if isinstance(value, torch.Tensor):
        value = value if value.is_floating_point() else value.to(torch.float32)
        return Complex(value, torch.zeros_like(value))
    number = complex(value)
    return Complex(torch.tensor(number.real), torch.tensor(number.imag))


def is_complex(node: fx.Node) -> bool:
    """Whether a call gives complex tensors."""
    value = node.meta.get("val")
    first = value[0] if isinstance(value, list | tuple) and value else value
    return isinstance(first, torch.Tensor) and first.is_complex()


def call(node: fx.Node, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A call with complex operands, or with a complex result.

    Raises:
        CompileError: an operator that is not known for complex numbers.
    """
    if name in _RULES:
        return _RULES[name](*args, **_without_types(kwargs))
    if name in _BY_PARTS:
        return _by_parts(node.target, args, _without_types(kwargs))
    message = f"this operator is not supported for complex numbers{described(node)}"
    hint = special_hint(name) or "write it with the real and imaginary part, or with absolute value and angle"
    raise CompileError(message, op_type=str(node.target), hint=hint)


def _without_types(kwargs: dict[str, Any]) -> dict[str, Any]:
    """The parts have the type of the default."""
    return {key: value for key, value in kwargs.items() if key not in ("dtype", "layout", "device", "pin_memory")}


_OTHERWISE = {_aten.view.default: _aten.reshape.default, _aten.transpose_.default: _aten.transpose.int}


def _by_parts(target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The same with the real parts, and with the imaginary ones."""

    def taken(value: Any, part: int) -> Any:
        if isinstance(value, list | tuple):
            return [taken(inner, part) for inner in value]
        is_data = isinstance(value, Complex) or (isinstance(value, torch.Tensor) and value.is_floating_point())
        return lifted(value).parts[part] if is_data else value

    target = _OTHERWISE.get(target, target)
    results = [target(*(taken(value, part) for value in args), **kwargs) for part in (0, 1)]
    if isinstance(results[0], list | tuple):
        return [Complex(*pair) for pair in zip(*results, strict=True)]
    return Complex(*results)


def _is_real(value: Any) -> bool:
    return not isinstance(value, Complex | complex)


def _sum(a: Any, b: Any, alpha: Any = 1, sign: int = 1) -> Complex:
    a, b = lifted(a), _product(b, sign * alpha)
    return Complex(a.real + b.real, a.imag + b.imag)


def _product(a: Any, b: Any, times: Callable[[Any, Any], Any] = torch.mul) -> Complex:
    if _is_real(a) and isinstance(b, Complex):
        return Complex(times(a, b.real), times(a, b.imag))
    if _is_real(b):
        a = lifted(a)
        return Complex(times(a.real, b), times(a.imag, b))
    a, b = lifted(a), lifted(b)
    real = times(a.real, b.real) - times(a.imag, b.imag)
    return Complex(real, times(a.real, b.imag) + times(a.imag, b.real))


def _quotient(a: Any, b: Any) -> Complex:
    if _is_real(b):
        return Complex(a.real / b, a.imag / b)
    b = lifted(b)
    return _product(a, _product(_conjugate(b), (b.real * b.real + b.imag * b.imag).reciprocal()))


def _conjugate(a: Any) -> Complex:
    a = lifted(a)
    return Complex(a.real, -a.imag)


def _size(a: Complex) -> torch.Tensor:
    return torch.sqrt(a.real * a.real + a.imag * a.imag)


def _direction(a: Complex) -> Complex:
    """``aten.sgn``: of absolute value 1, or 0."""
    size = _size(a)
    return _product(a, torch.where(size == 0, 0.0, 1 / torch.where(size == 0, 1.0, size)))


def _exponential(a: Complex) -> Complex:
    return _polar(torch.exp(a.real), a.imag)


def _polar(size: torch.Tensor, angle: torch.Tensor) -> Complex:
    return Complex(size * torch.cos(angle), size * torch.sin(angle))


def _power(a: Complex, exponent: Any) -> Complex:
    if exponent == 2:
        return _product(a, a)
    if exponent == 1:
        return a
    size = torch.pow(_size(a), exponent)
    return _polar(size, torch.atan2(a.imag, a.real) * exponent)


def _same(a: Any, *_: Any) -> Complex:
    return lifted(a)


def _full(size: Any, value: Any) -> Complex:
    number = complex(value)
    return Complex(torch.full(size, number.real), torch.full(size, number.imag))


def _full_like(a: Any, value: Any) -> Complex:
    number, shape = complex(value), lifted(a).real
    return Complex(torch.full_like(shape, number.real), torch.full_like(shape, number.imag))


def _filled(a: Any, mask: torch.Tensor, value: Any) -> Complex:
    parts = zip(lifted(value).parts, lifted(a).parts, strict=True)
    return Complex(*(torch.where(mask, own, old) for own, old in parts))


def _padded(a: Any, pad: Any, value: Any = 0) -> Complex:
    number = complex(value)
    parts = zip(lifted(a).parts, (number.real, number.imag), strict=True)
    return Complex(*(_aten.constant_pad_nd.default(part, pad, own) for part, own in parts))


def _is_equal(a: Any, b: Any) -> torch.Tensor:
    a, b = lifted(a), lifted(b)
    return (a.real == b.real) & (a.imag == b.imag)


_RULES: dict[str, Callable[..., Any]] = {
    "add": _sum,
    "sub": lambda a, b, alpha=1: _sum(a, b, alpha, -1),
    "rsub": lambda a, b, alpha=1: _sum(b, a, alpha, -1),
    "mul": _product,
    "mm": lambda a, b: _product(a, b, _aten.mm.default),
    "bmm": lambda a, b: _product(a, b, _aten.bmm.default),
    "mv": lambda a, b: _product(a, b, _aten.mv.default),
    "dot": lambda a, b: _product(a, b, _aten.dot.default),
    "div": _quotient,
    "reciprocal": lambda a: _quotient(1.0, a),
    "pow": _power,
    "exp": _exponential,
    "abs": _size,
    "sgn": _direction,
    "angle": lambda a: torch.atan2(a.imag, a.real),
    **dict.fromkeys(("_conj", "_conj_physical", "conj_physical", "conj"), _conjugate),
    **dict.fromkeys(("_to_copy", "resolve_conj", "resolve_neg"), _same),
    "complex": Complex,
    "polar": _polar,
    "real": lambda a: a.real,
    "imag": lambda a: a.imag,
    "view_as_real": lambda a: torch.stack(a.parts, -1),
    "view_as_complex": lambda x: Complex(x.select(-1, 0), x.select(-1, 1)),
    "eq": _is_equal,
    "ne": lambda a, b: ~_is_equal(a, b),
    "scalar_tensor": lifted,
    "full": _full,
    "full_like": _full_like,
    "ones": lambda size: _full(size, 1),
    "ones_like": lambda a: _full_like(a, 1),
    "masked_fill": _filled,
    "constant_pad_nd": _padded,
    **dict.fromkeys(("zeros", "empty"), lambda size: _full(size, 0)),
    **dict.fromkeys(("new_zeros", "new_empty", "new_empty_strided"), lambda a, size, *_: _full(size, 0)),
    "_fft_r2c": lambda x, *numbers: Complex(*fourier.from_real(x, *numbers)),
    "_fft_c2c": lambda a, *numbers: Complex(*fourier.between_complex(lifted(a).parts, *numbers)),
    "_fft_c2r": lambda a, *numbers: fourier.to_real(lifted(a).parts, *numbers),
}
_BY_PARTS = frozenset((
    "view", "_unsafe_view", "reshape", "permute", "transpose", "transpose_", "t", "expand", "slice", "select",
    "squeeze", "unsqueeze", "clone", "alias", "detach", "contiguous", "lift_fresh_copy", "flip", "roll",
    "index_select", "gather", "elements", "with_elements", "index", "cat", "stack", "split", "split_with_sizes",
    "unbind", "sum", "mean", "cumsum", "neg", "slice_backward", "select_backward", "diagonal", "diagonal_backward",
    "repeat", "zeros_like", "empty_like", "slice_scatter", "select_scatter", "copy", "where",
    "unfold", "triu", "tril", "index_add",
))  # fmt: skip
