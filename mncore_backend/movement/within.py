"""Prices of movements that were found out up to limits. To find out that a movement takes more than it may takes as
long as to find its price; so that is remembered as well."""

from collections.abc import Callable, Hashable
from math import inf

from mnc.mncore_backend.movement.price_book import machine_digest

REMEMBERED = 10_000
"""Prices of one kind that are remembered; those found out first are forgotten first."""


class PricesWithin:
    """Steps of movements of one kind, by what they depend on besides the machine."""

    def __init__(self, most: int = REMEMBERED) -> None:
        self._most = most
        self._known: dict[Hashable, tuple[float, bool]] = {}  # steps, or a limit that they are above

    def steps(self, key: Hashable, limit: float, find: Callable[[], float]) -> float:
        """The steps of a movement. What is more than `limit` may be given as infinitely many, by `find` as well, which
        is asked where it is not known yet whether it is more."""
        whole = machine_digest(), key
        steps, is_price = self._known.get(whole, (-inf, False))
        if is_price or steps >= limit:
            return steps if is_price else inf
        found = find()
        while len(self._known) >= self._most:
            self._known.pop(next(iter(self._known)), None)
        self._known[whole] = (limit, False) if found == inf else (found, True)
        return found
