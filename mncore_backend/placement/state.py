"""What has been decided so far, at one point of a search."""

from dataclasses import dataclass, field

from mnc.mncore_backend.distribution.contraction import Compared
from mnc.mncore_backend.layout import Layout


@dataclass(frozen=True)
class Placed:
    """Where an operation reads its operands and leaves its result.

    Attributes:
        operands: per use the layout in which it is wanted; None for what comes as tiles with halos.
        result: where the result is.
        swapped: of a product: the left factor is the matrix.
        partial: of a product: layout of its partial sums, where it differs from that of the result.
        parts: of a product: number of the factor that comes in parts, and long words per PE of a part.
    """

    operands: tuple[Layout | None, ...]
    result: Layout
    swapped: bool = False
    partial: Layout | None = None
    parts: tuple[int, int] | None = None


@dataclass
class State:
    """Places by number of tensor and operation. Tensors without one are in DRAM and can arrive in any layout.

    Attributes:
        layouts: where tensors are.
        waiting: tensors that element-wise work on free operands makes, and that work: it is placed where its result
            is wanted first.
        placed: what was decided about operations.
        price: steps of all that, roughly.
        compared: the plans of each product among which one was chosen, that one first.
    """

    layouts: dict[int, Layout] = field(default_factory=dict)
    waiting: dict[int, int] = field(default_factory=dict)
    placed: dict[int, Placed] = field(default_factory=dict)
    price: float = 0.0
    compared: dict[int, list[Compared]] = field(default_factory=dict)

    def copy(self) -> "State":
        """A state that can go another way."""
        return State(dict(self.layouts), dict(self.waiting), dict(self.placed), self.price, dict(self.compared))
