"""Shrunk cases that once moved elements to the wrong place."""

from mnc.mncore_backend.layout import parse

from .test_load_store import check_load
from .test_relayout import check


def test_last_block_of_a_dimension_is_half_padding() -> None:
    """300 elements fill 37.5 blocks of eight lanes: the last block holds elements in half of its PEs only."""
    source = parse("((16_MAB:1, 4:1), (8_L2B:1, 8_L1B:1, 4_PE:1, 2_W:1))", (53, 300))
    target = parse("((8_L2B:1, 8_L1B:1), (16_MAB:1, 3:1, 4_PE:1, 2_W:1))", (53, 300))
    check(source, target)


def test_last_step_of_two_long_words_is_masked_in_both() -> None:
    """Seven rows of two blocks: the idle cycle of the last step must not write the second long word either."""
    check_load(parse("((8:2,), (2:1, 4_PE:1, 2_W:1))", (7, 16)), emulated=True)


def test_what_is_collected_comes_behind_gaps() -> None:
    """A row takes six long words, and two of them are free: rows that come together lie eight apart."""
    source = parse("((4:1, 4_PE:1, 2_W:1), (8_L1B:1, 2_MAB:8))", (32, 16))
    check(source, parse("((16_MAB:1, 2:4), (2:1, 4_PE:1, 2_W:1))", (32, 16)))
