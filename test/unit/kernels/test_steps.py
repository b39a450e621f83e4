"""What operations of vector kernels are said to take is what their expansion takes."""

import pytest

from mnc.mncore_backend.kernels.vector.body import OPERATIONS, Body
from mnc.mncore_backend.kernels.vector.expand import Expander
from mnc.mncore_backend.kernels.vector.steps import steps_of


@pytest.mark.parametrize("name", ["exp", "log", "sqrt", "tanh", "erf", "sin"])
def test_a_function_takes_what_the_busier_unit_does(name: str) -> None:
    body = Body()
    result = body.op(name, body.input())
    instructions = Expander(body, (result,)).m.instructions
    counts = [sum(own.is_mau == on_mau for own in instructions) for on_mau in (True, False)]
    assert steps_of(name, 1) == max(counts) > 5


@pytest.mark.parametrize(
    ("name", "operands"), [("addf", 2), ("mulf", 2), ("select", 3), ("cmpf", 2), ("index_cast", 1)]
)
def test_others_take_a_step(name: str, operands: int) -> None:
    assert steps_of(name, operands) == 1


def test_a_reciprocal_takes_less_than_a_quotient() -> None:
    assert steps_of("addf", 2) < steps_of("divf", 2, of_one=True) < steps_of("divf", 2)


def test_every_operation_has_steps() -> None:
    two = ("addf", "subf", "mulf", "divf", "powf", "maximumf", "minimumf", "addi", "subi", "muli", "maxsi", "minsi",
           "maxui", "minui", "andi", "ori", "xori", "shli", "shrsi", "shrui", "cmpf", "cmpi")  # fmt: skip
    for name in OPERATIONS:
        assert steps_of(name, 3 if name == "select" else 2 if name in two else 1) >= 1, name
