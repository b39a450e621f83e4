"""Prices of movements that were planned before, here or by an earlier compilation: a plan may take a tenth of a second,
its price is a few numbers.

A price depends on the machine, the layouts and the map between them. Entries are kept by a digest of these, so that a
file can hold them; what programs do with prices is the same wherever they come from.
"""

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import astuple, fields

import numpy as np
from numpy.typing import NDArray

from mnc.mncore_backend.movement.estimate import Cost
from mnc.mncore_backend.target import cached_per_machine, chip

DIGEST_BYTES = 16
MOST = 10_000
"""Prices that are remembered: what every compilation reads and may write again, below 1 MB on disk; those used longest
ago are forgotten first."""
NUMBERS = len(fields(Cost))


class PriceBook:
    """Prices by what they depend on. `has_news`: there are some that `learn` did not bring."""

    def __init__(self, most: int = MOST) -> None:
        self.has_news = False
        self._most = most
        self._known: OrderedDict[bytes, Cost] = OrderedDict()
        self._lock = threading.Lock()

    def knows(self, key: bytes) -> bool:
        """Whether the price is there."""
        with self._lock:
            return key in self._known

    def price(self, key: bytes, plan: Callable[[], Cost]) -> Cost:
        """The price of a movement, for which it is planned where nobody has done so before."""
        with self._lock:
            found = self._known.get(key)
            if found is not None:
                self._known.move_to_end(key)
                return found
        found = plan()
        self._remember(key, found)
        self.has_news = True
        return found

    def learn(self, keys: NDArray[np.uint8], prices: NDArray[np.int64]) -> None:
        """Remember what `arrays` gave. Raises ValueError for arrays of other shapes."""
        if keys.shape != (len(prices), DIGEST_BYTES) or prices.shape[1:] != (NUMBERS,):
            raise ValueError(f"prices of movements in arrays of {keys.shape} and {prices.shape}")
        for key, price in zip(keys, prices.tolist(), strict=True):
            self._remember(key.tobytes(), Cost(*price))

    def arrays(self) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
        """Keys [entry, byte] and prices [entry, number], those used longest ago first."""
        with self._lock:
            known = dict(self._known)
        keys = np.frombuffer(b"".join(known), np.uint8).reshape(-1, DIGEST_BYTES)
        return keys, np.array([astuple(own) for own in known.values()], np.int64).reshape(-1, NUMBERS)

    def forget(self) -> None:
        """Start anew."""
        with self._lock:
            self._known.clear()
            self.has_news = False

    def _remember(self, key: bytes, price: Cost) -> None:
        with self._lock:
            self._known[key] = price
            self._known.move_to_end(key)
            while len(self._known) > self._most:
                self._known.popitem(last=False)


PRICES = PriceBook()


def digest(*parts: object) -> bytes:
    """The key of a movement on this machine; parts are told apart by their text."""
    return hashlib.blake2b("|".join(map(str, (machine_digest(), *parts))).encode(), digest_size=DIGEST_BYTES).digest()


@cached_per_machine(1)
def machine_digest() -> str:
    """What tells machines apart."""
    return hashlib.blake2b(repr(chip()).encode(), digest_size=DIGEST_BYTES).hexdigest()
