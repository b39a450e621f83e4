"""What the host reads and writes of the memories of a machine."""

from collections.abc import Callable
from functools import wraps
from typing import Concatenate, NoReturn, ParamSpec, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mnc.mncore_backend.assembly.records import DebugGet, Memory
from mnc.mncore_backend.emulator.dram import Dram
from mnc.mncore_backend.emulator.engine import Engine
from mnc.mncore_backend.emulator.errors import HostAccessError
from mnc.mncore_backend.emulator.geometry import geometry
from mnc.mncore_backend.emulator.host_access import address_of, check_memory, check_run, integers, put, whole
from mnc.mncore_backend.emulator.shown import check_shown
from mnc.mncore_backend.emulator.state import PE_STORED, U64, longs_of, words_of
from mnc.mncore_backend.emulator.taint import PATTERNS
from mnc.mncore_backend.target import Machine as Target
from mnc.mncore_backend.target import use

M = TypeVar("M", bound="MemoryAccess")
P = ParamSpec("P")
R = TypeVar("R")


def for_its_target(method: Callable[Concatenate[M, P], R]) -> Callable[Concatenate[M, P], R]:
    """A method that works with the numbers of the machine that is emulated, whatever machine is in use outside."""

    @wraps(method)
    def inside(self: M, *args: P.args, **kwargs: P.kwargs) -> R:
        with use(self.target):
            return method(self, *args, **kwargs)

    return inside


class MemoryAccess:
    """The part of a `Machine` that is about its memories. Integers are bits; negative ones those of their two's
    complement."""

    engine: Engine
    target: Target

    # ---- upper memories ----

    @for_its_target
    def write_dram(self, group: int, address: int, values: ArrayLike) -> None:
        """Store long words into the DRAM of a group, from a long-word address on."""
        data = integers(values, 64).reshape(-1)
        self._dram(group, address, len(data)).write(address % geometry().dram_longs, data)

    @for_its_target
    def read_dram(self, group: int, address: int, count: int) -> U64:
        """Copy of long words of the DRAM of a group; never written ones are zero."""
        return self._dram(group, address, count).read(address % geometry().dram_longs, count)

    def _dram(self, group: int, address: int, count: int) -> Dram:
        """The DRAM of a group, which has a run of long words. Raises CompileError."""
        whole("group", group, 0, geometry().groups - 1)
        address_of(address)
        whole("count of long words", count, 0, geometry().dram_longs)
        self.engine.flush()
        return self.engine.state.dram[group]

    @for_its_target
    def check_shown(self, statement: DebugGet) -> None:
        """In strict mode, raise `UninitialisedRead` if what a ``d get`` shows depends on words that nobody wrote."""
        self.engine.flush()
        if self.engine.strict:
            check_shown(self.engine, statement.operand, statement.count)

    @for_its_target
    def dram_poison(self, group: int, address: int, count: int) -> U64 | None:
        """Long words with ones where DRAM depends on words that nobody wrote. None in vendor mode, and if nothing does.
        `refuse_poison` says where it comes from."""
        dram = self._dram(group, address, count)
        if not self.engine.strict or dram.first_unwritten(address, count) is None:
            return None
        return PATTERNS[dram.poison(address, count)]

    @for_its_target
    def refuse_poison(self, what: str, group: int, address: int) -> NoReturn:
        """Raise `UninitialisedRead` for a result of the host that is poisoned at a long word of DRAM."""
        self.engine.shadow.fail(what, self.engine.shadow.origin_of_dram(group, address), f"n{group}")

    @for_its_target
    def write_pdm(self, group: int, address: int, values: ArrayLike) -> None:
        """Store long words into the PDM of a group."""
        data = integers(values, 64).reshape(-1)
        self._pdm(group, address, len(data))[:] = data
        self.engine.shadow.pdm[group, address : address + len(data)] = True

    @for_its_target
    def read_pdm(self, group: int, address: int, count: int) -> U64:
        """Copy of long words of the PDM of a group."""
        return self._pdm(group, address, count).copy()

    def _pdm(self, group: int, address: int, count: int) -> U64:
        """View of a run of long words of a PDM. Raises CompileError."""
        whole("group", group, 0, geometry().groups - 1)
        return self._run(Memory.PDM, address, count)[group]

    # ---- every memory as arrays ----

    @for_its_target
    def longs(self, memory: Memory) -> U64:
        """Writable view of a memory as long words: PE memories [L2B, L1B, MAB, PE, address], T the same with
        [..., cycle 4, MSB/LSB 2], matrix banks [L2B, L1B, MAB, PE, row 16], L1BM [L2B, L1B, address], L2BM [L2B,
        address], PDM [group, address]. Writing through the view does not count as a write for the strict checks; `poke`
        does."""
        check_memory(memory)
        self.engine.flush()
        return self.engine.state.longs(memory)

    def lm(self, which: int) -> U64:
        """View of LM0 or LM1, [L2B, L1B, MAB, PE, address] long words."""
        return self.longs((Memory.LM0, Memory.LM1)[whole("number of the LM", which, 0, 1)])

    def grf(self, which: int) -> U64:
        """View of GRF0 or GRF1, [L2B, L1B, MAB, PE, address] long words."""
        return self.longs((Memory.GRF0, Memory.GRF1)[whole("number of the GRF", which, 0, 1)])

    def l1bm(self) -> U64:
        """View of the L1BMs, [L2B, L1B, address] long words."""
        return self.longs(Memory.L1BM)

    def l2bm(self) -> U64:
        """View of the L2BMs, [L2B, address] long words."""
        return self.longs(Memory.L2BM)

    @for_its_target
    def masks(self) -> NDArray[np.uint8]:
        """View of the mask registers, [L2B, L1B, MAB, PE, entry 16, cycle 4]; bit 0 of the manual counts 8."""
        self.engine.flush()
        return self.engine.state.masks()

    def peek(self, memory: Memory, address: int, count: int) -> U64:
        """Copy of long words [..., count] from a long-word address on."""
        return self._run(memory, address, count).copy()

    def _run(self, memory: Memory, address: int, count: int) -> U64:
        """View of a run of long words of every place of a memory. Raises CompileError."""
        longs = self.longs(memory)
        check_run(memory.name, "long word", address, count, longs.shape[-1])
        return longs[..., address : address + count]

    def peek_words(self, memory: Memory, address: int, count: int) -> NDArray[np.uint32]:
        """Copy of 32-bit words [..., count] of a PE memory from a word address on."""
        longs = self.longs(memory)
        check_run(memory.name, "word", address, count, 2 * longs.shape[-1])
        first, last = address // 2, -(-(address + count) // 2)
        words = words_of(longs[..., first:last])
        return words[..., address - 2 * first :][..., :count]

    @for_its_target
    def poke(self, memory: Memory, address: int, values: ArrayLike) -> None:
        """Store long words from a long-word address on; `values` broadcasts against [..., count] of `longs`."""
        data = np.atleast_1d(integers(values, 64))
        count = data.shape[-1]
        put(self._run(memory, address, count), data, memory.name)
        self.engine.shadow.mark_host(memory, address, count)

    def poke_words(self, memory: Memory, address: int, values: ArrayLike) -> None:
        """Store 32-bit words at an even word address of a PE memory; `values` [..., even count] broadcasts."""
        check_memory(memory)
        data = np.atleast_1d(integers(values, 32))
        if memory not in PE_STORED or whole("address", address, 0) % 2 or data.shape[-1] % 2:
            hint = "poke stores long words in any memory"
            raise HostAccessError("poke_words needs a PE memory, an even word address and an even count", hint=hint)
        self.poke(memory, address // 2, longs_of(data))
