"""What movements take, remembered up to limits."""

from math import inf

from hypothesis import given
from hypothesis import strategies as st

from mnc.mncore_backend.movement.within import PricesWithin
from mnc.mncore_backend.target import use
from mnc.mncore_backend.target.machines import SMALL


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 12)), max_size=30))
def test_no_price_is_found_out_twice_and_all_are_right(asked: list[tuple[int, int]]) -> None:
    prices, found = PricesWithin(), list[tuple[int, int]]()
    for key, limit in asked:
        real = 3.0 * key

        def find(key: int = key, limit: int = limit, real: float = real) -> float:
            found.append((key, limit))
            return real if real <= limit else inf

        steps = prices.steps(key, limit, find)
        assert steps == real if real <= limit else steps > limit
    for key in range(4):
        limits = [limit for own, limit in found if own == key]
        assert limits == sorted(set(limits))  # only for more than before
        assert all(limit < 3 * key for limit in limits[:-1])  # and never once it is known


def test_the_first_are_forgotten_first() -> None:
    prices, found = PricesWithin(most=2), list[int]()

    def steps(key: int) -> float:
        return prices.steps(key, 10, lambda: found.append(key) or 1.0)

    assert [steps(key) for key in (1, 2, 3, 3, 2, 1)] == [1.0] * 6
    assert found == [1, 2, 3, 1]


def test_machines_have_prices_of_their_own() -> None:
    prices = PricesWithin()
    assert prices.steps("move", 10, lambda: 1.0) == 1
    with use(SMALL):
        assert prices.steps("move", 10, lambda: 2.0) == 2
    assert prices.steps("move", 10, lambda: 3.0) == 1
