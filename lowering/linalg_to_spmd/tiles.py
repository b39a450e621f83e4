"""Operands that are read through sliding windows: recognised, and brought to the PEs as tiles with halos."""

from dataclasses import dataclass
from typing import Any

from mnc.core.bindings import ir
from mnc.lowering.linalg_to_spmd.reading import Generic, Input, linear_form, read_generic, shape_of
from mnc.lowering.linalg_to_spmd.rearranging import has_constant_padding, padding_low, padding_of
from mnc.lowering.linalg_to_spmd.words import word_bits
from mnc.mncore_backend.placement.candidates import Window, Windows, sliding_dims


@dataclass(frozen=True)
class WindowedOperand:
    """The tensor behind an operand, how it is read, and the word that surrounds it (None: it is never left)."""

    source: Any
    windows: Windows
    padding: int | None


def _window(expression: Any, low: int, parallel: tuple[bool, ...]) -> Window | None:
    """One index of an operand as out * stride + kernel * dilation - low; None for other forms."""
    form = linear_form(expression)
    if form is None:
        return None
    factors, offset = form
    outs = [d for d in factors if parallel[d]]
    inner = [d for d in factors if not parallel[d]]
    if len(outs) > 1 or len(inner) > 1 or any(factor < 1 for factor in factors.values()):
        return None
    low -= offset
    if inner and not outs and factors[inner[0]] == 1 and low == 0:
        return Window(inner[0])  # a contracted dimension like any other
    out = outs[0] if outs else None
    stride = factors[out] if out is not None else 1
    if not inner:
        return Window(out, stride, low=low)
    return Window(out, stride, inner[0], factors[inner[0]], low)


def _folded_padding(value: Any) -> Any | None:
    """The `tensor.pad` that makes a value, if its result can be read through instead of being made."""
    owner = value.owner
    if isinstance(owner, ir.Block) or owner.name != "tensor.pad" or not has_constant_padding(owner):
        return None
    return owner if all(low >= 0 for low in padding_low(owner)) else None


def _windowed(operand: Input, parallel: tuple[bool, ...]) -> WindowedOperand | None:
    """How an operand is read through windows; None if it is indexed directly or in another way."""
    if operand.access is not None:
        return None
    pad = _folded_padding(operand.value)
    lows = padding_low(pad) if pad is not None else [0] * len(shape_of(operand.value))
    windows = [_window(e, low, parallel) for e, low in zip(operand.map.results, lows, strict=True)]
    found = tuple(w for w in windows if w is not None)
    mentioned = [d for w in found for d in (w.out, w.kernel) if d is not None]
    if len(found) < len(windows) or len(set(mentioned)) < len(mentioned):
        return None
    if pad is None:
        return WindowedOperand(operand.value, found, None)
    return WindowedOperand(pad.operands[0], found, word_bits(padding_of(pad)))


def copied_windows(operand: Input, parallel: tuple[bool, ...]) -> Windows | None:
    """The windows of which a copy is made for every point of the iteration space; None for other forms."""
    windows = [_window(e, 0, parallel) for e in operand.map.results]
    found = tuple(w for w in windows if w is not None)
    return found if len(found) == len(windows) else None


def tiled_operands(generic: Generic) -> dict[int, WindowedOperand]:
    """Inputs of an operation that come as tiles with halos, by number.

    A contraction does so for its first factor only, if eight neighbours along a dimension without windows can share a
    vector; other operations for all inputs.
    """
    found = {i: _windowed(operand, generic.parallel) for i, operand in enumerate(generic.inputs)}
    tiled = {i: operand for i, operand in found.items() if operand is not None}
    if generic.kind != "contraction":
        return tiled
    if set(tiled) != {0} or generic.inputs[1].access is None:
        return {}
    sliding = sliding_dims(tiled[0].windows)
    lanes = [d for d, is_parallel in enumerate(generic.parallel) if not is_parallel and d not in sliding]
    return tiled if any(generic.extents[d] > 1 for d in lanes) else {}


def is_read_through(pad: Any) -> bool:
    """Whether nobody needs the result of a `tensor.pad` itself: all that use it read it through windows."""
    if _folded_padding(pad.results[0]) is None:
        return False
    for use in pad.results[0].uses:
        if use.owner.name != "linalg.generic":
            return False
        generic = read_generic(use.owner.opview)
        tiled = tiled_operands(generic)
        readers = [i for i, operand in enumerate(generic.inputs) if operand.value == pad.results[0]]
        if generic.init == pad.results[0] or not readers or any(i not in tiled for i in readers):
            return False
    return True
