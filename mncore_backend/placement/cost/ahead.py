"""What is paid later for where a tensor is: by products that read it, by windows, whose tiles have halos, by slices.

Element-wise work, views and windows leave their results where they read. So what windows behind them pay counts as
well, and what products behind those windows pay. A product ends the look ahead: its result may be anywhere. Slices stay
where the whole is as far as they can, and those of one shape, as the steps of a sequence, pay all the same.
"""

from collections.abc import Hashable
from dataclasses import replace

from mnc.mncore_backend.layout import Layout, LayoutError, permute, reshape
from mnc.mncore_backend.placement.candidates import Digits
from mnc.mncore_backend.placement.candidates.policy import Policy
from mnc.mncore_backend.placement.candidates.space import project, resized, with_addresses
from mnc.mncore_backend.placement.candidates.tiles import possible_tiles
from mnc.mncore_backend.placement.candidates.windows import follow, tiled_layout
from mnc.mncore_backend.placement.cost.movements import Movement
from mnc.mncore_backend.placement.cost.prices import rearrangement_steps
from mnc.mncore_backend.placement.cost.product_prices import ProductPrices
from mnc.mncore_backend.placement.problem import (
    Loops,
    Operation,
    Problem,
    Product,
    Rearrangement,
    Reshape,
    Transposition,
    Use,
)
from mnc.mncore_backend.placement.problem.reads import behind, readers, uses_of
from mnc.mncore_backend.target import cached_per_machine

REMEMBERED = 10_000
"""Prices of slices that are remembered."""


class Ahead:
    """Prices of what comes after an operation; they are remembered."""

    def __init__(self, problem: Problem, policy: Policy, prices: ProductPrices) -> None:
        self.problem, self.policy, self.prices = problem, policy, prices
        self._readers = readers(problem)
        self._known: dict[tuple[int, int, Layout, bool], float] = {}
        self._sums: dict[tuple[int, Layout, int], float] = {}
        self._windowed: dict[int, bool] = {}
        self._kinds: dict[int, int] = {}
        self._numbers: dict[Hashable, int] = {}
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
        """Whether windows or slices may pay for where a tensor is, by which it is read itself or what is made of
        it."""
        if tensor not in self._windowed:
            self._windowed[tensor] = any(
                behind(use) == tensor and use.windows is not None
                for reader in self._readers.get(tensor, ())
                for use in uses_of(self.problem.operations[reader])
            ) or any(
                _is_slice(self.problem.operations[reader]) for reader in self._readers.get(tensor, ())
            ) or any(
                self.has_windows(self.problem.operations[reader].result)
                for reader in self._readers.get(tensor, ())
                if not isinstance(self.problem.operations[reader], Product)
            )
        return self._windowed[tensor]

    def windows(self, tensor: int, layout: Layout, after: int, *, passed: bool = False) -> float:
        """What windows pay by which a tensor is read after the operation `after`, and what comes after them; with
        `passed` also what products pay without any."""
        price, slices = 0.0, dict[tuple[int, ...], float]()
        for reader in self._readers.get(tensor, ()):
            if reader > after:
                op = self.problem.operations[reader]
                shape = self.problem.tensors[op.result].shape if _is_slice(op) else None
                found = None if shape is None else slices.get(shape)
                if found is None:
                    found = self._of(reader, tensor, layout, passed)
                if shape is not None:
                    slices[shape] = found
                price += found
        return price

    def kind(self, tensor: int) -> int:
        """A number that tensors have in common for which `windows` says the same after the operations that make them,
        as the gates of all steps of a recurrence."""
        if tensor not in self._kinds:
            slices = dict[tuple[int, ...], Hashable]()
            read = tuple(self._read(self.problem.operations[n], tensor, slices) for n in self._readers.get(tensor, ()))
            self._kinds[tensor] = self._numbers.setdefault(read, len(self._numbers))
        return self._kinds[tensor]

    def _read(self, op: Operation, tensor: int, slices: dict[tuple[int, ...], Hashable]) -> Hashable:
        """What of an operation that reads a tensor says what is paid. `slices`: by their shapes, the first of each."""
        shape = self.problem.tensors[op.result].shape
        windowed = tuple(use.windows for use in uses_of(op) if use.windows is not None and behind(use) == tensor)
        match op:
            case Product():
                sides = tuple(behind(use) == tensor and not _is_copied(use) for use in (op.left, op.right))
                return op.contraction, sides, _has_windows(op)
            case Loops() if windowed:
                tiles = op.extents, op.parallel, tuple(use.windows for use in op.uses if use.windows is not None)
                return windowed, tiles, op.access, shape, self.kind(op.result)
            case Loops():
                return _stays(op, tensor, shape, self.problem.tensors[tensor].shape) and (self.kind(op.result),)
            case Rearrangement() if _is_slice(op):
                return slices.setdefault(shape, ("slice", shape, self.kind(op.result)))
            case Transposition() | Reshape():
                order = op.order if isinstance(op, Transposition) else None
                return order, shape, self.kind(op.result)
            case _:
                return None

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
        if _is_slice(op):
            steps, left = _sliced(layout, self.problem.tensors[op.result].shape)
            steps *= self.prices.weights["rearranged"]
            return steps if left is None else steps + self.windows(op.result, left, reader, passed=passed)
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
            digits = tuple(found.get(d, with_addresses(extent, ())) for d, extent in enumerate(op.extents))
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
            return layout if _stays(op, tensor, shape, layout.shape) else None
        case _:
            return None


def _stays(op: Loops, tensor: int, shape: tuple[int, ...], read: tuple[int, ...]) -> bool:
    """Whether element-wise work has a result of this shape where it reads a tensor that has the shape `read`."""
    is_read = any(use.tensor == tensor and use.access == op.access for use in op.uses)
    return is_read and op.is_element_wise and shape == read


def _is_copied(use: Use) -> bool:
    """Whether a copy is read, indexed in another way, to which the place of the tensor says nothing."""
    return not use.is_direct and use.windows is None


def _has_windows(op: Product) -> bool:
    return op.left.windows is not None


def _is_slice(op: Operation) -> bool:
    """Whether a part of what is on the chip is taken."""
    return isinstance(op, Rearrangement) and len(op.sources) == 1 and op.part_of is None


@cached_per_machine(REMEMBERED)
def _sliced(layout: Layout, shape: tuple[int, ...]) -> tuple[float, Layout | None]:
    """What a slice of this shape pays that stays where the tensor is, and its layout; None if it has another rank."""
    if len(shape) != len(layout.shape):
        return 0.0, None
    left = project(shape, resized(layout, shape), tuple(range(len(shape))))
    return rearrangement_steps(layout, left), left
