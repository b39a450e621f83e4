"""Runs a kernel on lists of longs and shows the first differences to the oracle."""

from collections.abc import Sequence

import numpy as np

from mnc.mncore_backend.emulator.kernels import Kernel, decoded_bytes, matrix_decode, matrix_vector
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


def words(text: str) -> list[int]:
    """Hexadecimal patterns separated by blanks."""
    return [int(word, 16) for word in text.split()]


def one_mab(precision: str, bank: list[list[int]], x: list[int], z: list[int], half: str = "") -> list[int]:
    """`matrix_vector` of MAB 0 in cycle 0: output longs of its PEs, MSB longs then LSB longs."""
    raw = np.zeros((1, 16, 64), dtype=np.uint64)
    raw[0, : len(bank), :4] = bank
    decoded = np.zeros((1, 1, decoded_bytes()), dtype=np.uint8)
    decode = matrix_decode(precision)
    shared = ([decoded.ctypes.data] * 4, 0)
    decode.call(decode.record(decoded=shared, bank=raw), 0, 1)
    names = {"x": x, "z": z[:4], "z_lsb": z[4:]}
    arrays = {name: np.zeros((1, 4, 64), dtype=np.uint64) for name in ("x", "z", "z_lsb", "out", "out_lsb")}
    for name, longs in names.items():
        arrays[name][0, 0, : len(longs)] = longs
    kernel = matrix_vector("fma", precision, half=half)
    available = {**arrays, "decoded": shared}
    kernel.call(kernel.record(**{name: available[name] for name in kernel.operands}), 0, 1)
    return arrays["out"][0, 0, :4].tolist() + arrays["out_lsb"][0, 0, :4].tolist()
