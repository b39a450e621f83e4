"""How long a solution takes: units overlap inside an operation, and nowhere else."""

import pytest

from mnc.mncore_backend.layout import parse
from mnc.mncore_backend.placement.cost.movements import Movement
from mnc.mncore_backend.placement.solve.duration import LONG, MOST_STEPS, SHORT, duration, law_of
from mnc.mncore_backend.placement.solve.state import State
from mnc.mncore_backend.pricing import Resources

MOVEMENT = Movement(parse("((8:1), (4_PE:1, 2_W:1))"), parse("((8_L1B:1), (4_PE:1, 2_W:1))"))


def state(*paid: tuple[int, str, float]) -> State:
    """A state in which operations have paid for steps of these kinds; steps of "moves" are those of the movement."""
    own = State()
    for number, kind, steps in paid:
        own.current = number
        own.pay(kind, steps, MOVEMENT if kind == "moves" else None)  # pyright: ignore[reportArgumentType]
    return own


@pytest.mark.parametrize(
    ("paid", "steps"),
    [
        ([(0, "kernel", 100.0)], 100.0),
        ([(0, "kernel", 100.0), (0, "fetched", 60.0)], 100 + (1 - LONG.overlap) * 60),
        ([(0, "kernel", 60.0), (0, "fetched", 100.0)], 100 + (1 - LONG.overlap) * 60),
        ([(0, "kernel", 100.0), (1, "fetched", 60.0)], 160.0),
        ([(0, "second", 40.0), (0, "work", 60.0)], 100.0),
        ([(0, "kernel", 100.0), (0, "sums", 60.0)], 160.0),
    ],
)  # fmt: skip
def test_the_busiest_unit_of_an_operation_says_how_long_it_takes(
    paid: list[tuple[int, str, float]], steps: float
) -> None:
    assert duration(state(*paid), {}) == pytest.approx(steps)


def test_a_movement_takes_what_its_plan_takes_and_all_wait_for_its_latency() -> None:
    own = state((0, "kernel", 100.0), (0, "moves", 1.0))
    plan = Resources(alu=10.0, mv=150.0, l1bm=20.0, latency=64.0)
    assert duration(own, {MOVEMENT: plan}) == pytest.approx(64 + 150 + (1 - LONG.overlap) * (100 + 10 + 20))


def test_in_a_short_program_movements_take_longer_than_their_units() -> None:
    own = state((0, "moves", 1.0))
    plan = Resources(mv=150.0, latency=64.0)
    assert duration(own, {MOVEMENT: plan}, SHORT) == pytest.approx(150 + SHORT.start + 0.4 * 64)


def test_the_law_is_that_of_programs_as_long_as_this() -> None:
    short, long = state((0, "kernel", MOST_STEPS)), state((0, "kernel", MOST_STEPS), (1, "kernel", 1.0))
    assert law_of(short, lambda _: Resources()) is SHORT
    assert law_of(long, lambda _: Resources()) is LONG
