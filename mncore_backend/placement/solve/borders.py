"""What of states matters later: where those tensors are that are read again, and what is paid for that.

At any point of a program a few tensors of it are read later; they are the border between what is decided and what is
not. States whose borders are equal can go the same ways at the same prices. A place is a tensor in one layout. Places
have numbers, since sets of numbers are compared much faster than sets of layouts, and what is paid later for a place is
added up once and not again in every state.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence

from mnc.mncore_backend.layout import Layout
from mnc.mncore_backend.placement.cost.ahead import Ahead
from mnc.mncore_backend.placement.cost.meetings import Meetings
from mnc.mncore_backend.placement.problem import Problem
from mnc.mncore_backend.placement.problem.reads import last_reads, read_by
from mnc.mncore_backend.placement.solve.state import Front

Places = frozenset[int]
Key = tuple[Places, tuple[int, ...]]
"""Places of tensors that are read later, and tensors that wait."""
NOWHERE: Places = frozenset()


class Borders:
    """The borders of the states of one problem, and what is paid later for where tensors are."""

    def __init__(self, problem: Problem, ahead: Ahead, meetings: Meetings) -> None:
        self._operations, self._tensors = problem.operations, problem.tensors
        self.ahead, self._meetings = ahead, meetings
        self._last = last_reads(problem)
        self._ends: dict[int, list[int]] = {}
        for tensor, number in enumerate(self._last):
            self._ends.setdefault(number, []).append(tensor)
        self._numbers: dict[tuple[int, Layout], int] = {}
        self._places: list[tuple[int, Layout]] = []
        self._of: dict[int, list[int]] = {}
        self._reads: dict[int, tuple[int, ...]] = {}

    def key(self, number: int, state: Front) -> Key:
        """What matters later of a state in which operation `number` has its place."""
        waiting = tuple(state.waiting)
        return self.places(state.layouts.items(), number) | self.late(state, (), waiting, number), waiting

    def places(self, layouts: Iterable[tuple[int, Layout]], number: int) -> Places:
        """Numbers of places, of tensors that are read after an operation."""
        last = self._last
        return frozenset(self._number(own) for own in layouts if last[own[0]] > number)

    def place(self, number: int) -> tuple[int, Layout]:
        """The tensor and the layout of a place."""
        return self._places[number]

    def late(
        self, state: Front, added: Iterable[tuple[int, Layout]], waiting: Iterable[int], number: int
    ) -> Places:
        """Places of what only work reads that waits: it stands in front of an operation, and is done after it.
        `added`: what gets a place besides."""
        if not waiting:
            return NOWHERE
        layouts = {**state.layouts, **dict(added)}
        reads = {t for tensor in waiting for t in self._read_for(tensor) if self._last[t] <= number}
        return frozenset(self._number((t, layouts[t])) for t in reads if t in layouts)

    def still(self, places: Places, number: int) -> Places:
        """Those of these places, of tensors that are read after the operation before, that are read after this one."""
        ended = [place for tensor in self._ends.get(number, ()) for place in self._of.get(tensor, ())]
        return places.difference(ended) if ended else places

    def over(self, number: int) -> list[int]:
        """Tensors that nobody reads after an operation, and somebody until then."""
        return self._ends.get(number, [])

    def after(self, number: int) -> "Later":
        """What is paid after an operation for where tensors are."""
        return Later(self._places, self.ahead, self._meetings, number)

    def beside(self, places: Places, tensors: Iterable[int]) -> list[int]:
        """Those of the places whose tensors meet others of these."""
        met = {t for tensor in tensors for t in self._meetings.beside(tensor)}
        return [place for place in places if self._places[place][0] in met] if met else []

    def _number(self, place: tuple[int, Layout]) -> int:
        number = self._numbers.get(place)
        if number is None:
            number = self._numbers[place] = len(self._places)
            self._places.append(place)
            self._of.setdefault(place[0], []).append(number)
        return number

    def _read_for(self, tensor: int) -> tuple[int, ...]:
        """What the operation reads that makes a tensor."""
        if tensor not in self._reads:
            maker = self._tensors[tensor].made_by
            self._reads[tensor] = () if maker is None else tuple(read_by(self._operations[maker]))
        return self._reads[tensor]


class Later:
    """What is paid after one operation for where tensors are. Many states have the same places: each is looked at
    once."""

    def __init__(
        self, places: Sequence[tuple[int, Layout]], ahead: Ahead, meetings: Meetings, number: int
    ) -> None:
        self._places, self._ahead, self._meetings, self._number = places, ahead, meetings, number
        self._prices: dict[int, float] = {}
        self._met: dict[int, list[tuple[int, dict[Layout, float], Callable[[Layout, Layout], float]]]] = {}

    def price(self, places: Iterable[int], layouts: Mapping[int, Layout]) -> float:
        """What is paid for these places, where other tensors have these layouts."""
        total, prices = 0.0, self._prices
        for place in places:
            price = prices.get(place)
            if price is None:
                price = prices[place] = self._ahead.price(*self._places[place], self._number)
            total += price
            total += self._of_meetings(place, layouts)
        return total

    def met(self, places: Iterable[int], layouts: Mapping[int, Layout]) -> float:
        """What is paid because these places meet tensors with these layouts."""
        return sum(self._of_meetings(place, layouts) for place in places)

    def _of_meetings(self, place: int, layouts: Mapping[int, Layout]) -> float:
        meetings = self._met.get(place)
        tensor, layout = self._places[place]
        if meetings is None:
            meetings = self._met[place] = [(*own[:1], {}, own[1]) for own in self._meetings.after(tensor, self._number)]
        total = 0.0
        for other, known, priced in meetings:
            there = layouts.get(other)
            if there is not None:
                price = known.get(there)
                if price is None:
                    price = known[there] = priced(layout, there)
                total += price
        return total
