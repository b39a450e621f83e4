"""Prices against what the planner emits, over random movements of another seed than those of the fit."""

from itertools import islice
from typing import Any

import numpy as np
import pytest
from project.tree import script
from project.work import work

from mnc.mncore_backend import pricing
from mnc.mncore_backend.layout import Axis, parse
from mnc.mncore_backend.placement.candidates.space import same_places
from mnc.mncore_backend.pricing.crossing import crossing
from mnc.mncore_backend.pricing.facts import facts
from mnc.mncore_backend.pricing.table import price

samples, truth = script("price_samples"), script("price_truth")

SEED = 11
LONGS, ELEMENTS = 32, 40_000
"""Long words per PE, and elements, of the largest layouts: planning the movements of larger ones takes long."""
COUNTS = {"relayout": 28, "joining": 60, "reshaping": 40, "tiling": 24, "reduction": 100, "arrival": 60, "store": 60}
WORST = {
    "relayout": 1.75, "joining": 1.75, "reshaping": 1.75, "tiling": 2.0, "reduction": 1.2, "arrival": 1.06,
    "store": 1.03,
}  # fmt: skip
"""Factor of the root mean square of the logarithms of price over plan."""
WITHIN = {
    "relayout": 0.8, "joining": 0.8, "reshaping": 0.8, "tiling": 0.8, "reduction": 0.98, "arrival": 1.0, "store": 1.0,
}  # fmt: skip
"""Share of the prices that are off by less than a factor of two."""


def logarithms(kind: str) -> np.ndarray:
    drawn = (own for own in samples.random_samples(kind, SEED) if _is_small(own))
    pairs = [(own.price().total, truth.measured(own).total) for own in islice(drawn, COUNTS[kind])]
    return np.log([max(1.0, price) / max(1.0, steps) for price, steps in pairs])


def _is_small(sample: Any) -> bool:
    ends = (sample.source, sample.tiled[-1] if sample.windows else sample.target)
    return all(end.local_size <= LONGS and end.size <= ELEMENTS for end in ends if end is not None)


@pytest.mark.parametrize("kind", COUNTS)
def test_prices_are_those_of_plans(kind: str) -> None:
    logs = logarithms(kind)
    assert np.exp(np.sqrt((logs**2).mean())) < WORST[kind]
    assert (np.abs(logs) < np.log(2)).mean() >= WITHIN[kind]


def test_units_add_up() -> None:
    """The truth is that of the estimates of the planner."""
    own = next(samples.random_samples("relayout", SEED))
    counted = truth.measured(own)
    assert counted.total == sum((counted.mau, counted.alu, counted.mv, counted.l2bm, counted.l1bm, counted.latency))


def test_addresses_alone_cost_nothing() -> None:
    source, target = parse("((4:8, 2_W:1), (8:1))"), parse("((4:1, 2_W:1), (8:4))")
    assert same_places(source, target)
    assert pricing.relayout(source, target) == pricing.NOTHING


def test_a_sum_over_axes_is_one_over_all_their_replicas() -> None:
    result = parse("((4_L1B:2, 4:1), (4_PE:1, 2_W:1))")
    assert pricing.reduction(result, [Axis.L1B, Axis.MAB]) == pricing.reduction(result, {Axis.L1B: 1, Axis.MAB: 15})


def test_a_price_takes_few_calls() -> None:
    """Layouts not seen before included."""
    drawn = list(islice(samples.random_samples("relayout", SEED + 1), 200))
    facts.cache_clear()
    _, calls = work(lambda: [price("relayout", crossing(facts(own.source), facts(own.target))) for own in drawn])
    assert calls < 400 * len(drawn)
