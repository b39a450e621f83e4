"""simplify-tensors moves elements only: every result stays what it was."""

from hypothesis import given, settings
from hypothesis import strategies as st

from .random_graphs import check_unchanged, modules


@settings(max_examples=60, deadline=None)
@given(modules(["structural", "structural", "elementwise", "contraction"]), st.integers(0, 100), st.booleans())
def test_numbers(module, seed, special):
    """Only sums inside a contraction may be taken in another order."""
    check_unchanged(module, "simplify-tensors", seed, special, rtol=1e-6, atol=1e-9)
