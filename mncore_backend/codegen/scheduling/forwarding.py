"""Reading a result from the forwarding latch where it has not reached its memory yet.

A result written to a register file can be read two steps later at the earliest, from a local memory three; the latch
of the unit that made it, or of the L1BM->PE transfer or transposed read that brought it, has it in the next step (SDM
3.6.1.15). If an operation turns out to be ready for exactly that step, its operand is
replaced by the latch. The write stays, so nothing else changes.
"""

from dataclasses import replace

from mnc.mncore_backend.assembly.accesses import issue_group, produced_latch
from mnc.mncore_backend.assembly.isa import OPCODES, Unit
from mnc.mncore_backend.assembly.records import Expression, Memory, Operand
from mnc.mncore_backend.codegen.scheduling.graph import Node
from mnc.mncore_backend.codegen.scheduling.needs import Needs, needs_of
from mnc.mncore_backend.target import cached_per_machine

_READERS = (Unit.ALU, Unit.MAU, Unit.MWRITE, Unit.L1BM)
LONG = 2  # words


def latch_for(producer: Node, consumer: Node, memory: Memory) -> Memory | None:
    """The latch that may stand for what `consumer` reads from `memory`, given that `producer` wrote all of it; None if
    the latch would not give the same value."""
    made, used = producer.expression, consumer.expression
    if made is None or used is None:
        return None
    latch = produced_latch(made)
    if latch is None or issue_group(used) not in _READERS:
        return None
    if not _may_read(used, latch, memory) or not _ignores_upper_long(used):
        return None
    written = [o for o in made.destinations if o.memory is memory]
    if len(written) != 1 or written[0].mask is not None or written[0].t_indirect:
        return None
    place = written[0].addresses()
    if len({a // written[0].width for a in place}) < 4:
        return None  # the later cycles overwrite the earlier ones in memory, not in the latch
    info = OPCODES[used.opcode]
    for operand, consumed in zip(used.sources, info.widths, strict=True):
        if operand.memory is memory and (
            operand.addresses() != place
            or operand.width != written[0].width
            or operand.suffix
            or operand.t_indirect
            or min(consumed, LONG) > operand.width
        ):
            return None
    return latch


def _may_read(expression: Expression, latch: Memory, memory: Memory) -> bool:
    """``$mreadf`` is the first input of the ALU or nothing."""
    if latch is not Memory.MREADF:
        return True
    return issue_group(expression) is Unit.ALU and all(o.memory is not memory for o in expression.sources[1:])


def _ignores_upper_long(expression: Expression) -> bool:
    """What the inputs hold beyond their width does not show in the result: the ALU copies the upper long of its first
    input (summary 4), so nothing wider than a long may be written."""
    unit = issue_group(expression)
    if unit in (Unit.MWRITE, Unit.L1BM):
        return expression.destinations[0].width <= LONG
    return unit is Unit.MAU or all(o.width <= LONG and o.memory is not Memory.T for o in expression.destinations)


@cached_per_machine(1 << 14)
def forwarded(expression: Expression, latches: tuple[tuple[Memory, Memory], ...]) -> tuple[Expression, Needs]:
    """The expression with operands of memories replaced by latches, given as pairs, and what it then needs."""
    given = dict(latches)
    sources = tuple(Operand(given[o.memory], negate=o.negate) if o.memory in given else o for o in expression.sources)
    result = replace(expression, sources=sources)
    return result, needs_of(result)
