"""Shrunk cases that once moved elements to the wrong place."""

from mnc.mncore_backend.layout import parse

from .test_relayout import check


def test_last_block_of_a_dimension_is_half_padding() -> None:
    """300 elements fill 37.5 blocks of eight lanes: the last block holds elements in half of its PEs only."""
    source = parse("((16_MAB:1, 4:1), (8_L2B:1, 8_L1B:1, 4_PE:1, 2_W:1))", (53, 300))
    target = parse("((8_L2B:1, 8_L1B:1), (16_MAB:1, 3:1, 4_PE:1, 2_W:1))", (53, 300))
    check(source, target)
