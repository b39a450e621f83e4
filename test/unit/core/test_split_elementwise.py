"""Which intermediate results of long element-wise work become tensors."""

import hypothesis.strategies as st
from hypothesis import given

from mnc.lowering.linalg_to_spmd.split_elementwise import tensors_of


def _most_waiting(uses: list[list[int]], among: set[int]) -> int:
    return max(sum(value <= now < max(uses[value]) for value in among) for now in range(len(uses)))


@st.composite
def _bodies(draw: st.DrawFn) -> list[list[int]]:
    """Uses of values each of which but the last has one, later."""
    count = draw(st.integers(2, 60))
    later = [draw(st.lists(st.integers(i + 1, count - 1), min_size=1, max_size=3)) for i in range(count - 1)]
    return [*map(sorted, later), []]


@given(_bodies(), st.integers(2, 8))
def test_no_more_than_the_limit_wait(uses: list[list[int]], limit: int) -> None:
    everything = [True] * len(uses)
    chosen = tensors_of(uses, everything, [False] * len(uses), limit)
    rest = {value for value, own in enumerate(uses) if own} - chosen
    if rest:
        assert _most_waiting(uses, rest) <= limit
    if _most_waiting(uses, {value for value, own in enumerate(uses) if own}) <= limit:
        assert not chosen


@given(_bodies(), st.integers(2, 8))
def test_nothing_is_computed_by_two_parts(uses: list[list[int]], limit: int) -> None:
    chosen = tensors_of(uses, [True] * len(uses), [False] * len(uses), limit)
    for value in set(range(len(uses))) - chosen if chosen else ():
        parts, left = set(), [value]
        while left:
            for use in uses[left.pop()]:
                (parts.add if use in chosen or not uses[use] else left.append)(use)
        assert len(parts) <= 1


def test_what_cannot_be_a_tensor_stays() -> None:
    uses = [[5], [5], [5], [5], [5], []]
    assert tensors_of(uses, [False, True, False, True, False, False], [False] * 6, 2) == {1, 3}
    assert tensors_of(uses, [True] * 6, [True] * 6, 2) == set()
