"""Runs a kernel on lists of longs and shows the first differences to the oracle."""

from collections.abc import Sequence

import numpy as np

from mnc.mncore_backend.emulator.kernels import Kernel
from mnc.mncore_backend.emulator.numerics.formats import elements, join

ROW = 256
"""Longs of one operand per block: 4 cycles of 64 PEs."""

Longs = Sequence[int]


def pack(parts: Sequence[int], bits: int) -> list[int]:
    """Longs holding `parts` in order, the last one filled with zeros."""
    per_long = 64 // bits
    return [join(parts[start : start + per_long], bits) for start in range(0, len(parts), per_long)]


def unpack(longs: Longs, bits: int) -> list[int]:
    """Elements of all longs in order."""
    return [part for long in longs for part in elements(int(long), bits)]


def blocks(longs: Longs) -> np.ndarray:
    """Array [blocks, 4, 64] of `longs`, filled with zeros."""
    padded = np.zeros(-(-len(longs) // ROW) * ROW, dtype=np.uint64)
    padded[: len(longs)] = np.array(longs, dtype=np.uint64)
    return padded.reshape(-1, 4, 64)


def run(kernel: Kernel, **inputs: Longs) -> dict[str, list[int]]:
    """Outputs of `kernel` (everything not given as input), as long as the longest input."""
    size = max(map(len, inputs.values()))
    operands = {name: blocks(longs) for name, longs in inputs.items()}
    shape = next(iter(operands.values())).shape
    for name in kernel.operands:
        if name not in operands:
            # Poison: an element the kernel forgets to write shows up.
            kind = np.uint8 if name == "flags" else np.uint64
            operands[name] = np.full(shape, 0xA5, dtype=kind)
    kernel(**operands)
    return {name: operands[name].reshape(-1)[:size].tolist() for name in kernel.operands if name not in inputs}


def differences(actual: Sequence[int], expected: Sequence[int], *inputs: Sequence[int]) -> list[str]:
    """Readable lines for the elements that differ; inputs are shown beside them."""
    assert len(actual) == len(expected)
    return [
        f"[{index}] {' '.join(f'{operand[index]:x}' for operand in inputs)} -> {a:x}, expected {e:x}"
        for index, (a, e) in enumerate(zip(actual, expected, strict=True))
        if a != e
    ]


def check(actual: Sequence[int], expected: Sequence[int], *inputs: Sequence[int]) -> None:
    """Fail with the first differences."""
    wrong = differences(actual, expected, *inputs)
    assert not wrong, f"{len(wrong)} of {len(actual)} differ:\n" + "\n".join(wrong[:10])


def flag_nibbles(flags: Sequence[int], per_long: int) -> list[int]:
    """Mask nibbles of a list of element flags, `per_long` per result."""
    width = 4 // per_long
    nibbles = []
    for start in range(0, len(flags), per_long):
        nibble = 0
        for flag in flags[start : start + per_long]:
            nibble = nibble << width | ((1 << width) - 1 if flag else 0)
        nibbles.append(nibble)
    return nibbles
