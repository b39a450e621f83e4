"""Which addresses an operand touches in each of the four cycles of a step."""

from mnc.mncore_backend.assembly.records import Mask, Memory, Operand
from mnc.mncore_backend.target import CONSTANT_MASK_BASE, MATRIX_ROWS, cached_per_machine, chip

Range = tuple[int, int]  # first address, address behind the last
Cycle = tuple[Range, ...]  # what one cycle touches
Cycles = tuple[Cycle, Cycle, Cycle, Cycle]

ALL_CYCLES = 0b1111  # bit c: cycle c


def everywhere(memory: Memory) -> Cycles:
    """Every address of a memory, in every cycle."""
    whole: Cycle = ((0, chip().memories[memory].addresses),)
    return (whole, whole, whole, whole)


ENTRY_PER_CYCLE: Cycles = (((0, 1),), ((1, 2),), ((2, 3),), ((3, 4),))


@cached_per_machine()
def addresses() -> dict[Memory, int]:
    """Address units of one copy of each memory."""
    return {memory: facts.addresses for memory, facts in chip().memories.items()}


def mask_cycles(mask: Mask | None) -> int:
    """Cycles in which a fixed mask lets something through, as a bit mask; all for run-time masks."""
    if mask is None:
        return ALL_CYCLES
    if mask.pattern is not None:
        return sum(1 << c for c, digit in enumerate(mask.pattern) if digit == "1")
    return fixed_entry_cycles(mask.entry or 0)


def fixed_entry_cycles(entry: int) -> int:
    """Cycles of a mask register entry that is constant (0 and 16..31), all for writable ones (SDM 3.6.2)."""
    pattern = entry - CONSTANT_MASK_BASE
    if 0 <= pattern < 15:
        return sum(1 << c for c in range(4) if pattern >> (3 - c) & 1)
    return ALL_CYCLES


@cached_per_machine(1 << 16)
def operand_cycles(operand: Operand) -> tuple[Cycles, tuple[object, ...], bool]:
    """Cycles, region and exactness of a PE memory operand."""
    memory, width = operand.memory, operand.width
    if memory is Memory.T:
        return ENTRY_PER_CYCLE, (), True
    size = addresses()[memory]
    mask = size - 1
    a, b, c, d = operand.addresses()
    align = -width
    starts = (a & mask & align, b & mask & align, c & mask & align, d & mask & align)
    region = (starts, width, operand.t_indirect, operand.pe_offset)
    if operand.t_indirect:
        return everywhere(memory), region, False
    if operand.pe_offset is not None:
        first, last = (width if operand.pe_offset >= 3 else 0), 2 * width
        cycles = tuple(wrapped(s + first, s + last, size) for s in starts)
        return (cycles[0], cycles[1], cycles[2], cycles[3]), region, operand.pe_offset >= 3
    a, b, c, d = starts
    return (((a, a + width),), ((b, b + width),), ((c, c + width),), ((d, d + width),)), region, True


def wrapped(first: int, last: int, size: int) -> Cycle:
    """A range modulo the memory size, in one or two parts."""
    length = last - first
    first %= size
    if first + length <= size:
        return ((first, first + length),)
    return ((0, first + length - size), (first, size))


def block(address: int, stride: int, length: int, size: int) -> Cycles:
    """`length` addresses from `address` + stride * c in cycle c."""
    a = [wrapped(address + stride * c, address + stride * c + length, size) for c in range(4)]
    return (a[0], a[1], a[2], a[3])


def l1bm_cycles(family: str, address: int, two_long: bool) -> Cycles:
    """Long words of L1BM that a transfer of a family touches per cycle (SDM 3.6.8.3 to 3.6.8.19)."""
    facts = chip().l1bm_families[family]
    size = addresses()[Memory.L1BM]
    if family == "p" and two_long:
        parts = [
            (*wrapped(address + c, address + c + 1, size), *wrapped(address + c + 4, address + c + 5, size))
            for c in range(4)
        ]
        return (parts[0], parts[1], parts[2], parts[3])
    rate = facts.rate_two_long if two_long and facts.rate_two_long else facts.rate
    return block(address, rate, rate, size)


def entry_cycles(entry: int) -> Cycles:
    """One entry, in every cycle."""
    cycle: Cycle = ((entry, entry + 1),)
    return (cycle, cycle, cycle, cycle)


def physical_rows(precision: str, row: int, count: int) -> Cycle:
    """Rows of a bank in units of its 16 physical rows, wrapping at the logical row count."""
    rows = MATRIX_ROWS[precision]
    scale = 16 // rows
    return wrapped(row % rows * scale, (row % rows + count) * scale, 16)
