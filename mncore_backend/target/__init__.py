"""The numbers of the machine: one object, `Machine`, and which one is in use, `chip()`."""

from mnc.mncore_backend.target.context import cached_per_machine, chip, use
from mnc.mncore_backend.target.hazards import Hazard
from mnc.mncore_backend.target.hierarchy import Hierarchy
from mnc.mncore_backend.target.instruction_set import (
    BAR_BITS,
    CONSTANT_MASK_BASE,
    CYCLES_PER_STEP,
    DAR_UNIT_LONGS,
    INDIRECT_MVS,
    LONG_BYTES,
    MABS_PER_QUAD,
    MADPE_RANGE,
    MATRIX_ROWS,
    MATVEC_MULTIPLY_ADDS,
    PES_PER_MAB,
    PRECISION_LETTERS,
    PRECISIONS,
    REPEATING_MVS,
    TAGS,
    VECTOR_MULTIPLY_ADDS,
    WORD_BYTES,
    WRITABLE_MASKS,
    Precision,
)
from mnc.mncore_backend.target.machine import Machine
from mnc.mncore_backend.target.machines import MACHINES, MN_CORE_2, SMALL, named
from mnc.mncore_backend.target.mv_forms import MvForm, Shape

__all__ = [
    "BAR_BITS",
    "CONSTANT_MASK_BASE",
    "CYCLES_PER_STEP",
    "DAR_UNIT_LONGS",
    "INDIRECT_MVS",
    "LONG_BYTES",
    "MABS_PER_QUAD",
    "MACHINES",
    "MADPE_RANGE",
    "MATRIX_ROWS",
    "MATVEC_MULTIPLY_ADDS",
    "MN_CORE_2",
    "PES_PER_MAB",
    "PRECISIONS",
    "PRECISION_LETTERS",
    "REPEATING_MVS",
    "SMALL",
    "TAGS",
    "VECTOR_MULTIPLY_ADDS",
    "WORD_BYTES",
    "WRITABLE_MASKS",
    "Hazard",
    "Hierarchy",
    "Machine",
    "MvForm",
    "Precision",
    "Shape",
    "cached_per_machine",
    "chip",
    "named",
    "use",
]
