"""Buffers change sides until nothing overflows, and those that must not meet never do."""

from hypothesis import given
from hypothesis import strategies as st

from mnc.mncore_backend.assembly.records import Memory
from mnc.mncore_backend.codegen.allocation.balance import balanced
from mnc.mncore_backend.codegen.allocation.lifetimes import Life
from mnc.mncore_backend.codegen.allocation.pack import pack
from mnc.mncore_backend.program import LOCAL_MEMORY, Program
from mnc.mncore_backend.target import chip


def life(size: int, first: int, last: int) -> Life:
    return Life(Program().buffer("b", size, LOCAL_MEMORY), first, last, LOCAL_MEMORY)


def test_three_of_one_side_find_room_beside_a_small_one() -> None:
    longs = chip().memories[Memory.LM0].longs
    lives = [life(longs // 2, 0, 9), life(longs // 4, 1, 9), life(longs // 2, 2, 9), life(longs // 8, 3, 9)]
    crowded = dict.fromkeys(lives[:3], Memory.LM0) | {lives[3]: Memory.LM1}
    found = balanced(lives, crowded)
    assert found is not None
    assert all(pack([own for own in lives if found[own] is memory], longs) is not None for memory in LOCAL_MEMORY)


def test_what_it_must_not_meet_there_changes_places_with_it() -> None:
    longs = chip().memories[Memory.LM0].longs
    large, small, other = life(longs // 2, 0, 9), life(longs // 8, 0, 9), life(3 * longs // 4, 0, 9)
    large.apart[small] = small.apart[large] = 1
    found = balanced([large, small, other], {large: Memory.LM0, small: Memory.LM1, other: Memory.LM0})
    assert found is not None and found[large] is not found[small] and found[large] is not found[other]


def test_what_has_room_stays() -> None:
    lives = [life(8, 0, 3), life(8, 3, 5)]
    assert balanced(lives, dict.fromkeys(lives, Memory.LM1)) is None


SIZES = st.integers(1, 2 * chip().memories[Memory.LM0].longs // 3)
PLACES, LENGTHS = st.integers(0, 20), st.integers(0, 9)
LIVES = st.lists(st.builds(lambda size, at, length: life(size, at, at + length), SIZES, PLACES, LENGTHS))


@given(LIVES, st.data())
def test_nothing_overflows_and_conflicts_are_kept(lives: list[Life], data: st.DataObject) -> None:
    """Whatever the first choice was, as long as it kept apart what has to be."""
    chosen = {own: data.draw(st.sampled_from(LOCAL_MEMORY)) for own in lives}
    for one in lives:
        for other in lives:
            if chosen[one] is not chosen[other] and data.draw(st.booleans()):
                one.apart[other] = other.apart[one] = 1
    found = balanced(lives, chosen)
    if found is None:
        return
    assert set(found) == set(lives)
    assert all(found[one] is not found[other] for one in lives for other in one.apart)
    longs = chip().memories[Memory.LM0].longs
    for memory in LOCAL_MEMORY:
        for moment in range(30):
            there = (own for own in lives if found[own] is memory)
            assert sum(own.buffer.size for own in there if own.first <= moment < max(own.last, own.first + 1)) <= longs
