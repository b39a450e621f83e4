"""Bundles whose predecessors are all placed, sorted by what still keeps them from being issued."""

from bisect import insort
from collections.abc import Callable, Iterator
from heapq import heapify, heappop, heappush

from mnc.mncore_backend.codegen.scheduling.graph import Bundle

Entry = tuple[int, int, Bundle]


class ReadyQueues:
    """Four kinds of queues. `later`: earliest step not reached. `stalled`: an MV they need is still on its way.
    `units`: could be issued now, one heap per issue unit, most urgent first. `transfers`: MVs that could be issued now.
    """

    def __init__(self, arrival: Callable[[Bundle], int], *, by_urgency: bool = False) -> None:
        """`arrival`: when the last MV in flight that a bundle needs finishes, 0 if it needs none. `by_urgency`: MVs
        go by urgency instead of in program order."""
        self._by_urgency = by_urgency
        self._arrival = arrival
        self.later: list[Entry] = []
        self.stalled: list[Entry] = []
        self.stalled_moves: dict[int, Bundle] = {}  # MVs among them, by their indices
        self.units: dict[int, list[Entry]] = {}
        self.transfers: list[Entry] = []
        self.changes = 0  # of `transfers`, so far
        self.forwarded: dict[int, list[Entry]] = {}  # as `units`, for this step only: with operands from latches

    def add(self, bundle: Bundle, step: int, now: int) -> None:
        """Sort in a bundle."""
        earliest = bundle.earliest
        if earliest > step:
            heappush(self.later, (earliest, bundle.index, bundle))
            return
        arrival = self._arrival(bundle) if bundle.transfers or bundle.is_transfer else 0
        if arrival > now:
            heappush(self.stalled, (arrival, bundle.index, bundle))
            if bundle.is_transfer:
                self.stalled_moves[bundle.index] = bundle
        elif bundle.is_transfer:
            self._push_transfer(bundle)
        else:
            self.push(bundle)

    def remove_transfer(self, bundle: Bundle) -> None:
        """An MV of `transfers` is issued."""
        self.changes += 1
        self.transfers = [entry for entry in self.transfers if entry[2] is not bundle]

    def push(self, bundle: Bundle) -> None:
        """Put a bundle into the heap of its first row's unit."""
        self._push(self.units, bundle)

    def push_forwarded(self, bundle: Bundle) -> None:
        """Put in a bundle that can be issued in this step only because latches deliver its operands."""
        self._push(self.forwarded, bundle)

    def _push_transfer(self, bundle: Bundle) -> None:
        self.changes += 1
        # In program order what is loaded first is used first.
        insort(self.transfers, (-bundle.priority if self._by_urgency else 0, bundle.index, bundle))

    @staticmethod
    def _push(heaps: dict[int, list[Entry]], bundle: Bundle) -> None:
        units = bundle.needs[0].units
        heappush(heaps.setdefault(units & -units, []), (-bundle.priority, bundle.index, bundle))

    def advance(self, step: int, now: int) -> None:
        """Move up what the step and the time have made ready."""
        while self.later and self.later[0][0] <= step:
            bundle = heappop(self.later)[2]
            if not bundle.placed:
                self.add(bundle, step, now)
        while self.stalled and self.stalled[0][0] <= now:
            bundle = heappop(self.stalled)[2]
            if bundle.is_transfer:
                del self.stalled_moves[bundle.index]
            self.add(bundle, step, now)

    def due_before(self, step: int) -> Iterator[Bundle]:
        """Bundles of `later` that are ready before `step`."""
        places = [0]
        while places:
            place = places.pop()
            if place < len(self.later) and self.later[place][0] < step:
                places += [2 * place + 1, 2 * place + 2]
                if not self.later[place][2].placed:
                    yield self.later[place][2]

    def renew(self) -> None:
        """Priorities have changed."""
        for queue in self.units.values():
            queue[:] = [(-b.priority, i, b) for _, i, b in queue]
            heapify(queue)
        self.changes += 1
        transfers = [bundle for _, _, bundle in self.transfers]
        self.transfers.clear()
        for bundle in transfers:
            self._push_transfer(bundle)

    def most_urgent(self, closed: int) -> list[Entry] | None:
        """The heap with the most urgent bundle among units not in the bit set `closed`."""
        best = None
        for heaps in (self.units, self.forwarded):
            for unit, heap in heaps.items():
                if heap and not unit & closed and (best is None or heap[0] < best[0]):
                    best = heap
        return best
