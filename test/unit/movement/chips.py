"""What the tests of movements run on."""

from mnc.mncore_backend.codegen.allocation import allocate
from mnc.mncore_backend.program import Program

from .emulated import Emulated
from .interpreter import Interpreter, allocate_by_bumping


def ready(program: Program, emulated: bool) -> Interpreter | Emulated:
    """The program gets addresses and a chip to run on."""
    if emulated:
        allocate(program)
        return Emulated()
    allocate_by_bumping(program)
    return Interpreter()
