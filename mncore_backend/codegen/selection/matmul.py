"""``mncore.matmul`` -> the offsets that the matrix kernel generator works on."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mnc.core.bindings import ir
from mnc.dialects.mncore.attributes import placement_in
from mnc.mncore_backend.kernels.matmul import MatmulSpec, at_least_half
from mnc.mncore_backend.kernels.matmul.packing import packed_longs, packed_offsets
from mnc.mncore_backend.layout import Axis, Digit, Layout
from mnc.mncore_backend.placement.candidates.space import LANE_COUNT, LANES
from mnc.mncore_backend.program import Buffer
from mnc.mncore_backend.target import Precision

Dims = Sequence[str]


def _names(op: Any, attribute: str) -> list[str]:
    return [ir.StringAttr(item).value for item in ir.ArrayAttr(op.attributes[attribute])]


def _address_digits(layout: Layout, dims: Dims) -> dict[str, list[Digit]]:
    """Address digits of each named dimension, outer to inner."""
    return {
        name: [d for d in digits if d.axis is Axis.ADDRESS and d.size > 1]
        for name, digits in zip(dims, layout.dims, strict=True)
    }


def _stepped_digits(attribute: Any) -> dict[str, list[Digit]]:
    """Address digits from pairs (size, stride) per dimension."""
    result: dict[str, list[Digit]] = {}
    for item in ir.DictAttr(attribute):
        numbers = list(ir.DenseI64ArrayAttr(item.attr))
        pairs = zip(numbers[::2], numbers[1::2], strict=True)
        result[item.name] = [Digit(size, Axis.ADDRESS, stride) for size, stride in pairs]
    return result


def _has_lanes(layout: Layout, dims: Dims, name: str) -> bool:
    digits = tuple(d for d in layout.dims[dims.index(name)] if d.size > 1)
    return digits[-len(LANES) :] == LANES


class Points:
    """All combinations of the address digits of some dimensions, in row-major order."""

    def __init__(self, sizes: Sequence[tuple[str, int]]) -> None:
        self.count = int(np.prod([size for _, size in sizes], dtype=np.int64)) if sizes else 1
        grid = np.indices([size for _, size in sizes], dtype=np.int64).reshape(len(sizes), self.count)
        self.values: dict[str, list[NDArray[np.int64]]] = {}
        for (name, _), column in zip(sizes, grid, strict=True):
            self.values.setdefault(name, []).append(column)

    def offsets(self, digits: dict[str, list[Digit]]) -> NDArray[np.int64]:
        """Long-word offset contributed to an operand with these address digits, one per point."""
        total = np.zeros(self.count, np.int64)
        for name, columns in self.values.items():
            if name in digits:
                for column, digit in zip(columns, digits[name], strict=True):
                    total = total + column * digit.stride
        return total


def _sizes(digits: dict[str, list[Digit]], role: str) -> list[tuple[str, int]]:
    return [(name, d.size) for name, own in digits.items() if name.startswith(role) for d in own]


def _one_part(
    op: Any, operands: Mapping[str, dict[str, list[Digit]]]
) -> tuple[dict[str, dict[str, list[Digit]]], dict[str, int]]:
    """Address digits of the operands of a product whose attribute `part` says that one of them, `part_of`, is a part of
    what would fit the others: ranges of digits, of which the others use as much; and where they begin in them."""
    starts = dict.fromkeys(operands, 0)
    if "part" not in op.attributes:
        return dict(operands), starts
    cut = ir.StringAttr(op.attributes["part_of"]).value
    result = {operand: {name: list(own) for name, own in digits.items()} for operand, digits in operands.items()}
    for item in ir.DictAttr(op.attributes["part"]):
        numbers = list(ir.DenseI64ArrayAttr(item.attr))
        for digit, start, size in sorted(zip(numbers[::3], numbers[1::3], numbers[2::3], strict=True)):
            for operand, digits in result.items():
                own = digits.get(item.name)
                if own is None:
                    continue
                if operand != cut:
                    starts[operand] += start * own[digit].stride
                    own[digit] = Digit(size, Axis.ADDRESS, own[digit].stride)
                elif size == 1:  # no digit of the layout, but one of the product
                    own.insert(digit, Digit(1, Axis.ADDRESS, 0))
    return result, starts


BESIDE = (
    "arith.constant", "memref.alloc", "memref.memory_space_cast", "mncore.constant", "mncore.dl", "mncore.ul",
)  # fmt: skip
"""What may stand between two products that leave their sums in registers: it needs none."""


def going_on(operations: Sequence[Any]) -> set[Any]:
    """Products whose result only the next product reads, which adds to it, with nothing but transfers between."""
    found: set[Any] = set()
    last: Any = None
    for op in operations:
        if op.name == "mncore.matmul":
            adds = len(op.operands) > 3 and op.operands[3] == op.operands[2]
            if adds and last is not None and last.operands[2] == op.operands[2] and _alike(last, op):
                found.add(last)
            last = op
        elif op.name not in BESIDE or (last is not None and last.operands[2] in list(op.operands)):
            last = None
    return found


def _alike(one: Any, other: Any) -> bool:
    """Whether two products arrange their sums in the same way."""
    names = "x_dims", "w_dims", "y_dims", "precision", "part", "x_steps"
    if ("packed" in one.attributes) != ("packed" in other.attributes):
        return False
    return all(one.attributes.get(name) == other.attributes.get(name) for name in names)


def matmul_specs(
    op: Any, layouts: Sequence[Layout], buffers: Sequence[Buffer], precision: Precision, initial: Buffer | None = None
) -> list[MatmulSpec]:
    """One specification per batch entry that a PE holds.

    Args:
        layouts, buffers: of x, w and y, in this order.
        initial: what the sums start from, arranged as y.
    """
    dims = [_names(op, attribute) for attribute in ("x_dims", "w_dims", "y_dims")]
    is_packed = "packed" in op.attributes
    if is_packed:
        layouts = [layouts[0], placement_in(op.attributes["packed"]).layout, layouts[2]]
    x, w, y = (_address_digits(layout, own) for layout, own in zip(layouts, dims, strict=True))
    if "x_steps" in op.attributes:
        x = _stepped_digits(op.attributes["x_steps"])
    operands, starts = _one_part(op, {"x": x, "w": w, "y": y})
    x, w, y = operands["x"], operands["w"], operands["y"]
    lane = next((n for n in dims[2] if n.startswith("n") and _has_lanes(layouts[2], dims[2], n)), None)
    column_sizes = _sizes(w, "n")
    if lane is not None:
        inner = [i for i, (name, _) in enumerate(column_sizes) if name == lane][-1]
        lanes_of_w = w[lane].pop()  # the eight columns of a block are addresses of w and lanes of y
        assert lanes_of_w.size == LANE_COUNT
        column_sizes.pop(inner)
    rows, blocks = Points(_sizes(x, "m")), Points(_sizes(x, "k"))
    columns, batch = Points(column_sizes), Points(_sizes(x, "b"))
    in_block = np.arange(LANE_COUNT) * lanes_of_w.stride if lane is not None else np.zeros(LANE_COUNT, np.int64)
    w_rows = (columns.offsets(w)[:, None] + in_block).reshape(-1)
    specs = []
    batches = (batch.offsets(digits) + starts[operand] for operand, digits in operands.items())
    for bx, bw, by in zip(*batches, strict=True):
        y_offset = by + rows.offsets(y)[:, None] + columns.offsets(y)
        spec = MatmulSpec(
            x=buffers[0],
            w=buffers[1],
            y=buffers[2],
            x_offset=bx + rows.offsets(x)[:, None] + blocks.offsets(x),
            w_offset=bw + w_rows[:, None] + blocks.offsets(w),
            y_offset=y_offset,
            initial=(initial, y_offset) if initial is not None else None,
            precision=precision,
        )
        specs.append(spec)
    if is_packed:
        return with_packed(specs, buffers[1])
    return [at_least_half(spec) for spec in specs] if precision == "half" else specs


def with_packed(specs: Sequence[MatmulSpec], w: Buffer) -> list[MatmulSpec]:
    """The same products with their matrices one behind the other in `w`, packed."""
    found, start = [], 0
    for spec in specs:
        offsets = packed_offsets(spec, start)
        found.append(replace(spec, w=w, w_offset=offsets, w_packed=True))
        start += packed_longs(spec)
    return found
