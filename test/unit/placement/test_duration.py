"""How long a solution takes: units overlap inside an operation, and nowhere else."""

from typing import get_args

import pytest

from mnc.mncore_backend.layout import parse
from mnc.mncore_backend.placement.cost.movements import Movement
from mnc.mncore_backend.placement.cost.weights import Kind
from mnc.mncore_backend.placement.solve.duration import LAW, MOST_STEPS, duration, is_short
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
        ([(0, "kernel", 100.0)], 50.0),
        ([(0, "kernel", 100.0), (0, "fetched", 60.0)], 50 + (1 - LAW.overlap) * 60 * 0.68),
        ([(0, "kernel", 60.0), (0, "fetched", 100.0)], 68 + (1 - LAW.overlap) * 60 * 0.5),
        ([(0, "kernel", 100.0), (1, "fetched", 60.0)], 50 + 60 * 0.68),
        ([(0, "second", 40.0), (0, "work", 60.0)], 40 * 0.5 + 60 * 1.75),
        ([(0, "kernel", 100.0), (0, "exchanged", 60.0)], 50 + 60 * 0.72),
        ([(0, "held", 100.0)], 0.0),
    ],
)  # fmt: skip
def test_the_busiest_unit_of_an_operation_says_how_long_it_takes(
    paid: list[tuple[int, str, float]], steps: float
) -> None:
    assert duration(state(*paid), {}) == pytest.approx(steps)


def test_a_movement_takes_what_its_plan_takes_and_all_wait_for_its_latency() -> None:
    own = state((0, "kernel", 100.0), (0, "moves", 1.0))
    plan = Resources(alu=10.0, mv=150.0, l1bm=20.0, latency=64.0)
    rest = 0.5 * 100 + 0.67 * 10 + 0.5 * 20
    assert duration(own, {MOVEMENT: plan}) == pytest.approx(
        64 + LAW.start + 0.57 * 150 + (1 - LAW.overlap) * rest
    )


def test_a_law_knows_every_kind_of_work() -> None:
    assert set(LAW.units) == set(get_args(Kind))


def test_a_program_is_short_up_to_so_many_steps() -> None:
    most = MOST_STEPS / LAW.units["kernel"][1]
    assert is_short(state((0, "kernel", most)), lambda _: Resources())
    assert not is_short(state((0, "kernel", most), (1, "kernel", 1.0)), lambda _: Resources())
