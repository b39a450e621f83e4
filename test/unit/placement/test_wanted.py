"""Where readers want tensors is known further in front, and searches may choose it there."""

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mnc.mncore_backend.layout import Layout, parse, permute, reshape
from mnc.mncore_backend.placement.candidates import Contraction, Operand, same_places
from mnc.mncore_backend.placement.candidates.policy import policy_of
from mnc.mncore_backend.placement.cost.movements import Movements
from mnc.mncore_backend.placement.problem import Loops, Problem, Product, Reshape, Tensor, Transposition, Use
from mnc.mncore_backend.placement.refine.searches import Searches
from mnc.mncore_backend.placement.refine.solve_together import MIXED
from mnc.mncore_backend.placement.refine.wanted import MOST, wanted_layouts
from mnc.mncore_backend.placement.solve.search import Search
from mnc.mncore_backend.placement.solve.state import Placed, State

from .random_problems import random_problem

TOKENS, FEATURES, WIDE = 33, 768, 768
IMAGE, COLUMN, ROWS = (TOKENS, FEATURES), (TOKENS,), (True, True)
X, MEAN, CENTRED, VIEW, TURNED, WEIGHT, RESULT, SCALED = range(8)
TURNED_SHAPE = FEATURES, 1, TOKENS
PRODUCT, LAST = 4, 5
LEFT = parse("((5:6, 8_L1B:1), (6:1, 16_MAB:1, 4_PE:1, 2_W:1))", IMAGE)


def normalised(*, combines: bool = True) -> Problem:
    """Rows without their mean, looked at in other shapes, times a matrix. Where parts do not combine, the mean is one
    that only a PE alone can find."""
    left, right, result = (0, 2), (2, 1), (0, 1)
    tensors = (
        Tensor(IMAGE), Tensor(COLUMN, 0), Tensor(IMAGE, 1), Tensor((1, *IMAGE), 2), Tensor(TURNED_SHAPE, 3),
        Tensor((FEATURES, WIDE)), Tensor((TOKENS, WIDE), PRODUCT), Tensor(TURNED_SHAPE, LAST),
    )  # fmt: skip
    centred = Use(X, (0, 1), IMAGE), Use(MEAN, (0,), COLUMN)
    operations = (
        Loops("mean", MEAN, (Use(X, (0, 1), IMAGE),), (0,), IMAGE, (True, False), combines=combines),
        Loops("centred", CENTRED, centred, (0, 1), IMAGE, ROWS),
        Reshape("view", VIEW, CENTRED),
        Transposition("turned", TURNED, VIEW, (2, 0, 1)),
        Product(
            "product", RESULT, Use(CENTRED, left, IMAGE), Use(WEIGHT, right, (FEATURES, WIDE)),
            Contraction((TOKENS, WIDE, FEATURES), Operand(left), Operand(right), result),
        ),
        Loops("scaled", SCALED, (Use(TURNED, (0, 1, 2), TURNED_SHAPE),), (0, 1, 2), TURNED_SHAPE, (True,) * 3),
    )  # fmt: skip
    return Problem(tensors, operations, 1024, (RESULT, SCALED))


def multiplied_at(layout: Layout) -> State:
    """A state in which the product reads its left factor there."""
    return State(placed={PRODUCT: Placed((layout, None), LEFT)})


def test_what_a_product_reads_is_wanted_in_front_of_it() -> None:
    wanted = wanted_layouts(normalised(), [multiplied_at(LEFT)])
    assert wanted[CENTRED] == (LEFT,)
    assert wanted[X] == (LEFT,)
    assert MEAN not in wanted  # it is where the rows are


def test_views_are_followed_to_what_they_show() -> None:
    shown = permute(reshape(LEFT, (1, *IMAGE)), (2, 0, 1))
    wanted = wanted_layouts(normalised(), [State(placed={LAST: Placed((shown,), shown)})])
    for tensor in (CENTRED, X):
        (layout,) = wanted[tensor]
        assert same_places(layout, LEFT)


def test_few_layouts_are_noted_the_best_first() -> None:
    layouts = [parse(f"(({mabs}_MAB:1, {64 // mabs}:{FEATURES}), ({FEATURES}:1))", IMAGE) for mabs in (2, 4, 8, 16)]
    wanted = wanted_layouts(normalised(), [multiplied_at(own) for own in layouts])
    assert wanted[CENTRED] == tuple(layouts[:MOST])


def test_a_search_finds_what_it_could_not_know_in_front() -> None:
    """The first operation knows nothing of the product; a search after another one does."""
    policies = [policy_of(own) for own in MIXED]
    searches = Searches(problem=normalised(), mixed=policies, pure=policies, pinned={})
    found = searches.narrow(Movements())
    again = searches.wide(Movements(), searches.wanted(found))
    assert again.price < 0.99 * found[0].price


@settings(deadline=None, max_examples=15)
@given(st.randoms(use_true_random=False), st.integers(2, 4))
def test_a_wide_search_finds_nothing_dearer_with_more_to_choose_from(random: Random, operations: int) -> None:
    problem = random_problem(random, operations)
    policies = [policy_of(())]
    plain = Search(problem, policies, Movements()).run(width=1 << 20)
    wanted = wanted_layouts(problem, [plain])
    assert Search(problem, policies, Movements()).run(width=1 << 20, wanted=wanted).price <= plain.price + 1e-6


@pytest.mark.parametrize("combines", [True, False])
def test_reductions_that_do_not_combine_stay_inside(combines: bool) -> None:
    problem = normalised(combines=combines)
    search = Search(problem, [policy_of(())], Movements())
    search.among(search.policies, {X: [LEFT]})
    ways = [*search.ways(State(), 0, problem.operations[0])]
    taken = [search.follow(State(), 0, way).layouts[X] for way in ways]
    assert any(same_places(own, LEFT) for own in taken) == combines
