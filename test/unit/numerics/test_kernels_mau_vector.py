"""MAU vector kernels against the oracle on constructed cases."""

import pytest
from numerics_cases import Triple, triples
from numerics_harness import check, flag_nibbles, pack, run, unpack

from mnc.mncore_backend.emulator.kernels import mau_vector
from mnc.mncore_backend.emulator.numerics import mau_vector as oracle
from mnc.mncore_backend.emulator.numerics.conversion import NARROWER
from mnc.mncore_backend.emulator.numerics.formats import DOUBLE, FORMATS, HALF, join

OPERATIONS = ["fma", "mul", "add", "passa"]


def _inputs(op: str, letter: str, cases: list[Triple]) -> dict[str, list[int]]:
    """Input operands of a kernel for element-wise cases."""
    form = FORMATS[letter]
    a, b, c = (list(column) for column in zip(*cases, strict=True))
    inputs = {"x": pack(a, form.bits)}
    if op in ("fma", "mul"):
        inputs["y"] = pack(b, form.bits)
    if op in ("fma", "add"):
        if letter == "h":
            inputs["z"] = [join(c[start : start + 2], 32) for start in range(0, len(c), 4)]
            inputs["z_lsb"] = [join(c[start + 2 : start + 4], 32) for start in range(0, len(c), 4)]
        else:
            inputs["z"] = pack(c, form.bits)
    return inputs


def _outputs(letter: str, reduce: bool, out: dict[str, list[int]], count: int) -> list[int]:
    """Result elements in case order."""
    if letter == "h" and not reduce:
        longs = [long for pair in zip(out["out"], out["out_lsb"], strict=True) for long in pair]
        return unpack(longs, 32)[:count]
    if letter == "f" and reduce:
        parts = unpack(out["out"], 16)
        assert not any(parts[2::4]) and not any(parts[3::4])  # D1 is zero (OPEN-10)
        return [part for start in range(0, len(parts), 4) for part in parts[start : start + 2]][:count]
    return unpack(out["out"], FORMATS[letter].bits)[:count]


@pytest.mark.parametrize("reduce", [False, True])
@pytest.mark.parametrize("op", OPERATIONS)
@pytest.mark.parametrize("letter", ["f", "h"])
def test_single_and_half(letter: str, op: str, reduce: bool) -> None:
    form = FORMATS[letter]
    cases = triples(form, reduce, count=1200)
    cases = cases[: len(cases) // 4 * 4]
    out = run(mau_vector(op, letter, reduce=reduce, flags=True), **_inputs(op, letter, cases))
    expected = [oracle.vector(op, form, *case, reduce=reduce) for case in cases]
    check(_outputs(letter, reduce, out, len(cases)), expected, *zip(*cases, strict=True))
    target = NARROWER[oracle.ACCUMULATOR[form]] if reduce else oracle.ACCUMULATOR[form]
    flags = [oracle.flag(target, result) for result in expected]
    check(out["flags"], flag_nibbles(flags, 64 // form.bits))


@pytest.mark.parametrize("reduce", [False, True])
@pytest.mark.parametrize("half", ["u", "d"])
@pytest.mark.parametrize("op", ["fma", "mul"])
def test_double_product(op: str, half: str, reduce: bool) -> None:
    cases = triples(DOUBLE, reduce, count=500)
    out = run(mau_vector(op, "d", half=half, reduce=reduce, flags=True), **_inputs(op, "d", cases))
    expected = [oracle.double_vector(op, half, index % 4, *case, reduce=reduce) for index, case in enumerate(cases)]
    longs = [result << 32 for result in expected] if reduce else expected
    check(out["out"], longs, *zip(*cases, strict=True))
    target = NARROWER[DOUBLE] if reduce else DOUBLE
    check(out["flags"], [15 * oracle.flag(target, result) for result in expected])


@pytest.mark.parametrize("reduce", [False, True])
@pytest.mark.parametrize("op", ["add", "passa"])
def test_double_sum(op: str, reduce: bool) -> None:
    cases = triples(DOUBLE, reduce, count=500)
    # Sums on a boundary need addends chosen for a itself, not for a product.
    cases += [(a, b, c ^ 1 << 63) for a, b, c in cases] + [(c, b, a) for a, b, c in cases]
    out = run(mau_vector(op, "d", reduce=reduce, flags=True), **_inputs(op, "d", cases))
    expected = [oracle.vector(op, DOUBLE, *case, reduce=reduce) for case in cases]
    longs = [result << 32 for result in expected] if reduce else expected
    check(out["out"], longs, *zip(*cases, strict=True))
    target = NARROWER[DOUBLE] if reduce else DOUBLE
    check(out["flags"], [15 * oracle.flag(target, result) for result in expected])


def test_half_sum_reduces_once() -> None:
    """hvaddr rounds the exact sum: on a tie of halves the far smaller addend decides."""
    one, tiny = 0x3E00, 0x21000000
    addend = 0x3A800000 + 1  # 2**-10 and a bit: just above the tie at half precision
    out = run(mau_vector("add", "h", reduce=True), x=[join([one] * 4, 16)], z=[join([addend, tiny], 32)], z_lsb=[0])
    expected = [oracle.vector("add", HALF, one, 0, c, reduce=True) for c in (addend, tiny, 0, 0)]
    assert unpack(out["out"], 16) == expected == [0x3E01, 0x3E00, 0x3E00, 0x3E00]


def test_combinations_that_do_not_exist() -> None:
    for arguments in [("fma", "g", ""), ("sub", "f", ""), ("fma", "d", ""), ("fma", "f", "u"), ("add", "d", "u")]:
        with pytest.raises(ValueError):
            mau_vector(arguments[0], arguments[1], half=arguments[2])
