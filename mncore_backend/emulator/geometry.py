"""Sizes of the machine as the emulator uses them, taken from the one table of hardware numbers."""

from mnc.mncore_backend.assembly.records import Memory
from mnc.mncore_backend.target import CYCLES_PER_STEP, MATRIX_ROWS, PES_PER_MAB, chip


def _longs(memory: Memory) -> int:
    return chip().memories[memory].longs


GROUPS = chip().groups
L2BS = chip().l2bs  # linear index 2 * group + L2B of the group
L1BS_PER_L2B = chip().l1bs_per_l2b
BLOCKS = chip().l1bs  # one block per L1B
MABS = chip().mabs_per_l1b
PES_PER_MAB = PES_PER_MAB
PES = MABS * PES_PER_MAB  # PEs of an L1B
CYCLES = CYCLES_PER_STEP

LOCAL_LONGS = _longs(Memory.LM0)
REGISTER_LONGS = _longs(Memory.GRF0)
L1BM_LONGS = _longs(Memory.L1BM)
L2BM_LONGS = _longs(Memory.L2BM)
PDM_LONGS = _longs(Memory.PDM)
DRAM_LONGS = _longs(Memory.DRAM)
DAR_ENTRIES = chip().memories[Memory.DAR].addresses
MASK_ENTRIES = 16  # the writable entries 1..15; entry 0 and 16..31 are constant
MATRIX_ROWS = MATRIX_ROWS
LATCH_UNITS = 4  # MAU, ALU, L1BM -> PE, transposed read
