"""Repeated layers: runs of operations that do the same, one after the other, each with what the one before has made."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any

import numpy as np

from mnc.core.bindings import ir
from mnc.lowering.linalg_to_spmd.reading import read_generic, shape_of
from mnc.lowering.linalg_to_spmd.sequences import (
    Scanned,
    Stacked,
    concatenations,
    follow_one_another,
    row_taken,
    stacked,
)
from mnc.lowering.linalg_to_spmd.tokens import is_leaf, is_weight, token
from mnc.mncore_backend.placement.problem.twins import runs

PHASES = 256
"""Places where a layer may begin that are tried."""


@dataclass(frozen=True)
class Layers:
    """`count` layers of `period` operations each, the first of which is number `start` of `operations`.

    carried     (operation of a layer, by number: what the next one takes of it; value that the first one takes)
    invariant   values that all layers take
    scanned     tensors of which each layer takes another row
    stacked     tensors of which each layer makes another row
    """

    operations: tuple[Any, ...]
    start: int
    period: int
    count: int
    carried: tuple[tuple[int, Any], ...]
    invariant: tuple[Any, ...]
    scanned: tuple[Scanned, ...] = ()
    stacked: tuple[Stacked, ...] = ()

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
    def begun(self) -> int:
        """Element-wise operations of a layer on nothing but what it is given: the layer before might have done them
        where it had their operands, and nothing in a layer says where they belong."""
        made: set[Any] = set()
        inside = {result for op in self.layer(0) for result in op.results}
        count = 0
        for op in self.layer(0):
            is_given = all(value not in inside or value in made for value in op.operands)
            if is_given and (op.name != "linalg.generic" or all(read_generic(op.opview).parallel)):
                made.update(op.results)
                count += op.name == "linalg.generic"
        return count

    @property
    def is_recurrence(self) -> bool:
        """Whether layers are the steps of a sequence."""
        return bool(self.scanned or self.stacked)

    def of_multiple(self, number: int) -> "Layers":
        """The same without the last few, so that they are a multiple of a number; as they are if they are fewer."""
        count = self.count - self.count % number
        if count < number:
            return self
        scanned = tuple(replace(own, rows=own.rows[:count]) for own in self.scanned)
        return replace(self, count=count, scanned=scanned, stacked=tuple(own.shortened(count) for own in self.stacked))

    @property
    def weights(self) -> list[Any]:
        """Weights that all steps of a sequence take: they stay on the chip. Other layers have weights of their own."""
        if not self.is_recurrence:
            return []
        found: dict[Any, None] = {}
        for ops in zip(*(self.layer(number) for number in range(self.count)), strict=True):
            for values in zip(*(op.operands for op in ops), strict=True):
                if is_weight(values[0]) and len(set(values)) == 1:
                    found[values[0]] = None
        return list(found)

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
            long = (layers for layers in found if layers.count >= most - 1)
            return min(long, key=lambda layers: (layers.border, layers.begun if layers.is_recurrence else 0))
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
        self.before = set(self.operations[:start])
        self.place: dict[Any, tuple[int, int]] = {}  # result -> layer, number in it
        for number in range(count):
            for i, op in enumerate(operations[start + number * period :][:period]):
                self.place.update((result, (number, i)) for result in op.results)
        self.first: dict[int, Any] = {}  # carried -> what the first layer takes
        self.invariant: dict[Any, None] = {}
        self.scanned: list[Scanned] = []
        self.stacked: list[Stacked] = []

    def read(self) -> Layers:
        layers = [self.operations[self.start + n * self.period :][: self.period] for n in range(self.count)]
        for i, ops in enumerate(zip(*layers, strict=True)):
            if self._scans(i, ops):
                continue
            for values in zip(*(op.operands for op in ops), strict=True):
                if not is_leaf(values[0]):
                    self._use(i, values)
        self._check_readers(layers)
        carried = tuple(sorted(self.first.items()))
        handed = [*(value for _, value in carried), *(own.source for own in self.scanned)]
        handed += [own.first for own in self.stacked]
        if not carried or any(not isinstance(value.type.element_type, ir.F32Type) for value in handed):
            raise _Refused
        return Layers(
            self.operations, self.start, self.period, self.count, carried, tuple(self.invariant), tuple(self.scanned),
            tuple(self.stacked),
        )  # fmt: skip

    def _scans(self, number: int, ops: Sequence[Any]) -> bool:
        """Whether an operation takes another row in every layer."""
        taken = [row_taken(op) for op in ops]
        rows = [own.index for own in taken if own is not None]
        if not rows or taken[0] is None or len(set(rows)) == 1:
            return False
        source, dim = ops[0].operands[0], taken[0].dim
        if not follow_one_another(rows) or any(op.operands[0] != source for op in ops) or source in self.place:
            raise _Refused
        if is_leaf(source):
            raise _Refused
        self.scanned.append(Scanned(number, source, dim, tuple(rows)))
        return True

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
        """Nobody reads a layer but itself, the next, what stacks a row of each, and, of what is carried, those behind
        the last."""
        inside = {op: number for number, layer in enumerate(layers) for op in layer}
        for i in range(self.period):
            others = [self._others(layer[i], i, number, inside) for number, layer in enumerate(layers)]
            if others[0]:
                self._stack(i, others)
            elif any(others[:-1]) or (others[-1] and i not in self.first):
                raise _Refused

    def _others(self, op: Any, i: int, number: int, inside: dict[Any, int]) -> list[Any]:
        """Those who read an operation of a layer, but for that layer and the next."""
        if len(op.results) != 1:
            raise _Refused
        users = [use.owner.operation for use in op.results[0].uses]
        if any(inside.get(user, number) not in (number, number + 1 if i in self.first else number) for user in users):
            raise _Refused
        return [user for user in users if user not in inside]

    def _stack(self, number: int, readers: Sequence[Sequence[Any]]) -> None:
        """What an operation of all layers makes, given who reads it of each: it has to become rows."""
        known = [concatenations(own) for own in readers[:-1]]
        if any(own is None or own.keys() != (known[0] or {}).keys() for own in known):
            raise _Refused
        for whole in known[0] or ():
            last = [user for user in readers[-1] if (own := concatenations([user])) is not None and whole in own]
            places = [own[whole] for own in (*known, concatenations(last)) if own is not None and whole in own]
            found = stacked(whole, places, self._is_before) if len(places) == self.count else None
            if found is None or any(own.whole == whole for own in self.stacked):
                raise _Refused
            self.stacked.append(found)
            if len(last) < len(readers[-1]) and number not in self.first:
                raise _Refused

    def _is_before(self, value: Any) -> bool:
        """Whether a value is made before the layers."""
        return isinstance(value.owner, ir.Block) or is_leaf(value) or value.owner in self.before


def weights_of(layers: Layers) -> list[tuple[Any, ...]]:
    """Weights that differ from layer to layer: of each the constants of all layers."""
    found: dict[tuple[Any, ...], None] = {}
    for ops in zip(*(layers.layer(number) for number in range(layers.count)), strict=True):
        for values in zip(*(op.operands for op in ops), strict=True):
            if is_weight(values[0]) and len(set(values)) > 1:
                found[values] = None
    return list(found)
