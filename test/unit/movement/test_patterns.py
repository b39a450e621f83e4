"""Patterns of what PEs pick: what they say is what was asked for, and windows have few of them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mnc.mncore_backend.layout import parse
from mnc.mncore_backend.movement.patterns import ABSENT, OFFSET, PADDED, in_fours, patterns
from mnc.mncore_backend.target import chip

from .test_gather import check_gather

ROWS = "((), (8_L2B:1, 8_L1B:1), (16_MAB:1,), ({channels}:1, 4_PE:1, 2_W:1))"
WINDOWS = "((), (8_L2B:1, 8_L1B:1), (3:{three},), (16_MAB:1,), (3:{one},), ({channels}:1, 4_PE:1, 2_W:1))"


@given(st.integers(0, 2**32 - 1), st.integers(1, 20), st.integers(1, 4))
@settings(max_examples=30, deadline=None)
def test_patterns_say_what_was_asked_for(seed: int, count: int, kinds: int) -> None:
    """Words that begin anywhere, of a few kinds: every kind is one pattern."""
    rng = np.random.default_rng(seed)
    made = np.where(rng.random((kinds, 4096)) < 0.3, -1, rng.integers(0, 900, (kinds, 4096)))
    made[:, 0] = 0  # so that what is added to all is where the word begins
    kind, begin = rng.integers(0, kinds, count), rng.integers(0, 100, count)
    index = np.where(made[kind] < 0, -1, made[kind] + begin[:, None]).T.reshape(*chip().shape, count)
    padded = (index < 0) & (rng.random(chip().shape) < 0.5)[..., None]
    codes, which, begins = patterns(index, padded)
    assert len(codes) == len(set(kind.tolist()))
    own = np.moveaxis(codes[which], 0, -1)
    assert (np.where(own & ABSENT, -1, (own & OFFSET) + begins) == index).all()
    assert ((own & PADDED != 0) == padded).all()


@given(st.lists(st.integers(0, 5), min_size=1, max_size=60))
@settings(max_examples=50, deadline=None)
def test_fours_hold_everything_once(keys: list[int]) -> None:
    groups = list(in_fours(keys))
    assert sorted(n for group in groups for n in group) == list(range(len(keys)))
    assert max(map(len, groups)) <= 4
    assert len(groups) <= len(keys) // 4 + len(set(keys)) + 1


@pytest.mark.parametrize("emulated", [False, True])
@pytest.mark.parametrize("rows", [14, 28])
def test_windows_take_tables_of_their_places(rows: int, emulated: bool) -> None:
    """3x3 windows over an image: what a PE takes depends on the place in the window, not on the channel."""
    tables = []
    for channels in (2, 10):
        own = 8 * channels
        source = parse(ROWS.format(channels=channels), (1, rows, 14, own))
        shape = (1, rows, 3, 14, 3, own)
        target = parse(WINDOWS.format(channels=channels, three=3 * channels, one=channels), shape)
        y = np.arange(rows)[:, None, None, None] + np.arange(3)[:, None, None] - 1
        x = np.arange(14)[:, None] + np.arange(3) - 1
        inside = (y >= 0) & (y < rows) & (x >= 0) & (x < 14)
        pixel = np.where(inside, y * 14 + x, -1)[..., None]
        program = check_gather(
            source, target, np.where(pixel < 0, -1, pixel * own + np.arange(own)).reshape(shape), emulated
        )
        tables.append(sum(b.size for b in program.buffers if b.name == "table"))
    assert tables[1] <= 2 * tables[0]
