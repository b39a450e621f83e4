"""Addresses within a memory: nothing overlaps, and reuse comes late even where a large buffer has to fit between."""

from random import Random

from hypothesis import given
from hypothesis import strategies as st

from mnc.mncore_backend.assembly.records import Memory
from mnc.mncore_backend.codegen.allocation.lifetimes import Life
from mnc.mncore_backend.codegen.allocation.pack import pack, peak
from mnc.mncore_backend.program import Program

CAPACITY = 1024


def life(size: int, first: int, last: int, alignment: int = 1) -> Life:
    buffer = Program().buffer(f"b{first}", size, (Memory.L2BM,), alignment=alignment)
    return Life(buffer, first, last, buffer.choices)


@given(
    st.lists(
        st.builds(
            lambda size, first, length, alignment: life(size, first, first + length, alignment),
            st.integers(1, CAPACITY),
            st.integers(0, 30),
            st.integers(0, 10),
            st.sampled_from([1, 4, 64]),
        ),
        max_size=25,
    )
)
def test_nothing_overlaps(lives: list[Life]) -> None:
    placed = pack(lives, CAPACITY)
    if placed is None:
        return
    assert set(placed) == set(lives) and peak(lives)[0] <= CAPACITY
    for number, one in enumerate(lives):
        assert placed[one] % one.buffer.alignment == 0 and 0 <= placed[one] <= CAPACITY - one.buffer.size
        for other in lives[:number]:
            apart = placed[one] + one.buffer.size <= placed[other] or placed[other] + other.buffer.size <= placed[one]
            assert apart or not one.overlaps(other)


def test_a_large_buffer_does_not_make_the_others_share_addresses() -> None:
    """Round robin scatters the small ones until the large one finds no room; they keep taking turns around it."""
    small = [life(64, 2 * i, 2 * i + 3) for i in range(20)]
    large = life(CAPACITY * 3 // 4, 41, 44)
    held = [life(64, 30, 44), life(64, 36, 44)]
    placed = pack([*small, *held, large], CAPACITY)
    assert placed is not None
    for i in range(2, 19):
        assert placed[small[i]] != placed[small[i - 2]]


def test_what_found_no_room_goes_to_the_front() -> None:
    """Largest first, the last one finds a hole in two pieces."""
    lives = [life(*own) for own in [(5, 0, 5), (2, 4, 5), (4, 6, 12), (2, 1, 5), (1, 8, 10), (1, 1, 3)]]
    assert peak(lives)[0] == 9
    assert pack(lives, 9) is not None
    assert pack(lives, 8) is None


def test_a_short_time_without_room_decides_nothing_for_the_rest() -> None:
    """Small buffers fill nearly all for a moment, and what follows them finds gaps that are too small; before and
    behind it, the others go on to take turns."""
    random = Random(325)
    many = random.randint(34, 40)
    full = [life(random.choice([24, 30]), 20, random.choice([23, 27])) for _ in range(many)]
    full += [life(random.choice([24, 30]), 24, 27) for _ in range(random.randint(5, 25))]
    early = [life(8, 2 * i, 2 * i + 3) for i in range(8)]
    late = [life(8, 30 + 2 * i, 33 + 2 * i) for i in range(20)]
    placed = pack([*early, *full, *late], CAPACITY)
    assert placed is not None
    for own in (early, late):
        assert all(placed[a] != placed[b] for a, b in zip(own, own[2:], strict=False))
