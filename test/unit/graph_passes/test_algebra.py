"""simplify-algebra changes no result beyond rounding, whatever the operands."""

from hypothesis import given, settings
from hypothesis import strategies as st

from .random_graphs import check_unchanged, modules


@settings(max_examples=60, deadline=None)
@given(modules(["elementwise", "elementwise", "contraction"]), st.integers(0, 100), st.booleans())
def test_numbers(module, seed, special):
    """Constants and inputs are dyadic, so almost nothing is rounded and a wrong law shows."""
    check_unchanged(module, "simplify-algebra", seed, special, rtol=2e-6, atol=1e-6)


@settings(max_examples=60, deadline=None)
@given(modules(["elementwise", "structural"]), st.integers(0, 100), st.booleans())
def test_folding(module, seed, special):
    """fold-constants with upstream clean-up."""
    check_unchanged(module, "fold-constants,canonicalize,cse", seed, special, rtol=2e-6, atol=1e-6)


@settings(max_examples=60, deadline=None)
@given(modules(["elementwise", "contraction", "structural"]), st.integers(0, 100))
def test_scales(module, seed):
    """hoist-scales behind what it follows in the pipeline."""
    check_unchanged(module, "simplify-algebra,hoist-scales,canonicalize,cse", seed, False, rtol=2e-6, atol=1e-6)
