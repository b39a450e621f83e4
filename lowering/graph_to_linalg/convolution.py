"""Convolutions -> `tensor.pad` and a multiply-add `linalg.generic` over windows.

Without groups the loops are (n, m, output..., c, kernel...); with groups the parallel g comes
after n. Kernel dimensions of extent 1 make no loop, so a pointwise convolution is a plain contraction. A kernel that
covers its data has one window, and is a plain contraction, too: over channels and positions as one dimension.
"""

from collections.abc import Sequence
from math import prod

from mnc.core.bindings import ir, tensor
from mnc.lowering.graph_to_linalg import scalar as s
from mnc.lowering.graph_to_linalg.contraction import multiply_add
from mnc.lowering.graph_to_linalg.emit import element_of, filled, pointwise, shape_of
from mnc.lowering.graph_to_linalg.shape import padded, reshaped, reversed_along, sliced
from mnc.lowering.graph_to_linalg.source import Handler, Source
from mnc.lowering.graph_to_linalg.window import Window


def convolve(data: ir.Value, weight: ir.Value, weight_order: str, window: Window) -> ir.Value:
    """Convolution without padding.

    Args:
        data: (N, C, spatial...), or (N, G, C, spatial...) when `weight_order` has a G.
        weight: its leading dimensions are `weight_order`, some order of M, C and perhaps G; then the kernel.
    """
    lead = "NGM" if "G" in weight_order else "NM"
    rank, front = len(window.kernel), len(lead)
    outputs = window.outputs(shape_of(data)[front:])
    number = {letter: i for i, letter in enumerate(lead)} | {"C": front + rank}
    output_loops = [front + i for i in range(rank)]
    kernel_loops = window.loops(front + rank + 1)
    reads = [number[letter] for letter in lead.replace("M", "C")] + window.reads(output_loops, kernel_loops)
    weights = [number[letter] for letter in weight_order] + window.positions(kernel_loops)
    sizes = dict(zip(weight_order, shape_of(weight), strict=False)) | {"N": shape_of(data)[0]}
    reductions = 1 + sum(loop is not None for loop in kernel_loops)
    return multiply_add(
        data,
        weight,
        [reads, weights, list(range(front + rank))],
        [*(sizes[letter] for letter in lead), *outputs],
        "p" * (front + rank) + "r" * reductions,
    )


def _split(value: ir.Value, axis: int, groups: int) -> ir.Value:
    """Split `axis` into (groups, rest)."""
    shape = list(shape_of(value))
    return reshaped(value, [*shape[:axis], groups, shape[axis] // groups, *shape[axis + 1 :]])


def _flat(value: ir.Value, rank: int) -> ir.Value:
    """The last dimension before the `rank` spatial ones takes them in; they stay with extent 1."""
    shape = shape_of(value)
    front = len(shape) - rank - 1
    return reshaped(value, [*shape[:front], prod(shape[front:]), *[1] * rank])


def _with_bias(source: Source, result: ir.Value, bias: ir.Value | None) -> ir.Value:
    shape, element = source.result_shape(), source.element(0)
    result = reshaped(result, shape)
    if bias is None:
        return result
    column = reshaped(bias, [shape[1], *[1] * (len(shape) - 2)])
    return pointwise([result, column], shape, element, lambda a, b: s.add(a, b, element))


def lower_conv(source: Source, data: ir.Value, weight: ir.Value, bias: ir.Value | None = None) -> ir.Value:
    """Pad with zeros, convolve, add the bias."""
    groups, pads = source.int("group"), source.ints("pads")
    rank = len(pads) // 2
    window = Window(tuple(source.shape(1)[2:]), tuple(source.ints("strides")), tuple(source.ints("dilations")))
    if groups > 1:  # first, so that the windows are read through the padding
        data, weight = _split(data, 1, groups), _split(weight, 0, groups)
    front = len(shape_of(data)) - rank
    if not any(pads) and window.covers(shape_of(data)[front:]):
        data, weight, window = _flat(data, rank), _flat(weight, rank), Window((1,) * rank, (1,) * rank, (1,) * rank)
    data = padded(data, [*[0] * front, *pads[:rank]], [*[0] * front, *pads[rank:]], 0)
    return _with_bias(source, convolve(data, weight, "GMC" if groups > 1 else "MC", window), bias)


def _spaced(data: ir.Value, strides: Sequence[int], low: Sequence[int], high: Sequence[int]) -> ir.Value:
    """Put ``stride - 1`` zeros between the elements; add `low` and `high` zeros around, or cut if negative."""
    shape = list(shape_of(data))
    wide = [(extent - 1) * stride + 1 for extent, stride in zip(shape[2:], strides, strict=True)]
    before, after = [max(x, 0) for x in low], [max(x, 0) for x in high]
    if any(stride > 1 for stride in strides):
        full = [a + w + b for a, w, b in zip(before, wide, after, strict=True)]
        zeros = filled([*shape[:2], *full], element_of(data), 0)
        steps = [1, 1, *(stride if extent > 1 else 1 for stride, extent in zip(strides, shape[2:], strict=True))]
        offsets = [0, 0, *before]
        data = tensor.InsertSliceOp(data, zeros, [], [], [], offsets, shape, steps).result
    else:
        data = padded(data, [0, 0, *before], [0, 0, *after], 0)
    cut = [max(-x, 0) for x in low]
    sizes = [a + w + b for a, w, b in zip(low, wide, high, strict=True)]
    return sliced(data, [0, 0, *cut], [*shape[:2], *sizes])


def lower_conv_transpose(source: Source, data: ir.Value, weight: ir.Value, bias: ir.Value | None = None) -> ir.Value:
    """Convolve the spaced data with the kernel reversed; ``output_padding`` widens the high side."""
    groups, pads, extra = source.int("group"), source.ints("pads"), source.ints("output_padding")
    rank = len(pads) // 2
    kernel, dilations = tuple(source.shape(1)[2:]), tuple(source.ints("dilations"))
    reach = [d * (k - 1) for d, k in zip(dilations, kernel, strict=True)]
    low = [r - pads[i] for i, r in enumerate(reach)]
    high = [r - pads[rank + i] + extra[i] for i, r in enumerate(reach)]
    data = _spaced(data, source.ints("strides"), low, high)
    weight = reversed_along(weight, [2 + i for i in range(rank) if kernel[i] > 1])
    window = Window(kernel, (1,) * rank, dilations)
    if groups == 1:
        return _with_bias(source, convolve(data, weight, "CM", window), bias)
    result = convolve(_split(data, 1, groups), _split(weight, 0, groups), "GCM", window)
    return _with_bias(source, result, bias)


HANDLERS: dict[str, Handler] = {"graph.conv": lower_conv, "graph.conv_transpose": lower_conv_transpose}
