"""Words of its own for every PE, known when a program is compiled: loaded from DRAM, or kept from the start."""

import numpy as np
from numpy.typing import NDArray

from mnc.mncore_backend.layout import Axis, Digit, Layout
from mnc.mncore_backend.movement.load import plan_load
from mnc.mncore_backend.program import LOCAL_MEMORY, Buffer, Builder
from mnc.mncore_backend.program.dram_image import DramImage
from mnc.mncore_backend.target import chip

Constants = list[tuple[DramImage, NDArray[np.uint32]]]
Kept = list[tuple[Buffer, Layout, NDArray[np.uint32]]]


def load_words(builder: Builder, words: NDArray[np.uint32], constants: Constants, kept: Kept) -> Buffer:
    """Words [L2B, L1B, MAB, PE, two per long word] in a buffer of LM1; axes along which they do not change are left to
    replication. What the host must pack is added to `constants`, or to `kept` in a program that keeps it."""
    shape, dims = [], []
    for position, axis in enumerate((Axis.L2B, Axis.L1B, Axis.MAB, Axis.PE)):
        once = words.take([0], axis=position)
        alike = bool((words == once).all())
        words = once if alike else words
        shape.append(words.shape[position])
        dims.append(() if alike else (Digit(chip().axis_size[axis], axis, 1),))
    longs = words.shape[-1] // 2
    layout = Layout((*shape, 2 * longs), (*dims, (Digit(longs), Digit(2, Axis.W))))
    table = builder.temporary(longs, (LOCAL_MEMORY[1],), "table")
    if builder.keep:
        kept.append((table, layout, words))
    else:
        constants.append((plan_load(builder, layout, table), words))
    return table
