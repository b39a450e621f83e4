"""Every graph pass alone, and all of them in the order of the pipeline, on graphs that share operands and constants."""

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from mnc.options import Options
from mnc.passes import PASSES
from mnc.stages import stage_text

from .noise import check_pass
from .shared_graphs import RESULTS, SIZES, build, steps

SKIPPED = [HealthCheck.filter_too_much, HealthCheck.too_slow]
ALONE = {name: name for name, path in PASSES.items() if ".graph." in path}
BEHIND = {"scales in order": "cse,simplify-algebra,hoist-scales,canonicalize,cse", "canonicalize": "canonicalize,cse"}
PIPELINES = {**ALONE, **BEHIND, "stage": stage_text("graph", Options())}


@pytest.mark.parametrize("pipeline", PIPELINES)
@settings(max_examples=60, deadline=None, suppress_health_check=SKIPPED)
@example([("scale", (0, 1)), ("scale", (0, 2)), ("scale", (0, 2))], [0], (2, 2), 0, False)  # multiples of a multiple
@given(steps(), RESULTS, SIZES, st.integers(0, 9), st.booleans())
def test_values_stay(pipeline, graph, results, size, seed, special) -> None:
    check_pass(build(graph, results, size), PIPELINES[pipeline], seed, special)
