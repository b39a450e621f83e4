"""Prices of matrix kernels against how the kernels are cut."""

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnc.mncore_backend.kernels.matmul.chunks import FORMS, Form, choose_cutting, half_form
from mnc.mncore_backend.kernels.matmul.spec import accumulator_longs, vector_longs
from mnc.mncore_backend.placement.candidates.costs import kernel_resources
from mnc.mncore_backend.placement.candidates.halves import packed_share

COUNTS = st.fixed_dictionaries({
    "rows": st.integers(1, 200),
    "columns": st.integers(1, 40),
    "k": st.integers(1, 24),
    "b": st.just(1),
    "x_apart": st.integers(0, 1),
    "w_apart": st.integers(0, 1),
    "packed": st.integers(0, 1),
})


def emitted(counts: Mapping[str, int], form: Form, blocks: int) -> float:
    """Steps of the busier unit, as the kernel is cut."""
    columns, contracted = (-(-counts[name] // blocks) for name in ("columns", "k"))
    sizes = {"accumulators": accumulator_longs(), "vectors": vector_longs()}
    cut = choose_cutting(counts["rows"], columns, form, **sizes)
    return contracted * max(cut.products, cut.of_matrix + cut.of_rows)


@given(counts=COUNTS)
@pytest.mark.parametrize("precision", ["single", "pseudo-single", "half"])
def test_kernels_take_what_they_are_priced(precision: str, counts: dict[str, int]) -> None:
    if precision == "half":
        packed = bool(counts["packed"])
        w_apart = not packed and bool(counts["w_apart"])
        form = half_form(x_apart=bool(counts["x_apart"]), w_apart=w_apart, w_packed=packed)
        steps = min(emitted(counts, form, 2), emitted(counts, FORMS["g"], 1))
    else:
        steps = emitted(counts, FORMS["f" if precision == "single" else "g"], 1)
    priced = kernel_resources(counts, precision)
    assert 0.7 * steps <= max(priced.mau, priced.alu) <= 1.5 * steps


@given(counts=COUNTS)
def test_what_is_packed_takes_between_half_and_all(counts: dict[str, int]) -> None:
    share = packed_share(counts)
    assert 0.5 <= share <= 1
    assert counts["packed"] or share == 1
    if counts["packed"] and counts["columns"] % 2 == 0 and counts["k"] % 2 == 0:
        assert share == 0.5
