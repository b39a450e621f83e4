"""Block-float conversion: kernels against the oracle."""

import random

import pytest
from numerics_cases import normal, specials
from numerics_harness import check, pack, run

from mnc.mncore_backend.emulator.kernels import block_float
from mnc.mncore_backend.emulator.numerics.block_float import block_normalise, half_extended
from mnc.mncore_backend.emulator.numerics.formats import FORMATS, Format, elements, join

SIGNIFICANT = {"d": [52], "f": [23], "g": [18], "h": [6, 7, 8, 9]}
BLOCK = {"d": 4, "f": 4, "g": 8, "h": 16}


def _element(form: Format, rng: random.Random, centre: int, bits: int) -> int:
    style = rng.randrange(8)
    if style == 0:
        return rng.choice(specials(form)[:4] + specials(form)[14:18])  # zeros, canonical or not
    exponent = min(max(centre - rng.choice([0, 0, 1, 2, 5, 6, 7, 8, 9, 10, 12, bits, bits + 1, bits + 2]), 1), form.top)
    spare = form.mantissa_bits - bits
    mantissa = rng.getrandbits(form.mantissa_bits)
    if style == 1:  # all ones in the leading bits, with any tail
        mantissa |= ((1 << bits) - 1) << spare
    elif style == 2:  # ones but for the last leading bit
        mantissa = mantissa | ((1 << bits) - 1) << spare
        mantissa ^= 1 << spare
    elif style == 3:  # ties when shifted
        mantissa &= -(1 << rng.randrange(form.mantissa_bits))
    return form.pack(rng.getrandbits(1), exponent, mantissa)


def _blocks(precision: str, bits: int, count: int) -> list[list[int]]:
    form, rng = FORMATS[precision], random.Random(f"{precision}{bits}")
    blocks = []
    for index in range(count):
        centre = form.bias + rng.randint(-8, 8)
        if index % 8 == 0:
            centre = rng.choice([1, 2, 3, 7, 8, 9, form.top - 4, form.top - 3, form.top - 2, form.top - 1, form.top])
        length = BLOCK[precision]
        blocks.append([_element(form, rng, centre, bits) for _ in range(length)])
        if index % 16 == 1:
            blocks[-1] = [rng.choice([0, 1 << (form.bits - 1), 1]) for _ in range(length)]
        elif index % 16 == 2:
            blocks[-1] = [normal(form, rng, -4, 0) for _ in range(length)]
    return blocks


def _to_longs(precision: str, blocks: list[list[int]]) -> list[int]:
    """Blocks in PE order; for single two blocks (first the MSB words) share the 4 longs of a MAB."""
    bits = FORMATS[precision].bits
    if precision == "f":
        pairs = zip(blocks[::2], blocks[1::2], strict=True)
        return [join(words, 32) for first, second in pairs for words in zip(first, second, strict=True)]
    return [long for block in blocks for long in pack(block, bits)]


@pytest.mark.parametrize(
    ("op", "precision", "bits"),
    [("bfn", precision, bits) for precision, widths in SIGNIFICANT.items() for bits in widths]
    + [("bfe", "h", bits) for bits in SIGNIFICANT["h"]],
)
def test_conversion(op: str, precision: str, bits: int) -> None:
    blocks = _blocks(precision, bits, 1024)
    if op == "bfe":
        expected = [half_extended(block, bits) for block in blocks]
    else:
        expected = [block_normalise(precision, block, bits) for block in blocks]
    kernel = block_float(op, precision, bits) if precision == "h" else block_float(op, precision)
    longs = _to_longs(precision, blocks)
    check(run(kernel, x=longs)["out"], _to_longs(precision, expected), longs)


def test_half_of_words_of_other_mabs_do_not_mix() -> None:
    """A large number in one MAB leaves the neighbouring MABs' blocks alone."""
    longs = [0] * 12
    longs[5] = join([0x4F000000, 0], 32)
    out = run(block_float("bfn", "g"), x=longs)["out"]
    assert out[:4] == [0] * 4 and out[8:] == [0] * 4
    assert elements(out[4], 32) == [0x4F000000, 0x4F000000]
    assert elements(out[5], 32) == [0x4F400000, 0x4F000000]


@pytest.mark.parametrize(("op", "precision", "bits"), [("bfe", "f", 9), ("bfn", "i", 9), ("bfn", "h", 5)])
def test_combinations_that_do_not_exist(op: str, precision: str, bits: int) -> None:
    with pytest.raises(ValueError):
        block_float(op, precision, bits)
