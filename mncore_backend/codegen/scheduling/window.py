"""The window of operations that compete for steps: builds the graph as the window moves over the program."""

from collections.abc import Mapping

from mnc.mncore_backend.codegen.scheduling.graph import Bundle, Node
from mnc.mncore_backend.codegen.scheduling.reading import Source
from mnc.mncore_backend.codegen.scheduling.urgency import compute_priorities


class Window:
    """Bundles whose members have all been read and that are not placed yet, with up-to-date priorities."""

    def __init__(
        self,
        source: Source,
        count: int,
        size: int,
        *,
        deep: bool = True,
        earlier: Mapping[int, int] | None = None,
    ) -> None:
        """A window of `size` over the `count` operations of a source. `deep`, `earlier`: see `compute_priorities`."""
        self._deep = deep
        self._earlier = earlier
        self._source = source
        self._count = count
        self._size = size
        self._next = 0
        self._chains = source.chains
        self._open: dict[int, Bundle] = {}
        self.bundles: list[Bundle] = []
        self.unplaced = 0

    @property
    def exhausted(self) -> bool:
        """The whole program has been read."""
        return self._next == self._count

    def wants_more(self) -> bool:
        """A quarter of the window has become free."""
        return not self.exhausted and 4 * self.unplaced <= 3 * self._size

    def extend(self) -> list[Bundle]:
        """Read operations until the window is full; the bundles that have become ready to be looked at (no predecessor
        left to place). Priorities are computed anew."""
        ready = []
        while not self.exhausted and (self.unplaced < self._size or self._open):
            bundle = self._read_one()
            if bundle.missing == 0:
                bundle.complete()
                bundle.pending -= 1
                self.bundles.append(bundle)
                self.unplaced += 1
                if bundle.pending == 0:
                    ready.append(bundle)
        self.bundles = [b for b in self.bundles if not b.placed]
        compute_priorities(self.bundles, deep=self._deep, earlier=self._earlier)
        return ready

    def _read_one(self) -> Bundle:
        node, before = self._source.read(self._next)
        self._next += 1
        bundle = self._join(node)
        for other, distance, sooner in before:
            if other.bundle is bundle:
                bundle.internal.append((other, node, distance))
            elif other.step < 0:
                other.successors.append((node, distance, sooner))
                bundle.pending += 1
            elif other.transfer is not None:
                bundle.transfers.append(other)
            else:
                node.earliest = max(node.earliest, other.step + distance)
                node.sooner = max(node.sooner, other.step + sooner)
        bundle.missing -= 1
        return bundle

    def _join(self, node: Node) -> Bundle:
        """The bundle of a new node."""
        chain = self._chains.get(node.index)
        if chain is None:
            node.bundle = Bundle(node.index, [[node]], is_transfer=node.transfer is not None)
            return node.bundle
        first = chain.rows[0][0]
        bundle = self._open.get(first)
        if bundle is None:
            bundle = self._open[first] = Bundle(node.index, [[] for _ in chain.rows])
            bundle.missing = sum(len(row) for row in chain.rows)
        node.row = next(r for r, row in enumerate(chain.rows) if node.index in row)
        bundle.rows[node.row].append(node)
        node.bundle = bundle
        if bundle.missing == 1:
            del self._open[first]
        return bundle
