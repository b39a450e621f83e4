"""The best plans of a product by tables are those that are best when each is priced by itself."""

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mnc.mncore_backend.layout import Layout
from mnc.mncore_backend.placement.candidates import Contraction, ContractionPlan
from mnc.mncore_backend.placement.candidates.policy import policy_of
from mnc.mncore_backend.placement.candidates.space import scattered
from mnc.mncore_backend.placement.cost.movements import Movements
from mnc.mncore_backend.placement.cost.plan_table import Moves, divided_by
from mnc.mncore_backend.placement.cost.product_prices import ProductPrices
from mnc.mncore_backend.placement.cost.ranking import PaidLater
from mnc.mncore_backend.placement.cost.weights import WEIGHTS
from mnc.mncore_backend.placement.problem import Product
from mnc.mncore_backend.placement.solve.search import Search

from .random_problems import random_problem


def contractions(random: Random, operations: int) -> list[Contraction]:
    """Contractions of a random problem, with factors where a search has left them."""
    search = Search(random_problem(random, operations), [policy_of(())], Movements())
    state, products = search.run(width=2), search.followed[0]
    return [products.known(state, op) for op in search.problem.operations if isinstance(op, Product)]


def one_by_one(prices: ProductPrices, problem: Contraction) -> list[float]:
    """The prices of all plans, in order."""
    moves = Moves(problem, prices.movements, prices.weights, {})
    return sorted(
        own.price + sum(WEIGHTS[part.kind] * part.steps for part in moves.parts(own.plan))
        for table in prices.tables(problem)
        for own in table.priced
    )


@settings(deadline=None, max_examples=30)
@given(st.randoms(use_true_random=False), st.integers(1, 6), st.integers(1, 8))
def test_the_best_plans_are_found(random: Random, operations: int, count: int) -> None:
    prices = ProductPrices(Movements())
    for problem in contractions(random, operations):
        found = prices.best(problem, count)
        assert [own.price for own in found] == pytest.approx(one_by_one(prices, problem)[:count])
        assert [own.plan.cost for own in found] == [own.price for own in found]


@settings(deadline=None, max_examples=20)
@given(st.randoms(use_true_random=False), st.integers(1, 6), st.booleans())
def test_the_best_of_each_kind_are_the_best_among_its_plans(random: Random, operations: int, is_first: bool) -> None:
    prices = ProductPrices(Movements())
    paid = PaidLater("size", lambda layout: 10.0 * layout.local_size)
    for problem in contractions(random, operations):
        ranking = prices.ranking(problem, paid)
        before = ranking.best(8) if is_first else []
        kinds = ranking.kinds
        found = ranking.best_of_each(kinds)
        expected = [
            ranking_of_kind.best(1, lambda table, kind=kind: table.divided == kind)[0]
            for ranking_of_kind, kind in ((prices.ranking(problem, paid), kind) for kind in sorted(kinds))
        ]
        assert [own.priced().plan for own in found] == [own.plan for own in expected]
        assert [divided_by(own.result) for own in found] == sorted(kinds)
        assert ranking.best(8)[: len(before)] == before  # what was found out in between changes nothing
        assert ranking.best_of_each(()) == []


@settings(deadline=None, max_examples=20)
@given(st.randoms(use_true_random=False), st.integers(1, 6))
def test_what_is_ahead_counts_but_is_no_part_of_the_price(random: Random, operations: int) -> None:
    prices = ProductPrices(Movements())

    def paid(layout: Layout) -> float:
        return 100.0 * layout.local_size

    def ahead(plan: ContractionPlan) -> float:
        return paid(scattered(plan.result) if plan.partial else plan.result)

    for problem in contractions(random, operations):
        (best,) = prices.ranking(problem, PaidLater("size", paid)).best(1)
        every = prices.best(problem, 1 << 20)
        assert best.price + ahead(best.plan) == pytest.approx(min(own.price + ahead(own.plan) for own in every))
        divided = prices.best(problem, 3, among=lambda table: table.divided != 0)
        assert all(own.price in [other.price for other in every] for own in divided)
