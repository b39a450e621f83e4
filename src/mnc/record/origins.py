"""Which operations of a program each line holds.

The scheduler moves operations and takes operands from latches, but never changes what an operation writes; and two
operations that write the same places keep their order. So the lines that write something, in their order, are the
operations that write it, in theirs.
"""

from collections import defaultdict, deque
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import replace

from mnc.mncore_backend.assembly.records import Expression, Memory, Operand, Statement, Step, Transfer
from mnc.mncore_backend.program import BufferOperand, MachineOp


def operations_of_lines(operations: Iterable[MachineOp], statements: Sequence[Statement]) -> list[list[MachineOp]]:
    """Of every line the operations that it does; none where a line was not made from `operations`, whose buffers have
    addresses."""
    waiting: dict[Hashable, deque[MachineOp]] = defaultdict(deque)
    for op in operations:
        waiting[_key_of_operation(op)].append(op)
    found: list[list[MachineOp]] = []
    for statement in statements:
        keys: list[Hashable] = []
        if isinstance(statement, Step):
            keys = [_key(expression) for expression in statement.expressions]
        elif isinstance(statement, Transfer):
            keys = [_transfer_key(statement.opcode, statement.size, statement.source, statement.destination)]
        found.append([waiting[key].popleft() for key in keys if waiting.get(key)])
    return found


def _key(expression: Expression) -> Hashable:
    # The text of an address in L2BM does not say how wide it is.
    written = tuple(replace(o, width=1) if o.memory is Memory.L2BM else o for o in expression.destinations)
    return expression.opcode, expression.modifier, written, expression.zero_flush, expression.literal


def _transfer_key(opcode: str, size: int, source: Operand | None, destination: Operand | None) -> Hashable:
    ends = [(o.memory, o.address, o.group, o.l2b) for o in (source, destination) if o is not None]
    return opcode, size, *ends


def _key_of_operation(op: MachineOp) -> Hashable:
    if not op.is_transfer:
        return _key(op.resolve())
    ends = [o.resolve() if isinstance(o, BufferOperand) else o for o in (*op.sources, *op.destinations)]
    return _transfer_key(op.opcode, op.size, ends[0], ends[-1])
