"""Copies for windows come from DRAM where that takes less than to make them on the chip."""

import numpy as np

from mnc.lowering.linalg_to_spmd.placed import default_layout
from mnc.lowering.linalg_to_spmd.window_copies import copied_from
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
    assert copied_from([default_layout((1, 32, 32))], layout, windows(1, 32, 5)) is None


def test_copies_of_many_images_that_stay_in_their_l2b_are_made_there() -> None:
    layout = copies("((8_L2B:1, 8_L1B:1), (16_MAB:1, 2:84), (28:3), (3:1), (4_PE:1, 2_W:1))", 64, 30, 3)
    assert copied_from([default_layout((64, 30, 30))], layout, windows(64, 30, 3)) is not None
    elsewhere = copies("((8_L1B:1, 8_MAB:2), (2_MAB:1, 14:84), (28:3), (3:1), (4_PE:1, 2_W:1))", 64, 30, 3)
    assert copied_from([default_layout((64, 30, 30))], elsewhere, windows(64, 30, 3)) is None


def test_an_element_that_is_read_once_comes_at_its_place() -> None:
    layout = parse("((8_L2B:1, 8_L1B:1), (4_PE:1, 2_W:1))")
    assert copied_from([default_layout((64, 8))], layout, np.arange(512).reshape(64, 8)) is None


def test_the_copies_are_made_from_where_that_takes_least() -> None:
    """Images that are in other L2Bs than their copies would have to cross them."""
    index = windows(64, 30, 3)
    layout = copies("((8_L2B:1, 8_L1B:1), (16_MAB:1, 2:84), (28:3), (3:1), (4_PE:1, 2_W:1))", 64, 30, 3)
    far = parse("((8_L1B:1, 8_MAB:2), (8_L2B:1, 4:4), (4:1, 4_PE:1, 2_W:1))", (64, 30, 30))
    near = parse("((8_L2B:1, 8_L1B:1), (16_MAB:1, 2:4), (4:1, 4_PE:1, 2_W:1))", (64, 30, 30))
    assert copied_from([far, near], layout, index) == near
    assert copied_from([near, far], layout, index) == near
