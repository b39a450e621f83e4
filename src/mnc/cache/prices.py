"""Prices of movements, which one compilation finds out, and the next ones of other models know."""

from collections.abc import Iterator
from contextlib import contextmanager

from mnc.cache import fingerprints
from mnc.cache.store import Store
from mnc.mncore_backend.movement.price_book import PRICES

KIND = "prices"
"""Of the only entry of a version of the compiler. Of two writers the last one wins: what is lost is found out again."""


@contextmanager
def remembered_prices(store: Store) -> Iterator[None]:
    """Know prices of the store inside, and keep there what is found out."""
    key = fingerprints.digest(KIND, fingerprints.compiler_version())
    if (contents := store.read(KIND, key)) is not None:
        try:
            PRICES.learn(contents.arrays["keys"], contents.arrays["prices"])
        except (KeyError, ValueError):
            store.remove(KIND, key)
    PRICES.has_news = False
    yield
    if PRICES.has_news:
        keys, prices = PRICES.arrays()
        store.write(KIND, key, {}, {"keys": keys, "prices": prices})
