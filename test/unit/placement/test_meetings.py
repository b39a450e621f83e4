"""What a tensor pays to come to a larger one that element-wise work reads beside it."""

import pytest

from mnc.mncore_backend.layout import Axis, Layout, parse
from mnc.mncore_backend.placement.candidates import Contraction, Operand, policy_of
from mnc.mncore_backend.placement.cost.meetings import Meetings
from mnc.mncore_backend.placement.cost.movements import Movements
from mnc.mncore_backend.placement.cost.product_prices import ProductPrices
from mnc.mncore_backend.placement.problem import Loops, Problem, Product, Reshape, Tensor, Transposition, Use
from mnc.mncore_backend.placement.solve import plans, search
from mnc.mncore_backend.placement.solve.search import Search
from mnc.mncore_backend.placement.solve.state import State

PLAIN = policy_of(())
CHANNELS, POOLED, PIXELS = 96, 16, 4096
FLAT, SCALES, ACTIVE, WHOLE, SCALED = 3, 4, 5, 6, 7
COLUMNS = (1, CHANNELS)
EVERYWHERE = parse("((), (4:1, 8_L1B:1, 4_PE:1, 2_W:1))", COLUMNS)
DIVIDED = parse("((), (8_L2B:1, 2_L1B:1, 4_PE:1, 2_W:1))", COLUMNS)
PIXELS_APART = parse("((4:512, 8_L1B:1, 4_PE:1, 2_W:1), (8_L2B:1, 512:1))", (CHANNELS, PIXELS))


def network() -> Problem:
    """An image multiplied by scales of its channels: a product, an activation and a view of it."""
    tensors = (
        Tensor((POOLED, PIXELS)), Tensor((1, POOLED)), Tensor((POOLED, CHANNELS)), Tensor((CHANNELS, PIXELS), 0),
        Tensor(COLUMNS, 1), Tensor(COLUMNS, 2), Tensor((CHANNELS, 1), 3), Tensor((CHANNELS, PIXELS), 4),
        Tensor((CHANNELS, POOLED)),
    )  # fmt: skip
    left, right, result = (0, 2), (2, 1), (0, 1)
    contraction = Contraction((1, CHANNELS, POOLED), Operand(left), Operand(right), result)
    whole = Contraction((CHANNELS, PIXELS, POOLED), Operand(left), Operand(right), result)
    image, plain = (CHANNELS, PIXELS), (True, True)
    beside = Use(FLAT, (0, 1), image), Use(WHOLE, (0, None), (CHANNELS, 1))
    operations = (
        Product("image", FLAT, Use(8, left, (CHANNELS, POOLED)), Use(0, right, (POOLED, PIXELS)), whole),
        Product(
            "scales", SCALES, Use(1, left, (1, POOLED)), Use(2, right, (POOLED, CHANNELS)), contraction
        ),
        Loops("sigmoid", ACTIVE, (Use(SCALES, (0, 1), COLUMNS),), (0, 1), COLUMNS, plain),
        Reshape("view", WHOLE, ACTIVE),
        Loops("multiplied", SCALED, beside, (0, 1), image, plain),
    )
    return Problem(tensors, operations, 1024, (SCALED,))


def paid(problem: Problem, tensor: int, layout: Layout, after: int, layouts: dict[int, Layout]) -> float:
    """What a tensor in a layout pays after an operation to meet others in theirs."""
    met = Meetings(problem, Movements(), 1.0).after(tensor, after)
    return sum(steps(layout, layouts[other]) for other, steps in met if other in layouts)


def price(tensor: int, after: int, *, with_image: bool = True) -> dict[str, float]:
    layouts = {FLAT: PIXELS_APART} if with_image else {}
    places = {"everywhere": EVERYWHERE, "divided": DIVIDED}
    return {name: paid(network(), tensor, layout, after, layouts) for name, layout in places.items()}


def test_the_smaller_comes_to_the_larger_through_views_and_element_wise_work() -> None:
    found = price(SCALES, 1)
    assert found == price(ACTIVE, 2)
    assert found["everywhere"] < found["divided"]


def test_ways_that_part_and_meet_again_are_followed_once() -> None:
    """Sums of a square and its transposition, forty times: two ways through each."""
    square, count = (8, 8), 40
    tensors, operations, here = [Tensor(square)], [], 0
    for _ in range(count):
        turned, total = len(tensors), len(tensors) + 1
        tensors += [Tensor(square, len(operations)), Tensor(square, len(operations) + 1)]
        uses = Use(here, (0, 1), square), Use(turned, (0, 1), square)
        operations += [
            Transposition("turned", turned, here, (1, 0)),
            Loops("sum", total, uses, (0, 1), square, (True, True)),
        ]
        here = total
    problem = Problem(tuple(tensors), tuple(operations), 1024, (here,))
    assert paid(problem, 0, parse("((8:8), (8:1))", square), -1, {}) == 0.0


def test_nothing_is_paid_for_what_is_nowhere_yet_or_has_met_already() -> None:
    assert set(price(SCALES, 1, with_image=False).values()) == {0.0}
    assert set(price(SCALES, 4).values()) == {0.0}
    scales = {WHOLE: parse("((4:1, 8_L1B:1, 4_PE:1, 2_W:1), ())", (96, 1))}
    assert paid(network(), FLAT, PIXELS_APART, 3, scales) == 0.0


def test_a_narrow_search_that_thinks_of_meetings_finds_something_cheaper(monkeypatch: pytest.MonkeyPatch) -> None:
    """The scales are computed in all L2Bs, instead of coming from one to the other."""
    monkeypatch.setattr(search, "WIDTH", 1)
    met = Search(network(), [PLAIN], Movements()).run().price
    monkeypatch.setattr(Meetings, "after", lambda *_: iter(()))
    assert met < Search(network(), [PLAIN], Movements()).run().price


def kinds_followed() -> tuple[set[bool], int]:
    """Whether L2Bs share the result of the second product, over all plans that are followed, and how many these are.
    What it reads is in every L2B."""
    own, state = Search(network(), [PLAIN], Movements()), State()
    state.layouts[1] = parse("((), (2:1, 4_PE:1, 2_W:1))", (1, POOLED))
    op = own.problem.operations[1]
    assert isinstance(op, Product)
    best, followed = own._plans.of(1, op, own.followed[0].known(state, op), own.borders.ahead)
    return {priced.plan.result.selected_bits(Axis.L2B) != 0 for priced in best[:followed]}, followed


def test_a_plan_whose_result_is_divided_otherwise_is_followed_unless_a_movement_is_cheaper(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(plans, "ALTERNATIVES", 2)
    kinds, followed = kinds_followed()
    assert kinds == {True, False} and followed > 2
    monkeypatch.setattr(ProductPrices, "moved", lambda *_: -1.0)
    kinds, followed = kinds_followed()
    assert len(kinds) == 1 and followed == 2
