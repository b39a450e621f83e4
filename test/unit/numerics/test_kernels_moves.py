"""Kernels that move or convert operands, and stores under masks."""

import random

import numpy as np
import pytest
from numerics_cases import addend_to_midpoint, normal, specials
from numerics_harness import check, pack, run, unpack

from mnc.mncore_backend.emulator.kernels import (
    copy,
    extend,
    fetch_indirect,
    fetch_word,
    narrow,
    negate,
    store,
    zero_flush,
)
from mnc.mncore_backend.emulator.numerics import conversion
from mnc.mncore_backend.emulator.numerics.formats import DOUBLE, FORMATS, HALF, SINGLE, Exact, elements, join

SIZE = 512


def _longs(seed: str, size: int = SIZE) -> list[int]:
    rng = random.Random(seed)
    return [rng.getrandbits(64) for _ in range(size)]


def _nibbles(seed: str) -> np.ndarray:
    return np.array([random.Random(seed + str(i)).randrange(16) for i in range(SIZE)], dtype=np.uint8).reshape(
        -1, 4, 64
    )


def test_copy() -> None:
    longs = _longs("copy")
    assert run(copy(), x=longs)["out"] == longs


@pytest.mark.parametrize("precision", ["d", "f", "h"])
def test_negate(precision: str) -> None:
    form, longs = FORMATS[precision], _longs(precision)
    expected = [conversion.negate(form, x) for x in unpack(longs, form.bits)]
    check(unpack(run(negate(precision), x=longs)["out"], form.bits), expected)


def test_extend_every_half() -> None:
    halves = list(range(1 << 16))
    expected = [conversion.widen(HALF, SINGLE, x) for x in halves]
    out = run(extend("h"), x=pack(halves, 16))
    longs = [long for pair in zip(out["out"], out["out_lsb"], strict=True) for long in pair]
    check(unpack(longs, 32), expected, halves)
    pairs = [join([*halves[start : start + 2], 0xBEEF, 0x1234], 16) for start in range(0, len(halves), 2)]
    check(unpack(run(extend("f"), x=pairs)["out"], 32), expected, halves)


def test_extend_single() -> None:
    rng = random.Random("extend")
    singles = specials(SINGLE) + [rng.getrandbits(32) for _ in range(500)]
    out = run(extend("d"), x=[x << 32 | 0xABCDEF01 for x in singles])["out"]
    check(out, [conversion.widen(SINGLE, DOUBLE, x) for x in singles], singles)


def test_narrow() -> None:
    rng = random.Random("narrow")
    singles = specials(SINGLE) + [rng.getrandbits(32) for _ in range(500)]
    for _ in range(2000):  # on and beside every kind of rounding boundary of halves
        near = normal(SINGLE, rng, -32, 33)
        singles.append(addend_to_midpoint(Exact(1, -200), HALF, SINGLE, rng) if rng.random() < 0.1 else near)
        singles.append(near & ~0x3FFF | rng.choice([0x1FFF, 0x2000, 0x2001, 0x3FFF, 0]))
    singles += [0] * (-len(singles) % 4)
    expected = [conversion.narrow(SINGLE, HALF, x) for x in singles]
    x = [join(singles[start : start + 2], 32) for start in range(0, len(singles), 4)]
    x_lsb = [join(singles[start + 2 : start + 4], 32) for start in range(0, len(singles), 4)]
    check(unpack(run(narrow(), x=x, x_lsb=x_lsb)["out"], 16), expected, singles)


def _rows(longs: list[int]) -> np.ndarray:
    return np.array(longs, dtype=np.uint64).reshape(-1, 4, 64)


def test_fetch_word() -> None:
    x, out = _rows(_longs("fetch")), np.zeros((2, 4, 64), dtype=np.uint64)
    choice = [1, 0, 0, 1]
    fetch_word()(out=out, x=x, word=choice)
    for cycle in range(4):
        shifted = x[:, cycle] << np.uint64(32 * choice[cycle])
        assert np.array_equal(out[:, cycle], shifted & np.uint64(0xFFFFFFFF << 32))


def test_fetch_indirect() -> None:
    memory = _rows(_longs("memory", 2 * 32 * 64)).reshape(2, 32, 64)
    index = np.random.default_rng(0).integers(0, 32, (2, 4, 64))
    out = np.zeros((2, 4, 64), dtype=np.uint64)
    base = ([memory.ctypes.data] * 4, memory.strides[0])
    kernel = fetch_indirect()
    kernel.call(kernel.record(out=out, base=base, index=index), 0, 2)
    for b, cycle, pe in np.ndindex(2, 4, 64):
        assert out[b, cycle, pe] == memory[b, index[b, cycle, pe], pe]


def _governed(nibble: int, kind: str, half: str) -> int:
    """Bits of a long that a mask nibble lets through: half words of the MSB long, or words of the 2-long."""
    bits = [nibble >> 3 & 1, nibble >> 2 & 1, nibble >> 1 & 1, nibble & 1]
    if kind == "long":
        return join([0xFFFF * bit for bit in bits], 16)
    return join([0xFFFFFFFF * bit for bit in (bits[2:] if half == "lsb" else bits[:2])], 32)


@pytest.mark.parametrize(("width", "mask"), [("long", "long"), ("long", "ll"), ("lsb", "ll")])
def test_masked_store_and_flush(width: str, mask: str) -> None:
    value, old, nibbles = _longs("value"), _longs("old"), _nibbles(width + mask)
    allowed = [_governed(int(n), mask, width) for n in nibbles.reshape(-1)]
    out = _rows(old).copy()
    store(width, mask)(out=out, x=_rows(value), mask=nibbles)
    check(out.reshape(-1).tolist(), [v & a | o & ~a for v, o, a in zip(value, old, allowed, strict=True)])
    zero_flush(width, mask)(out=out, x=_rows(value), mask=nibbles)
    check(out.reshape(-1).tolist(), [v & a for v, a in zip(value, allowed, strict=True)])


@pytest.mark.parametrize("mask", [None, "long", "ll"])
def test_word_store(mask: str | None) -> None:
    value, old, nibbles = _longs("value"), _longs("old"), _nibbles(str(mask))
    out = _rows(old).copy()
    choice = [0, 1, 1, 0]
    operands = {"mask": nibbles} if mask else {}
    store("word", mask)(out=out, x=_rows(value), word=choice, **operands)
    for index, result in enumerate(out.reshape(-1).tolist()):
        allowed = _governed(int(nibbles.reshape(-1)[index]), mask, "msb") >> 32 if mask else 0xFFFFFFFF
        words = elements(old[index], 32)
        word = choice[index // 64 % 4]
        words[word] = (value[index] >> 32) & allowed | words[word] & ~allowed
        assert result == join(words, 32)


def test_unmasked_stores_copy() -> None:
    assert store("long") is copy() and store("lsb") is copy()


def test_combinations_that_do_not_exist() -> None:
    with pytest.raises(ValueError):
        store("lsb", "long")
    with pytest.raises(ValueError):
        zero_flush("word", "ll")
