"""The constructed cases notice mistakes: kernels must disagree with each deliberately wrong oracle."""

import random
from collections.abc import Callable, Sequence

import pytest
from numerics_cases import float_inputs, triples
from numerics_harness import differences, pack, run, unpack
from test_kernels_block_float import BLOCK, _blocks, _to_longs
from test_kernels_matrix import Products, run_products
from test_kernels_rrn import _long_columns

from mnc.mncore_backend.emulator.kernels import block_float, mau_vector, rrn_stage
from mnc.mncore_backend.emulator.numerics import block_float as bf_oracle
from mnc.mncore_backend.emulator.numerics import mau_matrix, rounding, rrn
from mnc.mncore_backend.emulator.numerics import mau_vector as oracle
from mnc.mncore_backend.emulator.numerics.formats import DOUBLE, SINGLE, Exact, Format
from mnc.mncore_backend.emulator.numerics.rounding import round_exact, shift_right_even


def _omitting(width: int, constant: int | None) -> Callable[[Format, int, int], int]:
    def product_integer(_: Format, a: int, b: int) -> int:
        low = (a % (1 << width)) * (b % (1 << width))
        return a * b - low + ((1 << constant) if low and constant is not None else 0)

    return product_integer


def _to_53_bits(number: Exact, wrong_odd: bool) -> Exact:
    """Round to 53 bits: to nearest even, or to odd with the neighbour chosen on the wrong side."""
    magnitude = abs(number.integer)
    excess = magnitude.bit_length() - 53
    if excess <= 0:
        return number
    nearest = shift_right_even(magnitude, excess)
    if wrong_odd and nearest << excess != magnitude and not nearest & 1:
        nearest += -1 if magnitude > nearest << excess else 1
    return Exact(-nearest if number.integer < 0 else nearest, number.scale + excess)


def _double_rounding(form: Format, number: Exact) -> int:
    return round_exact(form, _to_53_bits(number, wrong_odd=False))


def _wrong_direction(form: Format, number: Exact) -> int:
    return round_exact(form, _to_53_bits(number, wrong_odd=True))


def _compare_at_scale(number: Exact, units: int, scale: int) -> int:
    """abs(number) - units * 2**scale, in some positive unit."""
    difference = Exact(abs(number.integer), number.scale) + Exact(-units, scale)
    return difference.integer


def _ieee_subnormals(form: Format, number: Exact) -> int:
    """Round on the subnormal grid, then flush: reaches the smallest normal from twice as far below."""
    smallest = 1 - form.bias
    bound = smallest - form.mantissa_bits - 1
    if (
        _compare_at_scale(number, (2 << form.mantissa_bits) - 1, bound) >= 0
        and _compare_at_scale(number, 1, smallest) < 0
    ):
        return form.pack(int(number.integer < 0), 1, 0)
    return round_exact(form, number)


def _underflow_before_rounding(form: Format, number: Exact) -> int:
    return 0 if _compare_at_scale(number, 1, 1 - form.bias) < 0 else round_exact(form, number)


def _keep_negative_zero(form: Format, number: Exact) -> int:
    result = round_exact(form, number)
    return form.pack(1, 0, 0) if result == 0 and number.integer < 0 else result


def _ties_away(form: Format, number: Exact) -> int:
    magnitude = abs(number.integer)
    excess = magnitude.bit_length() - form.mantissa_bits - 1
    if excess > 0:
        rounded = (magnitude + (1 << (excess - 1))) >> excess
        number = Exact(-rounded if number.integer < 0 else rounded, number.scale + excess)
    return round_exact(form, number)


def _no_input_flush(form: Format, x: int) -> Exact:
    magnitude = form.mantissa(x) if form.exponent(x) == 0 else form.significand(x)
    exponent = max(form.exponent(x), 1) - form.bias - form.mantissa_bits
    return Exact(-magnitude if form.sign(x) else magnitude, exponent)


VECTOR_MUTATIONS: dict[str, tuple[str, object]] = {
    "no omission": ("product_integer", _omitting(0, None)),
    "no constant": ("product_integer", _omitting(5, None)),
    "wrong constant": ("product_integer", _omitting(5, 7)),
    "six omitted bits": ("product_integer", _omitting(6, 8)),
    "double rounding": ("round_exact", _double_rounding),
    "adjustment in the wrong direction": ("round_exact", _wrong_direction),
    "subnormal rounding at the flush bound": ("round_exact", _ieee_subnormals),
    "underflow before rounding": ("round_exact", _underflow_before_rounding),
    "negative zero kept": ("round_exact", _keep_negative_zero),
    "ties away from zero": ("round_exact", _ties_away),
    "no flush of the addend": ("value", _no_input_flush),
    "infinite terms ignored": ("sum_with_infinities", lambda form, signs: None),
}


@pytest.fixture(scope="module")
def single_results() -> tuple[list[tuple[int, int, int]], list[int]]:
    """Cases for fvfma and what the kernel delivers."""
    cases = triples(SINGLE, count=600)
    x, y, z = (pack(column, 32) for column in zip(*cases, strict=True))
    return cases, unpack(run(mau_vector("fma", "f"), x=x, y=y, z=z)["out"], 32)


@pytest.mark.parametrize("mutation", VECTOR_MUTATIONS)
def test_vector_cases_notice(mutation: str, single_results, monkeypatch: pytest.MonkeyPatch) -> None:
    cases, actual = single_results
    assert not differences(actual, [oracle.multiply_add(SINGLE, *case) for case in cases])
    monkeypatch.setattr(oracle, *VECTOR_MUTATIONS[mutation])
    wrong = differences(actual, [oracle.multiply_add(SINGLE, *case) for case in cases])
    assert len(wrong) >= 5


