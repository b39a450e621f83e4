"""What has been decided so far, at one point of a search."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from mnc.mncore_backend.layout import Layout
from mnc.mncore_backend.placement.candidates.contraction import Compared
from mnc.mncore_backend.placement.cost.movements import Movement
from mnc.mncore_backend.placement.cost.weights import WEIGHTS, Kind, Weights
from mnc.mncore_backend.pricing import Resources


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


Entry = tuple[int, Kind, float, Movement | None]
"""What was paid once: for which operation, for what kind of work, steps, and the movement that takes them, if any."""
Paid = tuple[int, Kind, float, Movement | None, "Paid"] | None


def entries(paid: Paid) -> Iterator[tuple[int, Kind, float, Movement | None, Paid]]:
    """What was paid, the last first, each with the rest."""
    while paid is not None:
        yield paid
        paid = paid[4]


@dataclass
class Front:
    """What of a state decides about what comes next. Tensors without a place are in DRAM and can arrive in any layout.

    Attributes:
        layouts: where tensors are, by their numbers.
        waiting: tensors that element-wise work on free operands makes, and that work: it is placed where its result
            is wanted first.
        price: steps of all that was decided, roughly.
        weights: what a step of each kind counts.
    """

    layouts: dict[int, Layout] = field(default_factory=dict)
    waiting: dict[int, int] = field(default_factory=dict)
    price: float = 0.0
    weights: Weights = field(default_factory=lambda: WEIGHTS)


@dataclass
class State(Front):
    """All that was decided, by number of tensor and operation.

    Attributes:
        placed: what was decided about operations.
        compared: the plans of each product among which one was chosen, that one first.
        current: the operation that is being placed.
        paid: what the price is made of, the last first: operation, kind, steps, and the rest.
    """

    placed: dict[int, Placed] = field(default_factory=dict)
    compared: dict[int, list[Compared]] = field(default_factory=dict)
    current: int = -1
    paid: Paid = None

    def __getstate__(self) -> dict[str, Any]:
        """What is written of it: `paid` as a list, since it is nested deeper than writing may go."""
        return {**self.__dict__, "paid": [entry[:4] for entry in entries(self.paid)]}

    def __setstate__(self, written: dict[str, Any]) -> None:
        self.__dict__.update(written)
        self.paid = None
        for entry in reversed(written["paid"]):
            self.paid = *entry, self.paid

    def copy(self) -> "State":
        """A state that can go another way."""
        return State(
            dict(self.layouts), dict(self.waiting), self.price, self.weights, dict(self.placed), dict(self.compared),
            self.current, self.paid,
        )  # fmt: skip

    def pay(self, kind: Kind, steps: float, movement: Movement | None = None) -> None:
        """Add steps of a kind to the price; `movement`: what takes them."""
        if steps:
            self.price += self.weights[kind] * steps
            self.paid = self.current, kind, steps, movement, self.paid

    def weigh(self, weights: Weights) -> None:
        """Let steps count otherwise from now on, also those that are paid."""
        self.weights = weights
        self.price = sum(weights[kind] * steps for own in self.bill.values() for kind, steps in own.items())

    @property
    def movements(self) -> list[Movement]:
        """What is moved on the chip."""
        moved = (movement for _, _, _, movement, _ in entries(self.paid) if movement is not None)
        return list(dict.fromkeys(moved))

    def price_at(self, exact: Mapping[Movement, Resources]) -> float:
        """The price where movements take so much."""
        total = 0.0
        for _, kind, steps, movement, _ in entries(self.paid):
            total += self.weights[kind] * (steps if movement is None else exact[movement].total)
        return total

    @property
    def bill(self) -> dict[int, dict[Kind, float]]:
        """Steps by operation and kind."""
        found: dict[int, dict[Kind, float]] = {}
        for number, kind, steps, _, _ in entries(self.paid):
            own = found.setdefault(number, {})
            own[kind] = own.get(kind, 0.0) + steps
        return found
