"""What is paid later for where a tensor is: by products that read it, and by windows, whose tiles have halos.

Element-wise work, views and windows leave their results where they read. So what windows behind them pay counts as
well, and what products behind those windows pay. A product ends the look ahead: its result may be anywhere.
"""

from dataclasses import replace

from mnc.mncore_backend.layout import Layout, LayoutError, permute, reshape
from mnc.mncore_backend.placement.candidates import Digits
from mnc.mncore_backend.placement.candidates.policy import Policy
from mnc.mncore_backend.placement.candidates.space import project
from mnc.mncore_backend.placement.candidates.tiles import possible_tiles
from mnc.mncore_backend.placement.candidates.windows import follow, tiled_layout
from mnc.mncore_backend.placement.cost.movements import Movement
from mnc.mncore_backend.placement.cost.product_prices import ProductPrices
from mnc.mncore_backend.placement.problem import (
    Loops,
    Operation,
    Problem,
    Product,
    Reshape,
    Transposition,
    Use,
)
from mnc.mncore_backend.placement.problem.reads import behind, readers, uses_of


class Ahead:
    """Prices of what comes after an operation; they are remembered."""

    def __init__(self, problem: Problem, policy: Policy, prices: ProductPrices) -> None:
        self.problem, self.policy, self.prices = problem, policy, prices
        self._readers = readers(problem)
        self._known: dict[tuple[int, int, Layout, bool], float] = {}
        self._sums: dict[tuple[int, Layout, int], float] = {}
        self._windowed: dict[int, bool] = {}
        self._elsewhere: dict[int, tuple[Digits, ...]] = {}

    def price(self, tensor: int, layout: Layout, after: int) -> float:
        """What those pay who read a tensor after the operation `after`: products at once, others by way of windows."""
        key = tensor, layout, after
        if key not in self._sums:
            self._sums[key] = self.windows(tensor, layout, after) + sum(
                self._of(reader, tensor, layout, True)
                for reader in self._readers.get(tensor, ())
                if reader > after and self._is_plain_product(reader)
            )
        return self._sums[key]

    def _is_plain_product(self, number: int) -> bool:
        op = self.problem.operations[number]
        return isinstance(op, Product) and not _has_windows(op)

    def has_windows(self, tensor: int) -> bool:
        """Whether windows may pay for where a tensor is, by which it is read itself or what is made of it."""
        if tensor not in self._windowed:
            self._windowed[tensor] = any(
                behind(use) == tensor and use.windows is not None
                for reader in self._readers.get(tensor, ())
                for use in uses_of(self.problem.operations[reader])
            ) or any(
                self.has_windows(self.problem.operations[reader].result)
                for reader in self._readers.get(tensor, ())
                if not isinstance(self.problem.operations[reader], Product)
            )
        return self._windowed[tensor]

    def windows(self, tensor: int, layout: Layout, after: int, *, passed: bool = False) -> float:
        """What windows pay by which a tensor is read after the operation `after`, and what comes after them; with
        `passed` also what products pay without any."""
        price = 0.0
        for reader in self._readers.get(tensor, ()):
            if reader > after:
                price += self._of(reader, tensor, layout, passed)
        return price

    def _of(self, reader: int, tensor: int, layout: Layout, passed: bool) -> float:
        key = reader, tensor, layout, passed
        if key not in self._known:
            self._known[key] = self._found_out(*key)
        return self._known[key]

    def _found_out(self, reader: int, tensor: int, layout: Layout, passed: bool) -> float:
        op = self.problem.operations[reader]
        if isinstance(op, Product):
            uses = ("left", op.left), ("right", op.right)
            read = [side for side, use in uses if behind(use) == tensor and not _is_copied(use)]
            sides = read if passed or _has_windows(op) else []
            return sum(self._product(op, side, layout) for side in sides)
        windowed = [use for use in op.uses if use.source == tensor] if isinstance(op, Loops) else []
        if isinstance(op, Loops) and windowed:
            return sum(self._windows(reader, op, use, layout) for use in windowed)
        left = then(self.problem, op, tensor, layout)
        return 0.0 if left is None else self.windows(op.result, left, reader, passed=passed)

    def _product(self, op: Product, side: str, layout: Layout) -> float:
        """What a product pays at least for where a factor is."""
        free = replace(op.contraction, policy=self.policy)
        placed = replace(free, **{side: replace(getattr(free, side), layout=layout, in_parts=False)})
        return self.prices.least(placed) - self.prices.least(free)

    def _windows(self, reader: int, op: Loops, use: Use, layout: Layout) -> float:
        """What tiles cost that stay where the tensor is, or go elsewhere where they cannot, and what comes after."""
        assert use.windows is not None
        found = follow(use.windows, op.extents, layout)
        if found is None:
            digits = self._default(reader, op)
        else:
            digits = tuple(found.get(d, ()) for d in range(len(op.extents)))
        movement = Movement(layout, tiled_layout(use.windows, op.extents, digits), use.windows, op.extents, digits)
        result = project(self.problem.tensors[op.result].shape, digits, op.access)
        halos = self.prices.weights["halos"] * self.prices.movements.steps(movement)
        return halos + self.windows(op.result, result, reader, passed=True)

    def _default(self, reader: int, op: Loops) -> tuple[Digits, ...]:
        """Tiles of loops whose operands do not say where."""
        if reader not in self._elsewhere:
            operands = [(use.windows, None) for use in op.uses if use.windows is not None]
            self._elsewhere[reader] = tuple(possible_tiles(op.extents, op.parallel, operands, self.policy.axes)[0])
        return self._elsewhere[reader]


def then(problem: Problem, op: Operation, tensor: int, layout: Layout) -> Layout | None:
    """Where the result of a view or of element-wise work on a tensor is; None for other operations."""
    shape = problem.tensors[op.result].shape
    match op:
        case Transposition():
            return permute(layout, op.order)
        case Reshape():
            try:
                return reshape(layout, shape)
            except LayoutError:
                return None
        case Loops():
            is_read = any(use.tensor == tensor and use.access == op.access for use in op.uses)
            return layout if is_read and op.is_element_wise and shape == layout.shape else None
        case _:
            return None


def _is_copied(use: Use) -> bool:
    """Whether a copy is read, indexed in another way, to which the place of the tensor says nothing."""
    return not use.is_direct and use.windows is None


def _has_windows(op: Product) -> bool:
    return op.left.windows is not None
