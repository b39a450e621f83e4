"""Pooling over less: only the elements that windows touch; maxima over one dimension after the other. One window over
all elements becomes a reduction: its parts are folded where they are. Tiles of windows are brought together first.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mnc.core.bindings import ir
from mnc.core.rewrite import Refusal, attributes_of, refuse
from mnc.dialects.graph.attributes import int_array
from mnc.passes.graph.decomposition.build import Handler, flag, value
from mnc.passes.graph.matching import shape_of


@dataclass(frozen=True)
class _Window:
    """One dimension of a pooling."""

    extent: int
    kernel: int
    stride: int
    dilation: int
    low: int
    high: int
    result: int

    @property
    def common(self) -> int:
        """All elements of all windows lie this far apart, counted from the first."""
        return math.gcd(self.stride, self.dilation)

    @property
    def is_whole(self) -> bool:
        """There is one window, and it holds every element."""
        return self.result == 1 == self.dilation and self.kernel >= self.low + self.extent

    @property
    def is_trivial(self) -> bool:
        """Every element is a window."""
        return self.kernel == self.stride == 1 and self.result == self.extent

    def thinned(self) -> "tuple[int, _Window]":
        """First element that counts, and the window over every `common`-th element from there on."""
        g = self.common
        low = -(-self.low // g)
        start = low * g - self.low
        reach = (self.result - 1) * (self.stride // g) + (self.kernel - 1) * (self.dilation // g) + 1
        extent = max(min(-(-(self.extent - start) // g), reach - low), 0)
        return start, _Window(
            extent, self.kernel, self.stride // g, self.dilation // g, low, reach - low - extent, self.result
        )


def _windows(op: Any) -> list[_Window]:
    attributes = op.operation.attributes
    kernel, strides, dilations, pads = (
        int_array(attributes, name) for name in ("kernel", "strides", "dilations", "pads")
    )
    rank = len(kernel)
    data, result = shape_of(op.operation.operands[0])[2:], shape_of(op.operation.results[0])[2:]
    columns = (data, kernel, strides, dilations, pads[:rank], pads[rank:], result)
    return [_Window(*row) for row in zip(*columns, strict=True)]


def _pooled(op: Any, x: ir.Value, windows: Sequence[_Window], ceil_mode: bool) -> ir.Value:
    changed = {
        "kernel": [w.kernel for w in windows],
        "strides": [w.stride for w in windows],
        "dilations": [w.dilation for w in windows],
        "pads": [w.low for w in windows] + [w.high for w in windows],
        "ceil_mode": ceil_mode,
    }
    kept = {name: attribute for name, attribute in attributes_of(op).items() if name not in changed}
    return value("pool", x, **kept, **changed)


def _thinned(op: Any, windows: Sequence[_Window]) -> list[ir.Value] | Refusal:
    """``pool(x)`` -> ``pool(slice(x))`` where strides and dilations have a common divisor."""
    if flag(op, "ceil_mode") and flag(op, "count_include_pad"):
        return refuse("elements beyond the padding do not count, those in the padding do")
    starts, thin = zip(*(window.thinned() for window in windows), strict=True)
    if any(window.extent < 1 for window in thin):
        return refuse("a dimension would lose all of its elements")
    operand = op.operation.operands[0]
    limits = [start + (w.extent - 1) * old.common + 1 for start, w, old in zip(starts, thin, windows, strict=True)]
    x = value("slice", operand, starts=[0, 0, *starts], limits=[*shape_of(operand)[:2], *limits],
              steps=[1, 1, *(window.common for window in windows)])  # fmt: skip
    return [_pooled(op, x, thin, False)]


_FOLDS = {("max", None): "max", ("average", None): "mean", ("lp", 1): "l1", ("lp", 2): "l2"}
"""The reduction that does what a pooling does, by its kind and the exponent of a norm."""


def _whole(op: Any, windows: Sequence[_Window]) -> list[ir.Value] | None:
    """``pool(x)`` -> ``reduce(x)`` where windows hold all elements of some dimensions, and one of every other."""
    attributes = op.operation.attributes
    kind = ir.StringAttr(attributes["kind"]).value
    fold = _FOLDS.get((kind, ir.IntegerAttr(attributes["p"]).value if kind == "lp" else None))
    if kind == "average" and flag(op, "count_include_pad") and any(w.kernel > w.extent for w in windows):
        return None
    axes = [2 + i for i, window in enumerate(windows) if window.is_whole]
    if fold is None or not axes or not all(window.is_whole or window.is_trivial for window in windows):
        return None
    return [value("reduce", op.operation.operands[0], kind=fold, axes=axes, keepdims=True)]


_GAIN = 3
"""How many times fewer elements must be read for another pass over the data."""


_LARGE = 256
"""Elements of a window from which on the parts of its dimensions are folded side by side, in places of their own."""


def _one_by_one(op: Any, windows: Sequence[_Window]) -> list[ir.Value] | None:
    """A maximum or an average over the last dimension of the windows, then one over the others, where that reads less.
    An average is one of averages: windows have as many elements in every row."""
    wide = [i for i, window in enumerate(windows) if window.kernel > 1]
    if len(wide) < 2:
        return None
    last = wide[-1]
    results = math.prod(w.result for w in windows)
    rows = math.prod(w.result if i == last else w.extent for i, w in enumerate(windows))
    others = math.prod(w.kernel for i, w in enumerate(windows) if i != last)
    reads, at_once = rows * windows[last].kernel + results * others, results * others * windows[last].kernel
    if _GAIN * reads > at_once and others * windows[last].kernel < _LARGE:
        return None
    ceil_mode = flag(op, "ceil_mode")
    alone = [w if i == last else _Window(w.extent, 1, 1, 1, 0, 0, w.extent) for i, w in enumerate(windows)]
    rest = [_Window(w.result, 1, 1, 1, 0, 0, w.result) if i == last else w for i, w in enumerate(windows)]
    return [_pooled(op, _pooled(op, op.operation.operands[0], alone, ceil_mode), rest, ceil_mode)]


def pool(op: Any) -> list[ir.Value] | Refusal | None:
    """A reduction; else fewer elements, then fewer at once."""
    windows = _windows(op)
    if (whole := _whole(op, windows)) is not None:
        return whole
    if any(window.common > 1 for window in windows):
        return _thinned(op, windows)
    if ir.StringAttr(op.operation.attributes["kind"]).value in ("max", "average"):
        return _one_by_one(op, windows)
    return None


HANDLERS: Mapping[str, Handler] = {"pool": pool}
