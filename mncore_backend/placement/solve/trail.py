"""What a search met on its way: of every state the price, where it came from, and what became of it.

A search keeps sixteen states and forgets the others. A trail keeps a few numbers of each. They tell afterwards which
choices led to the solution, and how far all others came.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import inf
from typing import Any, NamedTuple, Protocol


class Tracer(Protocol):
    """Who wants to know about searches."""

    def searched(self, search: Any, trail: "Trail", beam: Sequence[Any], best: Any) -> None:
        """A search has ended with these states, of which it takes the best."""
        ...


class End(NamedTuple):
    """Where no state came further: the operation, and how much it ranked above the last that was kept there."""

    operation: int
    over: float


@dataclass
class Met:
    """The states that one operation led to, in the order in which they were met.

    Attributes:
        parents: position of the state that each came from among those that were kept before.
        ways: which of the ways from there led to each; where an operation does what its twin did, there are others.
        prices: of each.
        keys: of each a number; states with the same number differ in nothing that matters later.
        holders: of each such number the cheapest state.
        kept: states that go on.
        over: of holders that do not, how much they rank above the last that does.
    """

    parents: list[int] = field(default_factory=list)
    ways: list[int] = field(default_factory=list)
    prices: list[float] = field(default_factory=list)
    keys: list[int] = field(default_factory=list)
    holders: list[int] = field(default_factory=list)
    kept: list[int] = field(default_factory=list)
    over: dict[int, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Fate:
    """What became of a state: the best price at which it came to the end of the program (infinite if it did not), and
    where the last that came of it was given up. `alike`: how much dearer it was than another in which everything that
    is read later lies alike. What became of that one became of it, with this difference."""

    complete: float
    end: End | None = None
    alike: float | None = None


class Trail:
    """Of every operation what a search met. Searches call `leave`, `meet`, `rank` and `keep` in this order."""

    def __init__(self) -> None:
        self.steps: list[Met] = [Met()]
        self._numbers: dict[object, int] = {}
        self._parent = 0

    def leave(self, position: int) -> None:
        """What is met from now on comes from the state at this position of those that were kept."""
        self._parent = position

    def meet(self, key: object, price: float, way: int) -> None:
        """A state has this price; `key` is what matters later of it, `way` counts those from where it comes from."""
        step = self.steps[-1]
        number = self._numbers.setdefault(key, len(step.holders))
        if number == len(step.holders):
            step.holders.append(len(step.prices))
        elif price < step.prices[step.holders[number]]:
            step.holders[number] = len(step.prices)
        step.parents.append(self._parent)
        step.ways.append(way)
        step.prices.append(price)
        step.keys.append(number)

    def rank(self, ranks: Sequence[float], last: float) -> None:
        """Holders have these ranks; the last that is kept has `last`."""
        step = self.steps[-1]
        step.over = {step.holders[i]: rank - last for i, rank in enumerate(ranks)}

    def keep(self, kept: Sequence[int]) -> None:
        """These holders go on; the next operation follows."""
        self.steps[-1].kept = [self.steps[-1].holders[i] for i in kept]
        self.steps.append(Met())
        self._numbers = {}

    def path(self, position: int) -> list[int]:
        """Of every operation the state that led to the one at this position of those that were kept last."""
        found: list[int] = []
        for step in reversed(self.steps[:-1]):
            found.append(step.kept[position])
            position = step.parents[found[-1]]
        return found[::-1]

    def fates(self, prices: Sequence[float]) -> list[list[Fate]]:
        """Of every operation what became of all states; `prices` are those of the states at the end."""
        found: list[list[Fate]] = []
        after = [Fate(price) for price in prices]
        for number in reversed(range(len(self.steps) - 1)):
            step = self.steps[number]
            found.append(_fates(step, number, after))
            before = [] if number == 0 else self.steps[number - 1].kept
            after = _best_of_each(step.parents, found[-1], max(1, len(before)))
        return found[::-1]


def _fates(step: Met, number: int, after: Sequence[Fate]) -> list[Fate]:
    """`after`: what became of the states that were kept."""
    kept = dict(zip(step.kept, after, strict=True))
    held = {i: kept.get(i) or Fate(inf, End(number, step.over[i])) for i in step.holders}
    found: list[Fate] = []
    for i, key in enumerate(step.keys):
        holder = step.holders[key]
        fate, over = held[holder], step.prices[i] - step.prices[holder]
        found.append(fate if i == holder else Fate(fate.complete + over, fate.end, over))
    return found


def _best_of_each(parents: Sequence[int], fates: Sequence[Fate], count: int) -> list[Fate]:
    """Of what came from each state the best, or what came furthest."""

    def order(fate: Fate) -> tuple[float, int, float]:
        return (fate.complete, 0, 0.0) if fate.end is None else (fate.complete, -fate.end.operation, fate.end.over)

    best: dict[int, Fate] = {}
    for parent, fate in zip(parents, fates, strict=True):
        if parent not in best or order(fate) < order(best[parent]):
            best[parent] = fate
    return [Fate(best[position].complete, best[position].end) for position in range(count)]
