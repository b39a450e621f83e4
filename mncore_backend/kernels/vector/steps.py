"""How many steps the operations of a vector kernel take: those of the expansion, on the busier of the two units."""

from functools import cache

from mnc.mncore_backend.kernels.vector.body import OPERATIONS, Body
from mnc.mncore_backend.kernels.vector.expand import Expander

_TYPES = {"sitofp": "i32", "uitofp": "i1", "muli": "i32"}
"""Types of operands that are no floats, of operations that take more than one instruction."""
_SINGLE = frozenset(("cmpf", "cmpi", "select", "bitcast", "extui"))
"""Operations of one instruction at most, whose expansion depends on who reads their result."""


@cache
def steps_of(name: str, operands: int, of_one: bool = False) -> int:
    """Steps that an entry of `OPERATIONS` takes per four long words in a kernel of many; 1 for all others.

    Args:
        operands: how many it has.
        of_one: the first of them is the constant 1, as in a reciprocal.
    """
    if name not in OPERATIONS or name in _SINGLE:
        return 1
    body = Body()
    read = [body.input(_TYPES.get(name, "f32")) for _ in range(operands)]
    if of_one:
        read[0] = body.constant(1.0)
    result = body.op(name, *read)
    expander = Expander(body, (result,))
    expander.value(result)
    on_mau = sum(own.is_mau for own in expander.m.instructions)
    return max(1, on_mau, len(expander.m.instructions) - on_mau)
