"""Shape rules in plain Python: no MLIR. Every function raises ValueError with a clause saying why."""

import math
from collections.abc import Sequence

Shape = tuple[int, ...]


def text(shape: Sequence[int]) -> str:
    """`2x3`, or `scalar` for rank 0."""
    return "x".join(map(str, shape)) or "scalar"


def broadcast(*shapes: Sequence[int]) -> Shape:
    """numpy broadcasting: align at the last dimension, extents are equal or 1."""
    rank = max((len(shape) for shape in shapes), default=0)
    out = [1] * rank
    for shape in shapes:
        for offset, extent in enumerate(shape, rank - len(shape)):
            if extent != 1 and out[offset] not in (1, extent):
                raise ValueError(f"shapes {' and '.join(text(s) for s in shapes)} do not broadcast")
            if extent != 1:
                out[offset] = extent
    return tuple(out)


def broadcast_to(shape: Sequence[int], target: Sequence[int]) -> None:
    """Check that `shape` broadcasts to exactly `target`."""
    if broadcast(shape, target) != tuple(target):
        raise ValueError(f"shape {text(shape)} does not broadcast to {text(target)}")


def axis_in(axis: int, rank: int) -> int:
    """Check that `axis` is normalised: 0 <= axis < rank."""
    if not 0 <= axis < rank:
        raise ValueError(f"axis {axis} is out of range for rank {rank}")
    return axis


def axes_in(axes: Sequence[int], rank: int) -> None:
    """Check that `axes` are normalised, distinct and ascending."""
    for axis in axes:
        axis_in(axis, rank)
    if list(axes) != sorted(set(axes)):
        raise ValueError(f"axes {list(axes)} must be distinct and ascending")


def matmul(lhs: Sequence[int], rhs: Sequence[int]) -> Shape:
    """numpy.matmul: leading dimensions broadcast, a 1-D operand gains a dimension that is dropped again."""
    if not lhs or not rhs:
        raise ValueError("a matmul operand must have at least one dimension")
    left = (1, *lhs) if len(lhs) == 1 else tuple(lhs)
    right = (*rhs, 1) if len(rhs) == 1 else tuple(rhs)
    if left[-1] != right[-2]:
        raise ValueError(f"contracted extents differ: {text(lhs)} times {text(rhs)}")
    out = broadcast(left[:-2], right[:-2])
    out += left[-2:-1] if len(lhs) > 1 else ()
    return out + (right[-1:] if len(rhs) > 1 else ())


def reduce(shape: Sequence[int], axes: Sequence[int], keepdims: bool) -> Shape:
    """Shape after reducing `axes`."""
    axes_in(axes, len(shape))
    return tuple(1 if i in axes else extent for i, extent in enumerate(shape) if keepdims or i not in axes)


def transpose(shape: Sequence[int], permutation: Sequence[int]) -> Shape:
    """out[i] = shape[permutation[i]]."""
    if sorted(permutation) != list(range(len(shape))):
        raise ValueError(f"{list(permutation)} is not a permutation of {len(shape)} dimensions")
    return tuple(shape[i] for i in permutation)


def concat(shapes: Sequence[Sequence[int]], axis: int) -> Shape:
    """Extents add up along `axis` and are equal elsewhere."""
    if not shapes:
        raise ValueError("needs at least one operand")
    axis_in(axis, len(shapes[0]))
    rest = [(*shape[:axis], *shape[axis + 1 :]) for shape in shapes]
    if any(len(s) != len(shapes[0]) or r != rest[0] for s, r in zip(shapes, rest, strict=True)):
        raise ValueError(f"shapes {', '.join(text(s) for s in shapes)} differ outside axis {axis}")
    return (*shapes[0][:axis], sum(shape[axis] for shape in shapes), *shapes[0][axis + 1 :])


def slice_(shape: Sequence[int], starts: Sequence[int], limits: Sequence[int], steps: Sequence[int]) -> Shape:
    """One start, limit (exclusive) and non-zero step per dimension; a negative step counts down.

    Normalised: 0 <= start <= extent and start <= limit <= extent for a positive step;
    -1 <= limit <= start < extent for a negative one.
    """
    if not len(starts) == len(limits) == len(steps) == len(shape):
        raise ValueError(f"needs {len(shape)} starts, limits and steps")
    out = []
    for extent, start, limit, step in zip(shape, starts, limits, steps, strict=True):
        if step == 0:
            raise ValueError("a step is 0")
        ok = 0 <= start <= limit <= extent if step > 0 else -1 <= limit <= start < max(extent, 1)
        if not ok:
            raise ValueError(f"range [{start}, {limit}) step {step} does not lie within extent {extent}")
        out.append(math.ceil((limit - start) / step))
    return tuple(out)


def reshape(shape: Sequence[int], target: Sequence[int]) -> None:
    """Check that both shapes hold equally many elements."""
    if math.prod(shape) != math.prod(target):
        counts = f"({math.prod(shape)} and {math.prod(target)} elements)"
        raise ValueError(f"cannot reshape {text(shape)} to {text(target)} {counts}")


def window(extents: Sequence[int], kernel: Sequence[int], strides: Sequence[int], pads: Sequence[int],
           dilations: Sequence[int], ceil_mode: bool = False) -> Shape:  # fmt: skip
    """Spatial extents of a convolution or pooling; `pads` are all the low ones, then all the high ones."""
    rank = len(extents)
    if not len(kernel) == len(strides) == len(dilations) == rank or len(pads) != 2 * rank:
        raise ValueError(f"kernel, strides, dilations and pads must fit {rank} spatial dimensions")
    if min((*kernel, *strides, *dilations), default=1) < 1 or min(pads, default=0) < 0:
        raise ValueError("kernel, strides and dilations must be positive and pads not negative")
    out = []
    for i in range(rank):
        room = extents[i] + pads[i] + pads[rank + i] - dilations[i] * (kernel[i] - 1) - 1
        if room < 0:
            raise ValueError(f"the window does not fit into dimension {i} of extent {extents[i]}")
        count = (math.ceil(room / strides[i]) if ceil_mode else room // strides[i]) + 1
        # A window that would start in the high padding is dropped (ONNX pooling, ceil_mode).
        if ceil_mode and (count - 1) * strides[i] >= extents[i] + pads[i]:
            count -= 1
        out.append(count)
    return tuple(out)


def transposed_window(extents: Sequence[int], kernel: Sequence[int], strides: Sequence[int], pads: Sequence[int],
                      dilations: Sequence[int], output_padding: Sequence[int]) -> Shape:  # fmt: skip
    """Spatial extents of a transposed convolution."""
    rank = len(extents)
    if not len(kernel) == len(strides) == len(dilations) == len(output_padding) == rank or len(pads) != 2 * rank:
        raise ValueError(f"kernel, strides, dilations, pads and output_padding must fit {rank} spatial dimensions")
    out = tuple(
        strides[i] * (extents[i] - 1) + (kernel[i] - 1) * dilations[i] + 1
        + output_padding[i] - pads[i] - pads[rank + i]
        for i in range(rank)
    )
    if min(out, default=1) < 1:
        raise ValueError(f"the result {text(out)} is empty")
    return out
