"""Prices of movements that are kept: the same as those of plans, by machine, layouts and map."""

import numpy as np
import pytest

from mnc.mncore_backend.layout import parse
from mnc.mncore_backend.movement.ahead import Request
from mnc.mncore_backend.movement.estimate import Cost
from mnc.mncore_backend.movement.price_book import PRICES, PriceBook, digest
from mnc.mncore_backend.target import SMALL, use

ROWS, COLUMNS = (parse(text, (16, 8)) for text in ("((16_MAB:1), (4_PE:1, 2_W:1))", "((16:1), (4_PE:1, 2_W:1))"))
REVERSED = np.arange(128)[::-1].copy()


def cost(number: int) -> Cost:
    return Cost(number, 1, 2, 3)


def test_a_price_is_found_out_once() -> None:
    book, planned = PriceBook(), []

    def plan() -> Cost:
        planned.append(1)
        return cost(7)

    assert not book.knows(digest("a"))
    assert [book.price(digest("a"), plan) for _ in range(3)] == [cost(7)] * 3
    assert len(planned) == 1 and book.has_news and book.knows(digest("a"))


def test_arrays_bring_prices_to_another_book() -> None:
    book, other = PriceBook(), PriceBook()
    for number in range(5):
        book.price(digest(number), lambda own=number: cost(own))
    other.learn(*book.arrays())
    assert not other.has_news
    assert [other.price(digest(n), lambda: pytest.fail("it is known")) for n in range(5)] == [cost(n) for n in range(5)]
    with pytest.raises(ValueError, match="prices of movements in arrays of"):
        other.learn(*(array[1:] for array in reversed(book.arrays())))  # pyright: ignore[reportArgumentType]


def test_what_was_used_longest_ago_is_forgotten() -> None:
    book = PriceBook(most=2)
    for number in (0, 1, 0, 2):
        book.price(digest(number), lambda own=number: cost(own))
    assert [book.knows(digest(number)) for number in range(3)] == [True, False, True]


def test_requests_with_equal_prices_only_share_one() -> None:
    """Directions, maps and machines count."""
    PRICES.forget()
    first = Request(ROWS, COLUMNS)
    price = first.cost()
    assert first.is_priced and Request(ROWS, COLUMNS).cost() == price
    others = Request(COLUMNS, ROWS), Request(ROWS, COLUMNS, REVERSED), Request(ROWS, COLUMNS, keep=True)
    assert not any(own.is_priced for own in others)
    with use(SMALL):
        assert not first.is_priced
