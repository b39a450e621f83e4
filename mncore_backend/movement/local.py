"""Work inside one PE: copies between buffers, constants, rotations."""

from collections.abc import Iterable, Sequence

from mnc.mncore_backend.assembly.records import Literal, Memory, Operand
from mnc.mncore_backend.movement.transfers import CYCLES
from mnc.mncore_backend.program import LOCAL_MEMORY, PASSES, Buffer, BufferOperand, Builder, local

WORD, LONG = 1, 2
T = Operand(Memory.T, LONG)
"""The T register, a long word in each cycle."""


def may_clash(a: Buffer, b: Buffer) -> bool:
    """Whether two buffers could lie in the same LM: then one step cannot read one and write the other at different
    addresses (SDM 3.6.3)."""
    mine = (a.memory,) if a.memory else a.choices
    other = (b.memory,) if b.memory else b.choices
    return any(m in LOCAL_MEMORY and m in other for m in mine)


def access(buffer: Buffer, words: Sequence[int], width: int, **extra) -> BufferOperand:
    """Operand over up to four word offsets; missing cycles repeat the last one."""
    offsets = tuple(words) + (words[-1],) * (CYCLES - len(words))
    return BufferOperand(buffer, offsets, width, **extra)


def copy(builder: Builder, source: Buffer, target: Buffer, pairs: Iterable[tuple[int, int]], width: int = LONG) -> None:
    """Copy (source word, target word) pairs of `width` words each, four per step, through GRF where both buffers might
    share an LM."""
    pending = list(pairs)
    bounce = source is not target and may_clash(source, target)
    for first in range(0, len(pending), CYCLES):
        part = pending[first : first + CYCLES]
        read = access(source, [a for a, _ in part], width)
        write = access(target, [b for _, b in part], width)
        if bounce or (source is target and read.offsets != write.offsets):
            held = access(builder.temporary(CYCLES), [LONG * i for i in range(len(part))], width)
            builder.emit(PASSES[width], [read], [held])
            read = held
        builder.emit(PASSES[width], [read], [write])


def constant(builder: Builder, pattern: int, name: str = "constant") -> Buffer:
    """One long word in GRF1 with a 32-bit pattern in both words."""
    made = builder.temporary(1, (Memory.GRF1,), name)
    builder.emit("imm", (), [local(made, [0])], literal=Literal("ui", str(pattern & 0xFFFFFFFF)))
    return made


def fill(builder: Builder, target: Buffer, longs: Sequence[int], pattern: int) -> None:
    """Write a 32-bit pattern into both words of the given long words."""
    if not longs:
        return
    value = constant(builder, pattern)
    for first in range(0, len(longs), CYCLES):
        part = [LONG * a for a in longs[first : first + CYCLES]]
        builder.emit("lpassa", [local(value, [0])], [access(target, part, LONG)])
