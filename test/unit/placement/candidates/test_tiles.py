"""Tiles whose sizes suit the windows that follow, and the choice of a product that looks at what follows."""

from itertools import product
from math import prod

from mnc.mncore_backend.layout import Axis, Digit, Layout, parse
from mnc.mncore_backend.placement.candidates import (
    Contraction,
    Operand,
    Window,
    plan_contraction,
    source_layout,
    tile,
    with_addresses,
)
from mnc.mncore_backend.placement.candidates.problem import half_memory
from mnc.mncore_backend.placement.candidates.tiles import aligned_digits, possible_tiles, straddling_steps
from mnc.mncore_backend.placement.candidates.windows import follow
from mnc.mncore_backend.target import chip

PLACES = (Digit(8, Axis.L2B), Digit(4, Axis.L1B))


def test_tiles_grow_to_a_multiple_of_the_stride_and_leave_places_empty() -> None:
    digits = {0: with_addresses(224, PLACES), 1: with_addresses(5, ())}
    assert digits[0][-1].size == 7
    assert aligned_digits(digits, {0: 2, 1: 2})[0] == (*PLACES, Digit(8))
    assert aligned_digits(digits, {0: 16})[0] == (*PLACES, Digit(8))  # 16 would leave half of the places empty
    assert aligned_digits(digits, {0: 7}) == digits
    assert aligned_digits(digits, {1: 2}) == digits  # not spread: nothing straddles


def test_windows_follow_tiles_that_are_larger_than_needed() -> None:
    source = parse("((8_L2B:1, 4_L1B:2, 8:1),)", (224,))
    halved = follow((Window(0, 2, 1),), (112, 2), source)
    assert halved is not None and halved[0] == (*source.dims[0][:2], Digit(4))
    assert source_layout((Window(0, 2, 1),), [halved[0], halved[1]], (224,)) == source
    same = follow((Window(0, 1, 1, 1, 1),), (224, 3), source)
    assert same is not None and same[0][-1].size == 8


def test_only_tiles_that_are_no_multiple_of_the_stride_have_their_windows_straddle() -> None:
    even, odd = parse("((8_L2B:1, 8:1),)", (64,)), parse("((8_L2B:1, 7:1),)", (56,))
    assert straddling_steps(even, {0: 2}) == 0.0
    assert straddling_steps(odd, {0: 2}) > straddling_steps(odd, {0: 7}) == 0.0


def test_tiles_along_kernels_read_what_windows_read() -> None:
    """Windows of 16 taps, two apart, at 3 places: 16 taps over 4 places of the chip, or 3 windows in each of them."""
    window, extents = Window(0, 1, 1, 2, 1), (3, 16)
    for hardware in ((), (Digit(4, Axis.MAB),)):
        digits = [with_addresses(3, ()), with_addresses(16, hardware)]
        tiled = tile((window,), extents, digits, (31,))
        places, covered = tiled.layout.shape
        assert places == (4 if hardware else 1)
        read = tiled.index_map.reshape(places, covered)
        each = 16 // places
        for out, tap in product(range(3), range(16)):
            position = out * sum(tiled.strides[0]) + tap % each * sum(tiled.strides[1])
            index = out + 2 * tap - 1
            assert read[tap // each, position] == (index if 0 <= index < 31 else -1)


def convolution(side: int, channels: int, stride: int) -> Contraction:
    """Of 3 x 3 with as many input channels, whose result is read with a stride."""
    windows = (Window(0), Window(4), Window(2, 1, 5, 1, 1), Window(3, 1, 6, 1, 1))
    left = Operand((0, 2, 3, 4, 5, 6), None, windows, (1, channels, side, side))
    right = Operand((1, 4, 5, 6), in_parts=True)
    strides = {2: (stride, stride), 3: (stride, stride)}
    return Contraction((1, channels, side, side, channels, 3, 3), left, right, (0, 1, 2, 3), strides=strides)


def test_weights_that_come_in_parts_may_exceed_local_memory() -> None:
    """Two large layers and the pooling after them: pixels everywhere, tiles that suit the pooling, all weights in all
    MABs, so that only halos move."""
    first = plan_contraction(convolution(224, 64, 2))
    assert first.right.local_size > half_memory()
    assert straddling_steps(first.result, {2: 2, 3: 2}) == 0.0


def test_a_result_is_left_where_those_who_read_it_want_it() -> None:
    problem = Contraction((64, 64, 64), Operand((0, 2)), Operand((2, 1)), (0, 1))
    greedy = plan_contraction(problem).result

    def dear(layout: Layout) -> float:
        return 1e6 if layout == greedy else 0.0

    def fair(layout: Layout) -> float:
        return 10.0 if layout == greedy else 0.0

    assert plan_contraction(problem, afterwards=dear).result != greedy
    assert plan_contraction(problem, afterwards=fair).result == greedy  # not clearly better


def test_loops_over_what_comes_from_dram_are_not_spread_until_most_of_a_tile_is_halo() -> None:
    """8 channels of 16 x 16 pixels: with a pixel in each PE, tiles would hold 49 times as much."""
    windows = (Window(0), Window(1, 1, 3, 1, 3), Window(2, 1, 4, 1, 3))
    ways = possible_tiles((8, 16, 16, 7, 7), (True, True, True, False, False), [(windows, None)])
    assert len(ways) > 1
    outputs = [d.size for own in ways[0][1:3] for d in own if d.axis is Axis.ADDRESS]
    assert len(outputs) == 2  # pixels beside each other in both directions


def test_small_weights_that_are_placed_do_not_say_where_an_image_from_dram_goes() -> None:
    """Another convolution has brought 4 x 3 x 3 weights to one of its L1Bs per channel."""
    windows = (Window(0), Window(1, 1, 3, 1, 1), Window(2, 1, 4, 1, 1))
    weights = (Window(0), Window(3), Window(4)), parse("((4_L1B:1), (3:3), (3:1))", (4, 3, 3))
    extents, parallel = (4, 64, 64, 3, 3), (True, True, True, False, False)
    free = possible_tiles(extents, parallel, [(windows, None)])
    ways = possible_tiles(extents, parallel, [(windows, None), weights])
    assert ways[: len(free)] == free and len(ways) == len(free) + 1
    placed = windows, parse("((4_L1B:1), (16_MAB:1, 4:64), (64:1))", (4, 64, 64))
    assert len(possible_tiles(extents, parallel, [placed, weights])) == 2  # both operands stay where they are


def test_tiles_of_a_large_image_fill_the_chip() -> None:
    windows = (Window(0), Window(1, 1, 3, 1, 1), Window(2, 1, 4, 1, 1))
    digits = possible_tiles((32, 112, 112, 3, 3), (True, True, True, False, False), [(windows, None)])[0]
    spread = [d.size for own in digits for d in own if d.axis is not Axis.ADDRESS]
    assert prod(spread) == prod(chip().axis_size.values())
