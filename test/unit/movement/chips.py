"""What the tests of movements run on."""

from mnc.mncore_backend.assembly.accesses import accesses
from mnc.mncore_backend.assembly.records import Memory
from mnc.mncore_backend.codegen.allocation import allocate
from mnc.mncore_backend.program import BufferOperand, MachineOp, Program

from .emulated import Emulated
from .interpreter import Interpreter, allocate_by_bumping


def ready(program: Program, emulated: bool) -> Interpreter | Emulated:
    """The program gets addresses and a chip to run on."""
    if emulated:
        allocate(program)
    else:
        allocate_by_bumping(program)
    for op in program.operations:
        writes_inside(op)
    return Emulated() if emulated else Interpreter()


def writes_inside(op: MachineOp) -> None:
    """Nothing is written beyond the buffers of L1BM and L2BM: other work may use what lies behind them."""
    targets = [o for o in op.destinations if isinstance(o, BufferOperand)]
    if op.is_transfer or not targets or targets[0].buffer.memory not in (Memory.L1BM, Memory.L2BM):
        return
    (buffer,) = {o.buffer for o in targets}
    assert buffer.base is not None
    for access in accesses(op.resolve()):
        if access.write and access.memory is buffer.memory:
            ranges = [own for cycle in access.cycles for own in cycle]
            assert buffer.base <= min(ranges)[0], op
            assert max(end for _, end in ranges) <= buffer.base + buffer.size, op
