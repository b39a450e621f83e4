"""Record of what one PE statement reads and writes, for debugging."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mnc.mncore_backend.assembly.accesses import accesses
from mnc.mncore_backend.assembly.mv_accesses import transfer_accesses
from mnc.mncore_backend.assembly.records import Memory, Statement, Step, Transfer
from mnc.mncore_backend.emulator.state import PE_STORED, State, words_of

_WHOLE = {Memory.L1BM: 1, Memory.L2BM: 1, Memory.PDM: 1}


@dataclass(frozen=True, slots=True)
class TracedAccess:
    """One access. `addresses` lists, per cycle, what is touched (words in PE memories, long words above, before base
    registers, T and j); `values` are the contents, [instances..., touched addresses] in ascending order: before the
    statement for a read, after it for a write. None for latches, masks and DRAM."""

    memory: Memory
    write: bool
    addresses: tuple[tuple[int, ...], ...]
    values: NDArray[np.uint32] | NDArray[np.uint64] | None


@dataclass(frozen=True, slots=True)
class Trace:
    """A statement with its accesses."""

    statement: Statement
    accesses: tuple[TracedAccess, ...]

    def render(self) -> str:
        """One line per access: direction, memory, addresses per cycle, and the values of the first instance."""
        lines = []
        for access in self.accesses:
            cycles = " | ".join(_ranges(cycle) for cycle in access.addresses)
            text = f"{'write' if access.write else 'read '} {access.memory.name:8} {cycles}"
            if access.values is not None:
                first = access.values.reshape(-1, access.values.shape[-1])[0] if access.values.size else access.values
                digits = 8 if access.values.dtype == np.uint32 else 16
                text += "  = " + " ".join(f"{int(value):0{digits}x}" for value in first[:8])
            lines.append(text)
        return "\n".join(lines)


def _ranges(addresses: tuple[int, ...]) -> str:
    if not addresses:
        return "-"
    return str(addresses[0]) if len(addresses) == 1 else f"{addresses[0]}..{addresses[-1]}"


def _values(state: State, memory: Memory, touched: list[int]) -> NDArray[np.uint32] | NDArray[np.uint64] | None:
    if memory in PE_STORED:
        longs = sorted({address // 2 for address in touched})
        words = words_of(state.longs(memory)[..., longs])
        picked = [2 * longs.index(address // 2) + address % 2 for address in touched]
        return words[..., picked]
    if memory in _WHOLE:
        return state.longs(memory)[..., touched].copy()
    return None


def static_accesses(statement: Statement) -> list[tuple[Memory, bool, tuple[tuple[int, ...], ...]]]:
    """(memory, is a write, addresses per cycle) of a statement."""
    if isinstance(statement, Step):
        found = [access for expression in statement.expressions for access in accesses(expression)]
    elif isinstance(statement, Transfer):
        found = list(transfer_accesses(statement))
    else:
        found = []
    rows = []
    for access in found:
        cycles = tuple(
            tuple(address for first, behind in cycle for address in range(first, behind)) for cycle in access.cycles
        )
        rows.append((access.memory, access.write, cycles))
    return rows


def read_part(state: State, statement: Statement, write: bool) -> list[TracedAccess]:
    """The reads, or the writes, of a statement with the contents of memory as they are now."""
    traced = []
    for memory, is_write, cycles in static_accesses(statement):
        if is_write == write:
            touched = sorted({address for cycle in cycles for address in cycle})
            traced.append(TracedAccess(memory, is_write, cycles, _values(state, memory, touched)))
    return traced
