"""Copies for windows come from DRAM where that takes less than to make them on the chip."""

import numpy as np

from mnc.lowering.linalg_to_spmd.placed import default_layout
from mnc.lowering.linalg_to_spmd.window_copies import cheapest_source, comes_arranged
from mnc.mncore_backend.layout import Layout, parse


def windows(count: int, extent: int, taps: int) -> np.ndarray:
    """Which pixel of a square image each output and tap reads, for so many images."""
    out = extent - taps + 1
    image, row, column, down, right = np.indices((count, out, out, taps, taps))
    return (image * extent + row + down) * extent + column + right


def copies(text: str, count: int, extent: int, taps: int) -> Layout:
    out = extent - taps + 1
    return parse(text, (count, out, out, taps, taps))


def test_a_small_image_is_loaded_once_for_every_tap() -> None:
    layout = copies("((), (8_L2B:1, 4_L1B:2), (2_L1B:1, 16_MAB:1), (5:1), (4_PE:1, 2_W:1))", 1, 32, 5)
    assert comes_arranged(default_layout((1, 32, 32)), layout, windows(1, 32, 5))


def test_copies_of_many_images_that_stay_in_their_l2b_are_made_there() -> None:
    layout = copies("((8_L2B:1, 8_L1B:1), (16_MAB:1, 2:84), (28:3), (3:1), (4_PE:1, 2_W:1))", 64, 30, 3)
    assert not comes_arranged(default_layout((64, 30, 30)), layout, windows(64, 30, 3))
    elsewhere = copies("((8_L1B:1, 8_MAB:2), (2_MAB:1, 14:84), (28:3), (3:1), (4_PE:1, 2_W:1))", 64, 30, 3)
    assert comes_arranged(default_layout((64, 30, 30)), elsewhere, windows(64, 30, 3))


def test_an_element_that_is_read_once_comes_at_its_place() -> None:
    layout = parse("((8_L2B:1, 8_L1B:1), (4_PE:1, 2_W:1))")
    assert comes_arranged(default_layout((64, 8)), layout, np.arange(512).reshape(64, 8))


def test_the_copies_are_made_from_where_that_takes_least() -> None:
    """Rows of an image that are spread over the L2Bs, as a default layout has them, would have to cross them."""
    index = windows(4, 8, 3)
    layout = parse("((4:108), (6:18), (6:3), (3:1), (4_PE:1, 2_W:1))", (4, 6, 6, 3, 3))
    spread = default_layout((4, 8, 8))
    near = parse("((4:8), (8:1), (4_PE:1, 2_W:1))", (4, 8, 8))
    assert cheapest_source((spread, near), layout, index) == near
    assert cheapest_source((spread, None, spread), layout, index) == spread
