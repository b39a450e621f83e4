"""Blocks of halves that the host makes are blocks that the machine would accept, and as near as they can be."""

import hypothesis.extra.numpy as hnp
import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from mnc.mncore_backend.emulator.numerics.block_float import block_normalise
from mnc.mncore_backend.emulator.numerics.formats import HALF
from mnc.mncore_backend.kernels.matmul.packing import packed_words, to_half_blocks

BLOCKS = hnp.arrays(
    np.float32,
    (3, 16),
    elements=st.floats(-(2.0**30), 2.0**30, width=32, allow_subnormal=False) | st.sampled_from([0.0, -0.0, 1.0, 511.0]),
)


def decoded(halves: np.ndarray) -> np.ndarray:
    """Values of elements of blocks: sign, exponent, mantissa without a hidden bit."""
    wide = halves.astype(np.int64)
    sign, exponent, mantissa = 1 - 2 * (wide >> 15), wide >> 9 & 63, wide & 511
    return sign * np.ldexp(mantissa.astype(np.float64), exponent - 31 - 8)


@given(values=BLOCKS)
def test_blocks_have_one_exponent_and_the_nearest_mantissas(values: np.ndarray) -> None:
    halves = to_half_blocks(values)
    exponents = halves >> 9 & 63
    assert (exponents == exponents[:, :1]).all()
    assert ((exponents > 0) & (exponents < 63)).all()
    step = np.ldexp(1.0, exponents.astype(int) - 31 - 8)
    assert (np.abs(decoded(halves) - values.astype(np.float64)) <= step / 2).all()
    largest = np.abs(values).max(axis=1)
    # No smaller exponent would hold the largest element, unless the exponent is the smallest there is.
    tight = np.rint(np.ldexp(largest.astype(np.float64), 31 + 8 + 1 - exponents[:, 0].astype(int))) >= 512
    assert (tight | (exponents[:, 0] == 1)).all()


@given(values=hnp.arrays(np.int16, (16,), elements=st.integers(-255, 255)))
def test_numbers_of_eight_bits_are_what_the_machine_makes_of_them(values: np.ndarray) -> None:
    """Their halves are exact; where the machine takes a larger exponent because a mantissa is all ones, values are the
    same."""
    machine = block_normalise("h", [_half(int(value)) for value in values])
    host = to_half_blocks(values.astype(np.float32)[None])[0]
    np.testing.assert_array_equal(decoded(host), decoded(np.array(machine, np.uint16)))
    np.testing.assert_array_equal(decoded(host), values)


def _half(value: int) -> int:
    """An integer of at most 10 bits as a half."""
    if value == 0:
        return 0
    exponent = abs(value).bit_length() - 1
    return HALF.pack(int(value < 0), exponent + 31, (abs(value) << 9 >> exponent) - 512)


def test_numbers_beyond_halves_are_infinite() -> None:
    values = np.zeros((2, 16), np.float32)
    values[0, 3], values[1, 3] = 1e12, 1e9
    halves = to_half_blocks(values)
    assert (halves[0] == 63 << 9).all()
    assert np.isclose(decoded(halves)[1, 3], 1e9, rtol=2**-9)


def test_the_first_of_two_halves_is_the_more_significant() -> None:
    values = np.zeros(32, np.float32)
    values[:4] = 1.0, 0.5, -1.0, 2.0
    words = packed_words(values).view(np.uint32)
    assert words.shape == (16,)
    np.testing.assert_array_equal(decoded(np.array([words[0] >> 16, words[0] & 0xFFFF, words[1] >> 16])), [1, 0.5, -1])
