"""Repeated layers: runs of operations that do the same, one after the other, each with what the one before has made."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from mnc.core.bindings import ir
from mnc.lowering.linalg_to_spmd.reading import shape_of
from mnc.lowering.linalg_to_spmd.tokens import is_leaf, is_weight, token
from mnc.mncore_backend.placement.problem.twins import runs

PHASES = 256
"""Places where a layer may begin that are tried."""


@dataclass(frozen=True)
class Layers:
    """`count` layers of `period` operations each, the first of which is number `start` of `operations`.

    carried     (operation of a layer, by number: what the next one takes of it; value that the first one takes)
    invariant   values that all layers take
    """

    operations: tuple[Any, ...]
    start: int
    period: int
    count: int
    carried: tuple[tuple[int, Any], ...]
    invariant: tuple[Any, ...]

    def layer(self, number: int) -> tuple[Any, ...]:
        """The operations of one layer."""
        first = self.start + number * self.period
        return self.operations[first : first + self.period]

    @property
    def end(self) -> int:
        """The number of the operation behind the last layer."""
        return self.start + self.count * self.period

    @property
    def first(self) -> list[Any]:
        """What the first layer takes of what is carried."""
        return [value for _, value in self.carried]

    @property
    def final(self) -> list[Any]:
        """What the last layer hands over."""
        last = self.layer(self.count - 1)
        return [last[number].results[0] for number, _ in self.carried]

    @property
    def inner(self) -> list[Any]:
        """What all layers take that is made before them."""
        return [value for value in self.invariant if not isinstance(value.owner, ir.Block)]

    @property
    def border(self) -> int:
        """Elements that are handed over from layer to layer."""
        return sum(prod(shape_of(value)) for _, value in self.carried)


def operations_of(block: Any) -> tuple[Any, ...]:
    """The operations of a function but its terminator and leaves."""
    found = [view.operation for view in block.operations]
    return tuple(op for op in found[:-1] if not (len(op.results) == 1 and is_leaf(op.results[0])))


def find_rows(block: Any, sizes: Sequence[float]) -> list[Layers]:
    """Rows of layers, one after the other: that which takes most of a function, and so on with what is before and
    behind it; `sizes` says how much each of `operations_of` is."""
    operations = operations_of(block)
    texts = [token(op) for op in operations]
    numbers: dict[str, int] = {}
    ids = np.array([numbers.setdefault(t, len(numbers)) if t else -1 - i for i, t in enumerate(texts)], np.int64)
    sums = np.concatenate([[0.0], np.cumsum(sizes)])

    def between(first: int, end: int) -> Iterator[Layers]:
        found = _find_layers(operations, ids, sums, first, end)
        if found is not None:
            yield from between(first, found.start)
            yield found
            yield from between(found.end, end)

    return list(between(0, len(operations)))


def _find_layers(
    operations: tuple[Any, ...], ids: np.ndarray, sums: np.ndarray, first: int, end: int
) -> Layers | None:
    """The layers that take most of the operations from the `first` to the `end`. `sums`: sizes of all operations in
    front of one."""
    alike = ((first + start, length, period) for start, length, period in runs(ids[first:end]))
    most = sorted(alike, key=lambda run: sums[run[0]] - sums[run[0] + run[1] + run[2]])
    for start, length, period in most[:PHASES]:
        found = [layers for phase in range(min(period, PHASES))
                 if (layers := _layers(operations, start + phase, period, (length - phase) // period + 1))]  # fmt: skip
        if found:
            most = max(layers.count for layers in found)
            return min((layers for layers in found if layers.count >= most - 1), key=lambda layers: layers.border)
    return None


class _Refused(Exception):
    """Operations that look alike are no layers."""


def _layers(operations: Sequence[Any], start: int, period: int, count: int) -> Layers | None:
    """The layers that begin at an operation, if all depend on the one before in the same way, and on nothing else."""
    if count < 2:
        return None
    try:
        return _Reader(operations, start, period, count).read()
    except _Refused:
        return None


class _Reader:
    """Compares how layers use values."""

    def __init__(self, operations: Sequence[Any], start: int, period: int, count: int) -> None:
        self.operations, self.start, self.period, self.count = tuple(operations), start, period, count
        self.place: dict[Any, tuple[int, int]] = {}  # result -> layer, number in it
        for number in range(count):
            for i, op in enumerate(operations[start + number * period :][:period]):
                self.place.update((result, (number, i)) for result in op.results)
        self.first: dict[int, Any] = {}  # carried -> what the first layer takes
        self.invariant: dict[Any, None] = {}

    def read(self) -> Layers:
        layers = [self.operations[self.start + n * self.period :][: self.period] for n in range(self.count)]
        for i, ops in enumerate(zip(*layers, strict=True)):
            for values in zip(*(op.operands for op in ops), strict=True):
                if not is_leaf(values[0]):
                    self._use(i, values)
        self._check_readers(layers)
        carried = tuple(sorted(self.first.items()))
        if not carried or any(not isinstance(v.type.element_type, ir.F32Type) for _, v in carried):
            raise _Refused
        return Layers(self.operations, self.start, self.period, self.count, carried, tuple(self.invariant))

    def _use(self, reader: int, values: Sequence[Any]) -> None:
        """An operand of the same operation in all layers."""
        places = [self.place.get(value) for value in values]
        if all(place is not None and place[0] == number for number, place in enumerate(places)):
            if len({place[1] for place in places if place}) > 1:
                raise _Refused
        elif places[0] is None and all(value == values[0] for value in values):
            self.invariant[values[0]] = None
        else:
            made = {place[1] for place in places[1:] if place is not None}
            before = all(place is not None and place[0] == number for number, place in enumerate(places[1:]))
            if places[0] is not None or not before or len(made) > 1:
                raise _Refused
            if self.first.setdefault(made.pop(), values[0]) != values[0]:
                raise _Refused

    def _check_readers(self, layers: Sequence[Sequence[Any]]) -> None:
        """Nobody reads a layer but itself, the next, and, of what is carried, those behind the last."""
        inside = {op: number for number, layer in enumerate(layers) for op in layer}
        for number, layer in enumerate(layers):
            for i, op in enumerate(layer):
                if len(op.results) != 1:
                    raise _Refused
                for use in op.results[0].uses:
                    reader = inside.get(use.owner.operation)
                    next_one = number + 1 if i in self.first else number
                    behind = reader is None and number == self.count - 1 and i in self.first
                    if not behind and reader not in (number, next_one):
                        raise _Refused


def weights_of(layers: Layers) -> list[tuple[Any, ...]]:
    """Weights that differ from layer to layer: of each the constants of all layers."""
    found: dict[tuple[Any, ...], None] = {}
    for ops in zip(*(layers.layer(number) for number in range(layers.count)), strict=True):
        for values in zip(*(op.operands for op in ops), strict=True):
            if is_weight(values[0]) and len(set(values)) > 1:
                found[values] = None
    return list(found)
