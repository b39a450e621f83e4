"""What products of halves ask of their factors, see `kernels/matmul/halves.py` and `packing.py`."""

from collections.abc import Sequence

from mnc.mncore_backend.layout import Axis, Layout
from mnc.mncore_backend.placement.candidates.problem import Operand
from mnc.mncore_backend.target import Precision, chip

BLOCKS = 2
"""Blocks of lanes of what is contracted that one matrix of halves has."""

Factor = tuple[Operand, Layout]


def of_halves(x: Factor, w: Factor, contracted: Sequence[int]) -> dict[str, int]:
    """Beside how much a PE has of a product, 1 where rows, or the matrix, have blocks apart that are converted
    together, and where the host packs the matrix: a constant that nothing else reads."""
    return {
        "x_apart": _blocks_apart(*x, contracted),
        "w_apart": _blocks_apart(*w, contracted),
        "packed": int(w[0].in_parts and w[0].layout is None),
    }


def _blocks_apart(operand: Operand, layout: Layout, contracted: Sequence[int]) -> int:
    """1 where a PE does not have blocks of lanes of what is contracted in pairs of neighbours."""
    if operand.windows is not None:
        return 1
    own = [layout.dims[i] for i, d in enumerate(operand.access) if d in contracted]
    lanes = [dim for dim in own if any(x.axis is Axis.PE for x in dim)]
    innermost = [x for dim in lanes for x in dim if x.axis is Axis.ADDRESS and x.stride == 1]
    return int(not innermost or innermost[0].size % 2 > 0)


def speed(precision: Precision) -> float:
    """How many times as fast as pseudo-single products a matrix unit is at its peak."""
    return chip().peak_multiply_adds(precision) / chip().peak_multiply_adds("pseudo-single")


def whole_matrices(blocks: int, precision: Precision) -> int:
    """As many blocks of what is contracted as matrices have that have these."""
    return -(-blocks // BLOCKS) * BLOCKS if precision == "half" else blocks


def packed_share(counts: dict[str, int]) -> float:
    """What a packed matrix takes of the long words that it would take as singles; 1 where it is not packed. Pairs of
    blocks that are not full take as much as those that are."""
    columns, blocks = counts["columns"], counts["k"]
    packed = 2 * -(-columns // 2) * -(-blocks // 2)
    return min(1.0, packed / (columns * blocks)) if counts["packed"] else 1.0
