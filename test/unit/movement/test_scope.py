"""What target words need, with every replica looked at and with one of them."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from layout.strategies import layouts

from mnc.mncore_backend.layout import Axis, parse
from mnc.mncore_backend.movement.scope import LEVELS, analyse
from mnc.mncore_backend.target import chip


@given(st.data())
@settings(max_examples=40, deadline=None)
def test_one_replica_stands_for_all(data: st.DataObject) -> None:
    source, target = data.draw(layouts(max_address=8)), data.draw(layouts(max_address=8))
    index_map = np.random.default_rng(data.draw(st.integers(0, 99))).integers(-1, source.size, target.size)
    every, once = analyse(source, target, index_map), analyse(source, target, index_map, once=True)
    assert (np.broadcast_to(once.wanted, every.wanted.shape) == every.wanted).all()
    assert [once.keeps(axis) for axis in LEVELS] == [every.keeps(axis) for axis in LEVELS]
    assert once.copies() == every.copies()
    for axis in (Axis.L2B, Axis.L1B, Axis.MAB):
        own = every.at(axis) & ~source.replicated_bits(axis)
        assert (np.broadcast_to(once.at(axis) & ~source.replicated_bits(axis), own.shape) == own)[every.wanted].all()


def test_replicas_are_looked_at_once() -> None:
    """Every L2B and every MAB has all rows of its L1B: a 128th of the words of the chip."""
    source = parse("((8_L2B:1, 8_L1B:1, 4:2), (2:1, 4_PE:1, 2_W:1))")
    target = parse("((32:2, 8_L1B:1), (2:1, 4_PE:1, 2_W:1))")
    need = analyse(source, target, None, once=True)
    assert need.wanted.shape == (1, 8, 1, chip().axis_size[Axis.PE], 2 * target.local_size)
