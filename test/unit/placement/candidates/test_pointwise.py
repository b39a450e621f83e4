"""Placements of iteration spaces whose operands are free: large tables leave room in every PE."""

from collections.abc import Iterable
from itertools import permutations
from math import prod

from hypothesis import given
from hypothesis import strategies as st

from mnc.mncore_backend.layout import Axis, parse
from mnc.mncore_backend.placement.candidates import Digits, default_digits, project, roomy_iteration
from mnc.mncore_backend.placement.candidates.pointwise import possible_iterations
from mnc.mncore_backend.placement.candidates.space import ordered_digits, orders

LARGEST = 700
EXTENTS = st.tuples(st.integers(1, 70), st.integers(1, 900), st.integers(2, 9000))


@given(EXTENTS)
def test_tables_are_spread_until_they_fit(extents: tuple[int, int, int]) -> None:
    """Rows are read by number: result (place, column), operands table (row, column) and numbers (place)."""
    places, columns, rows = extents
    accesses = [(2, 1), (0,), (0, 1)]
    digits = roomy_iteration(default_digits(extents), extents, accesses, LARGEST)
    shapes = [(rows, columns), (places,), (places, columns)]
    largest = max(project(s, digits, a).local_size for s, a in zip(shapes, accesses, strict=True))
    for extent, own in zip(extents, digits, strict=True):
        assert prod(digit.size for digit in own) >= extent
    assert largest <= LARGEST or rows * columns > LARGEST * 1024  # two elements in a long word, PEs may stay without


@given(st.lists(st.integers(1, 600), min_size=1, max_size=5), st.data())
def test_orders_of_dimensions_lead_to_all_placements(extents: list[int], data: st.DataObject) -> None:
    """Each once: what is left out gives nobody other bits."""
    lane = data.draw(st.integers(0, len(extents) - 1))

    def placements(ways: Iterable[tuple[int, ...]]) -> list[tuple[Digits, ...]]:
        return [tuple(ordered_digits(extents, order, lane)) for order in ways]

    own = [*orders(extents, lane)]
    assert all(sorted(order) == [*range(len(extents))] for order in own)
    assert set(placements(own)) == set(placements(permutations(range(len(extents)))))


def test_of_many_dimensions_few_orders_are_looked_at() -> None:
    """As of two gathers with indices of two dimensions, which is what patches of an image are exported as."""
    assert len([*orders((1, 4, 16, 16, 3, 7, 3, 7), 5)]) < 3_000


def test_small_operands_stay_where_they_were() -> None:
    extents = (4, 30, 50)
    accesses = [(2, 1), (0,), (0, 1)]
    assert roomy_iteration(default_digits(extents), extents, accesses, LARGEST) == default_digits(extents)


def test_a_tensor_that_is_large_wherever_it_is_stays() -> None:
    """Spread over the whole chip with its lanes along the first dimension."""
    extents = (64, 2, 2 * LARGEST * 128)
    digits = ordered_digits(extents, (2, 1, 0), 0)
    accesses = [(0, 1, 2), (0, 1, 2)]
    assert project(extents, digits, (0, 1, 2)).local_size > LARGEST
    assert roomy_iteration(digits, extents, accesses, LARGEST) == digits


@given(EXTENTS)
def test_elements_that_are_chosen_by_address_share_no_long_word(extents: tuple[int, int, int]) -> None:
    """Unless there is no other dimension for the lanes."""
    digits = roomy_iteration(default_digits(extents), extents, [(2, 1), (0,), (0, 1)], LARGEST, chosen=(2,))
    assert all(digit.axis is not Axis.W for digit in digits[2]) or extents[:2] == (1, 1)


def test_sums_over_l2bs_are_the_second_choice() -> None:
    extents, free = (2, 130, 5, 3), [(None, (0, 1, 2, 3))]
    first, second = possible_iterations(extents, free, parallel=(False, True, True, True))
    assert second == default_digits(extents)
    assert any(digit.axis is Axis.L2B for digit in second[0])
    assert all(digit.axis is not Axis.L2B for digit in first[0])
    assert prod(digit.size for digit in first[0]) >= extents[0]
    assert any(digit.axis is Axis.L2B for digit in first[1])


def test_a_sum_within_the_l2bs_changes_nothing() -> None:
    extents, free = (8, 65, 16), [(None, (0, 1, 2))]
    assert possible_iterations(extents, free, parallel=(True, False, True)) == [default_digits(extents)]


def test_an_operand_that_is_repeated_a_few_times_may_stay() -> None:
    """Rows of an image twice, and one row many times."""
    operand = parse("((8_L1B:1, 4_PE:1, 2_W:1), (16_MAB:1), (16:1))", (64, 16, 16))
    default, stays = possible_iterations((64, 16, 2, 16), [(operand, (0, 1, 3))])
    assert default == default_digits((64, 16, 2, 16))
    assert [stays[0], stays[1], stays[3]] == list(operand.dims)
    assert all(digit.axis is Axis.ADDRESS for digit in stays[2])
    assert len(possible_iterations((64, 16, 128, 16), [(operand, (0, 1, 3))])) == 1


def test_steps_of_which_slices_are_taken_may_stay_inside() -> None:
    """States [steps, channels, states] of a factor per step and channel, and one per channel and state."""
    extents, factor = (24, 512, 16), parse("((4_PE:1, 2_W:1, 3:1), (8_L1B:1, 16_MAB:1, 4:3))", (24, 512))
    operands = [(factor, (0, 1)), (None, (1, 2))]
    default, whole, stays = possible_iterations(extents, operands, sliced=(0,))
    assert possible_iterations(extents, operands) == [default] == [default_digits(extents)]
    assert [digit.axis for digit in whole[0]] == [Axis.ADDRESS]
    assert whole[1:] == default_digits(extents[1:])
    assert stays[:2] == list(factor.dims)
