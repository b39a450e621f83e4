"""One step of a beam: of all that an operation makes of the states that were kept, the best few.

Fronts of states are made only of what is kept. Before that, all that is known of a new one is where it comes from, what
the operation does there (`transitions.py`), and what of it matters later (`borders.py`): enough to compare it with
others. All that was decided on the way is looked up at the end of the program.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple

from mnc.mncore_backend.placement.problem import Problem
from mnc.mncore_backend.placement.solve.borders import NOWHERE, Borders, Key, Later, Places
from mnc.mncore_backend.placement.solve.guide import Guide
from mnc.mncore_backend.placement.solve.reached import Reached
from mnc.mncore_backend.placement.solve.state import Entry, Front, State
from mnc.mncore_backend.placement.solve.trail import Trail
from mnc.mncore_backend.placement.solve.transitions import Seen, Transition, seen, with_nothing_else

Followers = Callable[[State, int], Iterator[State]]
"""The states to which an operation leads."""
SHARE = 0.5
"""Part of the states that are kept because a known solution is not far."""
ROUNDING = 1e-6
"""Steps by which prices may differ that are added up in another order."""


Known = dict[tuple[int, Seen], list[tuple[Transition, Places]]]
"""What operations do where what they see is somewhere, and the places of what they put somewhere that is read later."""


class _New(NamedTuple):
    """A state that is not made yet: its price, the position of the one it comes from, how, the places of what gets one
    that is read later, and which of the ways that were followed from there this is."""

    price: float
    position: int
    transition: Transition
    places: Places
    way: int


@dataclass
class Beam:
    """Steps of a beam through a problem. `dropped` counts the states that were given up; `places` are those of the
    states that were kept last, of tensors that were read later then. `known` transitions may be those of another beam
    that differs in no more than its guide. Operations do what their `twins` did, a layer before, where they can."""

    problem: Problem
    borders: Borders
    followers: Followers
    guide: Guide | None = None
    lasts: Callable[[Iterable[Entry]], float] | None = None
    dropped: int = 0
    known: Known = field(default_factory=dict)
    places: list[Places] = field(default_factory=lambda: [NOWHERE])
    twins: Mapping[int, int] = field(default_factory=dict)

    def step(self, states: Sequence[Reached], number: int, width: int, trail: Trail | None) -> list[Reached]:
        """Of the states that an operation leads to, those that promise most: of those that differ in nothing that
        matters later the cheapest, and of these so many."""
        around = _Around(self, states, number)
        best: dict[Key, _New] = {}
        for key, new in around.all(trail):
            if trail is not None:
                trail.meet(key, new.price, new.way)
            if key not in best or new.price < best[key].price:
                best[key] = new
        self.dropped += max(0, len(best) - width)
        found = list(best.values())
        kept = list(range(len(found)))
        if len(found) > width:
            ranks = [new.price + around.later(new) for new in found]
            kept = sorted(kept, key=ranks.__getitem__)[:width]
            if self.guide is not None:
                near = [new.price + self.guide.distance(places) for new, (places, _) in zip(found, best, strict=True)]
                nearest = sorted(range(len(found)), key=near.__getitem__)[: int(SHARE * width)]
                kept = [*nearest, *(i for i in kept if i not in nearest)][:width]
            if trail is not None:
                trail.rank(ranks, max(ranks[i] for i in kept))
        if trail is not None:
            trail.keep(kept)
        self.places = [around.kept[found[i].position] | found[i].places for i in kept]
        over = self.borders.over(number)
        return [states[found[i].position].after(found[i].transition, number, over) for i in kept]


@dataclass
class _Around:
    """What one operation makes of the states of a beam."""

    beam: Beam
    states: Sequence[Reached]
    number: int
    kept: list[Places] = field(default_factory=list)
    _later: dict[int, float] = field(default_factory=dict)
    _own: dict[int, float] = field(default_factory=dict)

    @cached_property
    def _paid(self) -> Later:
        return self.beam.borders.after(self.number)

    def all(self, trail: Trail | None) -> Iterator[tuple[Key, _New]]:
        """New states, and what matters later of them."""
        borders, number = self.beam.borders, self.number
        for position, state in enumerate(self.states):
            if trail is not None:
                trail.leave(position)
            kept = borders.still(self.beam.places[position], number)
            self.kept.append(kept)
            found = self._from(state)
            for way in self._like_twin(state, found):
                transition, places = found[way]
                waiting = transition.left_waiting(state)
                late = borders.late(state, transition.layouts, waiting, number)
                price = state.price + transition.price
                yield (kept | places | late, waiting), _New(price, position, transition, places, way)

    def _like_twin(self, state: Reached, found: Sequence[tuple[Transition, Places]]) -> Sequence[int]:
        """Of what the operation does in a state, what its twin did on the way to it, if it can do that at no higher
        price, as it does where its operands are where those of its twin were. Otherwise all of it."""
        twin, every = self.beam.twins.get(self.number), range(len(found))
        if twin is None or len(found) == 1:
            return every
        done = state.done(self.number - 1 - twin)
        most, choice = done.price + ROUNDING, done.choice
        return next(([way] for way in every if found[way][0].price <= most and found[way][0].choice == choice), every)

    def _from(self, state: Front) -> list[tuple[Transition, Places]]:
        """What the operation does in a state, and the places of what it puts somewhere that is read later."""
        looks, known = seen(self.beam.problem, state, self.number), self.beam.known
        found = known.get((self.number, looks))
        if found is None:
            before = with_nothing_else(self.beam.problem, looks, state)
            made = [Transition.between(before, after) for after in self.beam.followers(before, self.number)]
            if (lasts := self.beam.lasts) is not None:
                made = [replace(own, price=lasts(own.paid)) for own in made]
            found = [(own, self.beam.borders.places(own.layouts, self.number)) for own in made]
            known[self.number, looks] = found
        return found

    def later(self, new: _New) -> float:
        """What is paid later for where tensors are. What is the same in all that come from one state, or in all that
        the same transition leads to, is added up once."""
        kept, layouts = self.kept[new.position], self.states[new.position].layouts
        if new.position not in self._later:
            self._later[new.position] = self._paid.price(kept, layouts)
        added = dict(new.transition.layouts)
        if id(new.transition) not in self._own:
            self._own[id(new.transition)] = self._paid.price(new.places, added)
        met = self.beam.borders.beside(kept, added)
        across = self._paid.met(new.places, layouts) + self._paid.met(met, added)
        return self._later[new.position] + self._own[id(new.transition)] + across
