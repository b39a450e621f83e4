"""Laws of iteration spaces and the layouts that follow from them."""

from math import prod

import hypothesis.strategies as st
from hypothesis import given

from mnc.mncore_backend.layout import Axis, Digit, parse, place
from mnc.mncore_backend.placement.candidates import (
    default_digits,
    iteration_digits,
    matches,
    project,
    same_places,
    spread,
)
from mnc.mncore_backend.placement.candidates.space import (
    LANE_COUNT,
    LANES,
    reduce_inside,
    resized,
    scattered,
    with_addresses,
)

shapes = st.lists(st.integers(1, 40), min_size=0, max_size=4).map(tuple)


@given(shapes)
def test_default_placement_holds_every_element(shape: tuple[int, ...]) -> None:
    layout = project(shape, default_digits(shape), tuple(range(len(shape))))
    held = place(layout)
    assert set(range(layout.size)) <= set(held.reshape(-1).tolist())


@given(shapes)
def test_operand_of_a_space_matches_it(shape: tuple[int, ...]) -> None:
    digits = default_digits(shape)
    access = tuple(range(len(shape)))
    layout = project(shape, digits, access)
    assert matches(layout, digits, access)
    assert iteration_digits(len(shape), [(layout, access)]) == list(layout.dims)


@given(st.lists(st.integers(1, 100), min_size=1, max_size=3), st.lists(st.sampled_from(list(Axis)[:3]), unique=True))
def test_spread_never_uses_a_coordinate_twice(extents: list[int], axes: list[Axis]) -> None:
    digits = spread(extents, axes)
    used = [(d.axis, d.stride << bit) for own in digits for d in own for bit in range((d.size - 1).bit_length())]
    assert len(used) == len(set(used))
    for own, extent in zip(digits, extents, strict=True):
        places = 1
        for d in own:
            places *= d.size
        assert places < 2 * extent


def test_broadcast_operand_holds_replicas() -> None:
    digits = [(Digit(8, Axis.L2B), Digit(3)), (Digit(4, Axis.PE), Digit(2, Axis.W))]
    bias = project((8,), digits, (1,))
    assert bias.replicated_axes() == (Axis.L2B, Axis.L1B, Axis.MAB)
    assert bias.local_size == 1
    assert matches(bias, digits, (1,))
    assert not matches(bias, digits, (0,))


def test_constant_index_needs_an_unspread_dimension() -> None:
    digits = [(Digit(8, Axis.L2B),)]
    column = project((8, 1), digits, (0, None))
    assert matches(column, digits, (0, None))


def test_places_ignore_the_order_of_addresses() -> None:
    digits = [(Digit(2),), (Digit(3),)]
    a = project((2, 3), digits, (0, 1))
    b = project((3, 2), [digits[1], digits[0]], (0, 1))
    assert same_places(a, a)
    assert not same_places(a, b)


@given(st.integers(1, 300))
def test_addresses_round_up_to_lanes(extent: int) -> None:
    digits = with_addresses(extent, (), (Digit(4, Axis.PE), Digit(2, Axis.W)))
    blocks = -(-extent // LANE_COUNT)
    assert (digits[0].size if blocks > 1 else 1) == blocks


@given(st.integers(1, 400), st.sampled_from([8, 16, 128]), st.booleans())
def test_hardware_digits_stand_for_powers_of_two(extent: int, places: int, lanes: bool) -> None:
    """Whatever the extent: then one placement of it becomes another by moving digits."""
    hardware = {8: (Digit(8, Axis.L2B),), 16: (Digit(16, Axis.MAB),), 128: (Digit(8, Axis.L2B), Digit(16, Axis.MAB))}
    digits = with_addresses(extent, hardware[places], LANES if lanes else (), cyclic=True)
    kept = scattered(project((extent,), [digits], (0,)))
    for own in (digits, kept.dims[0]):
        assert prod(d.size for d in own) >= extent
        weights = [prod(d.size for d in own[i + 1 :]) for i, d in enumerate(own) if d.axis is not Axis.ADDRESS]
        assert all(weight & (weight - 1) == 0 for weight in weights)


def test_reduced_dimensions_stay_inside() -> None:
    digits = reduce_inside((64, 10), (True, False))
    assert all(d.axis is Axis.ADDRESS for d in digits[1])
    assert any(d.axis is not Axis.ADDRESS for d in digits[0])


@given(st.integers(1, 60), st.integers(1, 60))
def test_resizing_keeps_hardware_digits(before: int, after: int) -> None:
    layout = project((before,), default_digits((before,)), (0,))
    resized_digits = resized(layout, (after,))
    layout_after = project((after,), resized_digits, (0,))
    hardware = [[d for d in own if d.axis is not Axis.ADDRESS] for own in (layout.dims[0], layout_after.dims[0])]
    assert hardware[0] == hardware[1]


def test_equal_parts_keep_their_places_when_joined_and_taken_out() -> None:
    part = parse("((16_MAB:1, 48:1),)", (768,))
    joined = project((3072,), resized(part, (3072,)), (0,))
    assert joined == parse("((4:48, 16_MAB:1, 48:1),)", (3072,))
    assert project((768,), resized(joined, (768,)), (0,)) == part
