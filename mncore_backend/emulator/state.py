"""All memories of the machine and host access to them."""


import numpy as np
from numpy.typing import NDArray

from mnc.mncore_backend.assembly.records import Memory
from mnc.mncore_backend.emulator.arena import Arena
from mnc.mncore_backend.emulator.dram import Dram
from mnc.mncore_backend.emulator.geometry import PES_PER_MAB, geometry

U64 = NDArray[np.uint64]
PE_STORED = {Memory.LM0: "m", Memory.LM1: "n", Memory.GRF0: "r", Memory.GRF1: "s"}
PLANES = {Memory.MATRIX_X: "x", Memory.MATRIX_Y: "y"}


class State:
    """Contents of every memory. PE-side memories live in the arena, the others in arrays of their own."""

    def __init__(self) -> None:
        self.arena = Arena.allocate()
        self.l2bm: U64 = self.arena.l2bm
        self.pdm: U64 = np.zeros((geometry().groups, geometry().pdm_longs), np.uint64)
        self.dram = [Dram() for _ in range(geometry().groups)]
        self.dar = np.zeros((geometry().groups, geometry().dar_entries), np.uint32)
        self.dar_buffer = np.zeros((geometry().groups, 0), np.uint32)
        self.dar_entry = 0
        self.dar_position = 0

    def fill_randomly(self, seed: int) -> None:
        """Random words in every memory, as after another program; base registers stay zero."""
        random = np.random.default_rng(seed)
        for name in (*PE_STORED.values(), *PLANES.values(), "t", "lb"):
            region = self.arena.region(name)
            region[:] = random.integers(0, 1 << 64, region.shape, np.uint64)
        self.arena.masks()[:] = random.integers(0, 16, self.arena.masks().shape, np.uint8)
        for array in (self.l2bm, self.pdm):
            array[:] = random.integers(0, 1 << 64, array.shape, np.uint64)
        for group, dram in enumerate(self.dram):
            dram.seed = (seed, group)

    def longs(self, memory: Memory) -> U64:
        """Writable view of a memory as long words: PE memories [L2B, L1B, MAB, PE, address], T the same with
        [..., cycle, MSB/LSB], matrix banks [L2B, L1B, MAB, PE, row], L1BM [L2B, L1B, address], L2BM [L2B, address],
        PDM [group, address]."""
        own = geometry()
        upper, lower = (own.l2bs, own.l1bs_per_l2b), (own.mabs, PES_PER_MAB)
        if memory in PE_STORED or memory in PLANES:
            rows = self.arena.region(PE_STORED.get(memory) or PLANES[memory])
            shaped = rows.reshape(*upper, rows.shape[1], *lower)
            return shaped.transpose(0, 1, 3, 4, 2)
        if memory is Memory.T:
            rows = self.arena.region("t").reshape(*upper, 2, 4, *lower)
            return rows.transpose(0, 1, 4, 5, 3, 2)
        if memory is Memory.L1BM:
            return self.arena.l1bm().reshape(*upper, -1)
        if memory is Memory.L2BM:
            return self.l2bm
        if memory is Memory.PDM:
            return self.pdm
        raise ValueError(f"memory {memory.name} has no array of long words")

    def masks(self) -> NDArray[np.uint8]:
        """Writable view [L2B, L1B, MAB, PE, entry 16, cycle 4] of the mask nibbles."""
        own = geometry()
        masks = self.arena.masks().reshape(own.l2bs, own.l1bs_per_l2b, 16, 4, own.mabs, PES_PER_MAB)
        return masks.transpose(0, 1, 4, 5, 2, 3)

    def base_registers(self) -> U64:
        """Writable view [block, LM 2, PE 64] of the base address registers."""
        return self.arena.region("bar")


def words_of(longs: U64) -> NDArray[np.uint32]:
    """Copy of an array of long words as 32-bit words, MSB word first (last axis doubled)."""
    contiguous = np.ascontiguousarray(longs)
    return contiguous.view(np.uint32).reshape(*longs.shape, 2)[..., ::-1].reshape(*longs.shape[:-1], -1)


def longs_of(words: NDArray[np.uint32]) -> U64:
    """Inverse of `words_of`."""
    pairs = np.asarray(words, np.uint32).reshape(*words.shape[:-1], -1, 2)[..., ::-1]
    return np.ascontiguousarray(pairs).view(np.uint64).reshape(*words.shape[:-1], -1)
