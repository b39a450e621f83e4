"""Sizes of the machine as the emulator uses them, taken from the one table of hardware numbers."""

from mnc.mncore_backend import machine
from mnc.mncore_backend.assembly.records import Memory


def _longs(memory: Memory) -> int:
    return machine.MEMORIES[memory].longs


GROUPS = machine.GROUPS
L2BS = machine.L2BS  # linear index 2 * group + L2B of the group
L1BS_PER_L2B = machine.L1BS_PER_L2B
BLOCKS = machine.L1BS  # one block per L1B
MABS = machine.MABS_PER_L1B
PES_PER_MAB = machine.PES_PER_MAB
PES = MABS * PES_PER_MAB  # PEs of an L1B
CYCLES = machine.CYCLES_PER_STEP

LOCAL_LONGS = _longs(Memory.LM0)
REGISTER_LONGS = _longs(Memory.GRF0)
L1BM_LONGS = _longs(Memory.L1BM)
L2BM_LONGS = _longs(Memory.L2BM)
PDM_LONGS = _longs(Memory.PDM)
DRAM_LONGS = _longs(Memory.DRAM)
DAR_ENTRIES = machine.MEMORIES[Memory.DAR].addresses
MASK_ENTRIES = 16  # the writable entries 1..15; entry 0 and 16..31 are constant
MATRIX_ROWS = machine.MATRIX_ROWS
LATCH_UNITS = 4  # MAU, ALU, L1BM -> PE, transposed read