@pytest.mark.parametrize(("width", "constant"), [(0, None), (16, None), (16, 29), (17, 30)])
def test_double_cases_notice(width: int, constant: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    cases = triples(DOUBLE, count=300)
    x, y, z = (list(column) for column in zip(*cases, strict=True))
    actual = run(mau_vector("fma", "d", half="u"), x=x, y=y, z=z)["out"]
    monkeypatch.setattr(oracle, "product_integer", _omitting(width, constant))
    expected = [oracle.double_vector("fma", "u", index % 4, *case) for index, case in enumerate(cases)]
    assert len(differences(actual, expected)) >= 5


def _truncate(integer: int, shift: int) -> int:
    return integer >> shift


RRN_MUTATIONS: dict[str, tuple[str, object]] = {
    "truncating alignment": ("shift_right_even", _truncate),
    "two extra bits": ("EXTRA_BITS", 2),
    "four extra bits": ("EXTRA_BITS", 4),
    "exact alignment": ("EXTRA_BITS", 40),
    "ties away from zero": ("round_exact", _ties_away),
    "negative zero kept": ("round_exact", _keep_negative_zero),
    "infinite terms ignored": ("sum_with_infinities", lambda form, signs: None),
}


@pytest.mark.parametrize("mutation", RRN_MUTATIONS)
def test_reduction_cases_notice(mutation: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(mutation)
    lanes = [float_inputs(SINGLE, rng, 4, SINGLE) for _ in range(4096)]
    columns = _long_columns(lanes, 32)
    actual = unpack(run(rrn_stage("fadd", "f", 4), **{f"x{k}": column for k, column in enumerate(columns)})["out"], 32)
    assert not differences(actual, [rrn.stage("fadd", "f", row) for row in lanes])
    monkeypatch.setattr(rrn, *RRN_MUTATIONS[mutation])
    assert len(differences(actual, [rrn.stage("fadd", "f", row) for row in lanes])) >= 5


def _without_all_ones_rule(form: Format, block: Sequence[int], _: int, offset: int) -> int:
    return max(form.exponent(x) for x in block) + offset


def _all_ones_of_any_element(form: Format, block: Sequence[int], significant: int, offset: int) -> int:
    ones = any(form.mantissa(x) >> (form.mantissa_bits - significant) == (1 << significant) - 1 for x in block)
    return max(form.exponent(x) for x in block) + offset + ones


def _all_ones_of_all_bits(form: Format, block: Sequence[int], _: int, offset: int) -> int:
    largest = max(form.exponent(x) for x in block)
    full = (1 << form.mantissa_bits) - 1
    return largest + offset + any(form.exponent(x) == largest and form.mantissa(x) == full for x in block)


BLOCK_MUTATIONS: dict[str, tuple[str, object]] = {
    "no all-ones rule": ("_block_exponent", _without_all_ones_rule),
    "all-ones rule for any element": ("_block_exponent", _all_ones_of_any_element),
    "all-ones rule on the whole mantissa": ("_block_exponent", _all_ones_of_all_bits),
    "truncation": ("shift_right_even", _truncate),
}


@pytest.mark.parametrize("mutation", BLOCK_MUTATIONS)
@pytest.mark.parametrize(("precision", "bits"), [("g", 18), ("h", 6)])
def test_block_float_cases_notice(precision: str, bits: int, mutation: str, monkeypatch: pytest.MonkeyPatch) -> None:
    blocks = _blocks(precision, bits, 512)
    assert len(blocks[0]) == BLOCK[precision]
    kernel = block_float("bfn", precision, bits) if precision == "h" else block_float("bfn", precision)
    actual = run(kernel, x=_to_longs(precision, blocks))["out"]
    monkeypatch.setattr(bf_oracle, *BLOCK_MUTATIONS[mutation])
    wrong = [bf_oracle.block_normalise(precision, block, bits) for block in blocks]
    wrong = [[x % (1 << (32 if precision == "g" else 16)) for x in block] for block in wrong]
    assert len(differences(actual, _to_longs(precision, wrong))) >= 5


MATRIX_MUTATIONS: dict[tuple[str, str], tuple[str, object]] = {
    ("f", "no omission"): ("product_integer", _omitting(0, None)),
    ("f", "wrong constant"): ("product_integer", _omitting(5, 7)),
    ("d", "no constant"): ("product_integer", _omitting(16, None)),
    ("g", "low bits used"): ("_mantissa", lambda precision, x: SINGLE.mantissa(x) if SINGLE.exponent(x) else 0),
    ("g", "double rounding"): ("round_exact", _double_rounding),
    ("h", "extended elements unscaled"): ("EXTENDED_SHIFT", 0),
    ("h", "extended products truncated"): ("shift_right_even", _truncate),
}


@pytest.mark.parametrize(("precision", "mutation"), MATRIX_MUTATIONS)
def test_matrix_cases_notice(precision: str, mutation: str, monkeypatch: pytest.MonkeyPatch) -> None:
    half = "u" if precision == "d" else ""
    products = Products(precision, "0", reduce=False, extended=precision == "h")
    run_products(products, "fma", half)
    monkeypatch.setattr(mau_matrix, *MATRIX_MUTATIONS[precision, mutation])
    with pytest.raises(AssertionError, match="differ"):
        run_products(products, "fma", half)


def test_the_oracle_is_restored() -> None:
    assert mau_matrix.round_exact is rounding.round_exact and rrn.EXTRA_BITS == 3
