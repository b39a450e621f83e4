"""The script that fits durations starts from the constants that are in use, and finds others where they fit better."""

import pytest
from project.tree import script

from mnc.mncore_backend.placement.solve.duration import LAW, duration
from mnc.mncore_backend.placement.solve.makespan import makespan
from mnc.mncore_backend.pricing import Resources

from .test_duration import MOVEMENT, state
from .test_makespan import problem

FIT = script("fit_durations")
MOVED = {MOVEMENT: Resources(1.0, 2.0, 30.0, 4.0, 5.0, 128.0)}


def program(work: float, moves: float, cycles: float) -> object:
    """One of two operations, of which the second moves the result of the first."""
    paid = state((0, "kernel", 20.0), (0, "work", work), (1, "fetched", 9.0), (1, "sums", 7.0), (1, "moves", moves))
    return FIT.Program(problem(0, 1), paid, MOVED, cycles)


@pytest.mark.parametrize("formula", ["duration", "makespan"])
def test_a_formula_starts_from_the_constants_in_use(formula: str) -> None:
    constants, make = FIT.FORMULAS[formula]
    own = program(50.0, 1.0, 100.0)
    used = {"duration": duration(own.state, MOVED, LAW), "makespan": makespan(own.problem, own.state, MOVED)}  # pyright: ignore[reportAttributeAccessIssue]
    assert make(constants)(own) == pytest.approx(used[formula])


@pytest.mark.parametrize("formula", ["duration", "makespan"])
def test_constants_are_found_that_fit_better(formula: str) -> None:
    constants, make = FIT.FORMULAS[formula]
    models = [[program(50.0, 1.0, 900.0), program(200.0, 0.0, 800.0), program(100.0, 1.0, 1500.0)]]
    found = FIT.fitted(constants, make, models)
    assert FIT.error(make(found), models) < FIT.error(make(constants), models)
