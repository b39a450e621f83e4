"""Linear maps given by a formula, as products with matrices made when compiling: DFT, and Col2Im as a convolution."""

from typing import Any

import numpy as np

from mnc.dialects import graph
from mnc.lowering.onnx_to_graph.node import Node, constant, reshape, shape_of


def _forward(length: int, count: int, sign: int) -> Any:
    """Complex matrix [length, count] of ``e^(sign 2 pi i n k / length)``.

    Angles are reduced to an eighth of a turn as integers, so that quarters of a turn are exact.
    """
    eighths = 8 * (np.outer(np.arange(length), np.arange(count)) % max(length, 1))  # of a turn, times length
    octant, rest = np.divmod(eighths, max(length, 1))
    odd = octant % 2 == 1
    angle = np.where(odd, length - rest, rest) * (np.pi / 4 / max(length, 1))
    cosine, sine = np.cos(angle), np.sin(angle)
    # The first octant, mirrored at its upper border for the second; then quarter turns.
    first = np.where(odd, sine + 1j * cosine, cosine + 1j * sine)
    whole = first * np.array([1, 1j, -1, -1j])[octant // 2]
    return whole if sign > 0 else whole.conj()


def _real_from_half(count: int, length: int) -> np.ndarray:
    """Matrix [count * 2, length] from the first `count` of `length` coefficients of a real signal to the signal."""
    weight = np.full(count, 2.0)
    weight[0] = 1.0
    if length % 2 == 0 and count == length // 2 + 1:
        weight[-1] = 1.0
    waves = _forward(length, length, 1)[:count] * (weight / length)[:, None]
    return np.stack([waves.real, -waves.imag], axis=1).reshape(2 * count, length)


def _as_real(matrix: Any, parts: int) -> np.ndarray:
    """The matrix on interleaved real and imaginary parts; it takes real numbers where `parts` is 1."""
    from_real = np.stack([matrix.real, matrix.imag], axis=-1)
    if parts == 1:
        return from_real.reshape(matrix.shape[0], -1)
    from_imaginary = np.stack([-matrix.imag, matrix.real], axis=-1)
    return np.stack([from_real, from_imaginary], axis=1).reshape(2 * matrix.shape[0], -1)


def dft(node: Node) -> Any:
    """DFT along one axis of [..., n, ..., 1 or 2], the last dimension holding real and imaginary part."""
    x = node.operand(0)
    rank, parts = len(shape_of(x)), shape_of(x)[-1]
    if node.version >= 20:
        axis = node.constant_ints(2, "axis")[0] if node.has(2) else -2
    else:
        axis = node.attribute("axis", 1)
    axis = node.axis(axis, rank)
    inverse, onesided = bool(node.attribute("inverse", 0)), bool(node.attribute("onesided", 0))
    to_real = inverse and onesided
    given = shape_of(x)[axis]
    length = node.constant_ints(1, "dft_length")[0] if node.has(1) else 2 * (given - 1) if to_real else given
    taken = length // 2 + 1 if to_real else length
    order = [*(i for i in range(rank) if i not in (axis, rank - 1)), axis, rank - 1]
    x = graph.Transpose.build(x, permutation=order).result
    lead = shape_of(x)[:-2]
    if taken < given:
        sizes = shape_of(x)
        x = graph.Slice.build(x, starts=[0] * rank, limits=[*lead, taken, parts], steps=[1] * len(sizes)).result
    present = min(taken, given)  # what is missing up to the length counts as zero
    if to_real:
        matrix, shape = _real_from_half(taken, length)[: 2 * present], [length, 1]
    else:
        count = length // 2 + 1 if onesided else length
        complex_matrix = _forward(length, count, 1 if inverse else -1)[:present] / (length if inverse else 1)
        matrix, shape = _as_real(complex_matrix, parts), [count, 2]
    rows = reshape(x, [int(np.prod(lead)), present * parts])
    product = reshape(graph.MatMul.build(rows, constant(matrix, like=x)).result, [*lead, *shape])
    return graph.Transpose.build(product, permutation=[order.index(i) for i in range(rank)]).result


def col2im(node: Node) -> Any:
    """Col2Im: overlapping blocks are added up, a transposed convolution whose kernel sends each row to its place."""
    x = node.operand(0)
    image, block = node.constant_ints(1, "image_shape"), node.constant_ints(2, "block_shape")
    rank, size = len(image), int(np.prod(block))
    strides, dilations = (node.attribute(name) or [1] * rank for name in ("strides", "dilations"))
    pads = node.attribute("pads") or [0] * (2 * rank)
    batch, rows, _ = shape_of(x)
    reach = [(b - 1) * d + 1 for b, d in zip(block, dilations, strict=True)]
    room = [image[i] + pads[i] + pads[rank + i] - reach[i] for i in range(rank)]
    counts = [r // s + 1 for r, s in zip(room, strides, strict=True)]
    kernel = np.tile(np.eye(size).reshape(size, 1, *block), (rows // size, 1, *[1] * rank))
    return graph.ConvTranspose.build(
        reshape(x, [batch, rows, *counts]),
        constant(kernel, like=x),
        strides=strides,
        pads=pads,
        dilations=dilations,
        output_padding=[r % s for r, s in zip(room, strides, strict=True)],
        group=rows // size,
    ).result


def stft(node: Node) -> Any:
    """STFT: a convolution with waves of all frequencies, by steps of a frame."""
    signal = node.operand(0)
    shape = shape_of(signal)
    batch, length, parts = shape if len(shape) > 2 else [*shape, 1]
    step = node.constant_ints(1, "frame_step")[0]
    window = shape_of(node.operand(2))[0] if node.has(2) else length
    size = node.constant_ints(3, "frame_length")[0] if node.has(3) else window
    if step < 1 or not 0 < size <= length or (node.has(2) and window != size):
        message = f"frames of {size} every {step} with a window of {window} do not fit a signal of {length}"
        raise node.error(message, hint="a window is as long as a frame, and a frame at most as long as the signal")
    count = size // 2 + 1 if node.attribute("onesided", 1) else size
    waves = _as_real(_forward(size, count, -1), parts).reshape(size, parts, 2 * count)
    kernel = constant(waves.transpose(2, 1, 0), like=signal)
    if node.has(2):
        kernel = graph.Mul.build(kernel, reshape(node.operand(2), [1, 1, size])).result
    channels = graph.Transpose.build(reshape(signal, [batch, length, parts]), permutation=[0, 2, 1]).result
    found = graph.Conv.build(channels, kernel, strides=[step], pads=[0, 0], dilations=[1], group=1).result
    frames = shape_of(found)[2]
    turned = graph.Transpose.build(found, permutation=[0, 2, 1]).result
    return reshape(turned, [batch, frames, count, 2])
