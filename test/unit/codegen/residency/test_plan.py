"""Residency in time: random programs against random capacities, and the choices on small ones."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnc.mncore_backend.codegen.residency import Action, Kind, NoRoom, Use, Value, plan_residency


@st.composite
def programs(draw: st.DrawFn) -> list[Value]:
    """Values with random uses; the first use of each writes it."""
    values = []
    for number in range(draw(st.integers(1, 8))):
        places = sorted(draw(st.sets(st.integers(0, 15), min_size=1, max_size=5)))
        writes = [True, *(draw(st.booleans()) for _ in places[1:])]
        uses = tuple(Use(place, written) for place, written in zip(places, writes, strict=True))
        flags = draw(st.sampled_from([(False, False, False), (True, False, False), (False, False, True)]))
        values.append(Value(f"v{number}", draw(st.integers(1, 9)), uses, *flags))
    return values


def check(values: list[Value], actions: list[Action], capacity: int) -> None:
    """Walk the program with the actions: what is used is there, what comes back was kept, capacity holds."""
    resident: set[int] = set()
    stored: dict[int, int] = {}  # value -> version in DRAM
    version = dict.fromkeys(range(len(values)), 0)
    for place in range(16):
        for action in (a for a in actions if a.place == place):
            value = values[action.value]
            if action.kind is Kind.FETCH:
                assert stored[action.value] == version[action.value]
                resident.add(action.value)
                continue
            assert not value.pinned and not value.stays
            assert place not in [use.place for use in value.uses]
            resident.remove(action.value)
            if action.kind is Kind.SPILL:
                stored[action.value] = version[action.value]
            assert stored[action.value] == version[action.value]
        used = [n for n, value in enumerate(values) if place in [use.place for use in value.uses]]
        for n in used:
            use = next(use for use in values[n].uses if use.place == place)
            first = use == values[n].uses[0]
            assert first or n in resident
            resident.add(n)
            version[n] += use.writes and not (first and values[n].loaded)
            if first and values[n].loaded:
                stored[n] = version[n]
        born = sum(v.size for n, v in enumerate(values) if n in used and v.uses[0].place == place != v.uses[-1].place)
        dying = sum(v.size for n, v in enumerate(values) if n in used and v.uses[-1].place == place != v.uses[0].place)
        assert sum(values[n].size for n in resident) - min(born, dying) <= capacity
        resident -= {n for n in used if values[n].uses[-1].place == place}


@given(programs(), st.integers(1, 40))
def test_random(values: list[Value], capacity: int) -> None:
    try:
        actions = plan_residency(values, capacity)
    except NoRoom as error:
        together = [v for v in values if error.place in [use.place for use in v.uses]]
        through = [v for v in values if v.stays and v.uses[0].place < error.place < v.uses[-1].place]
        assert sum(v.size for v in together + through) > capacity
        return
    check(values, actions, capacity)


def value(size: int, *places: int, loaded: bool = False) -> Value:
    return Value("v", size, tuple(Use(place, place == places[0]) for place in places), loaded)


def test_nothing_moves_where_everything_fits() -> None:
    assert plan_residency([value(4, 0, 5), value(4, 1, 4)], 8) == []


def test_the_value_wanted_last_goes() -> None:
    actions = plan_residency([value(4, 0, 9), value(4, 1, 5), value(4, 2, 3)], 8)
    assert actions == [Action(2, Kind.SPILL, 0), Action(9, Kind.FETCH, 0)]


def test_what_dram_holds_goes_without_a_store() -> None:
    actions = plan_residency([value(4, 0, 8, loaded=True), value(4, 1, 9), value(4, 2, 3)], 8)
    assert actions == [Action(2, Kind.DROP, 0), Action(8, Kind.FETCH, 0)]


def test_a_result_may_take_the_place_of_an_operand() -> None:
    assert plan_residency([value(5, 0, 1), value(5, 1, 2)], 5) == []


def test_an_operation_that_is_too_large_is_named() -> None:
    with pytest.raises(NoRoom) as raised:
        plan_residency([value(5, 0, 2), value(5, 1, 2), value(1, 2, 3)], 9)
    assert (raised.value.place, raised.value.values) == (2, [0, 1, 2])
