"""Looking ahead: what windows and products pay later for where a tensor is."""

from dataclasses import replace

import pytest

from mnc.mncore_backend.layout import Axis, parse
from mnc.mncore_backend.placement.candidates import Box, Contraction, Operand, Window, policy_of
from mnc.mncore_backend.placement.candidates.candidates import general_plans
from mnc.mncore_backend.placement.cost.ahead import Ahead
from mnc.mncore_backend.placement.cost.movements import Movements
from mnc.mncore_backend.placement.cost.product_prices import ProductPrices
from mnc.mncore_backend.placement.problem import Loops, Problem, Product, Rearrangement, Tensor, Use
from mnc.mncore_backend.placement.solve import search
from mnc.mncore_backend.placement.solve.search import Search

PLAIN = policy_of(())
CHANNELS, SIZE, INNER = 64, 32, 16
IMAGE = CHANNELS, SIZE, SIZE
MADE, ACTIVE, FILTERED, LAST = 2, 3, 5, 7
APART = parse("((8_L2B:1, 4_PE:1, 2_W:1), (32:32), (32:1))", IMAGE)
"""Channels in different L2Bs, whole images in the PEs: no halos."""
ROWS = parse("((8:32, 4_PE:1, 2_W:1), (8_L2B:1, 4_L1B:1), (32:1))", IMAGE)


def network(channels: int = CHANNELS) -> Problem:
    """A product over channels, an activation, windows of 3 by 3 on each channel, and a second product over channels."""
    image = channels, SIZE, SIZE
    tensors = (
        Tensor((INNER, SIZE, SIZE)), Tensor((channels, INNER)), Tensor(image, 0), Tensor(image, 1),
        Tensor((channels, 3, 3)), Tensor(image, 2), Tensor((INNER, channels)), Tensor((INNER, SIZE, SIZE), 3),
    )  # fmt: skip
    left, right, result = (3, 1, 2), (0, 3), (0, 1, 2)

    def product(name: str, made: int, read: int, weights: int, sizes: tuple[int, int]) -> Product:
        outer, inner = sizes
        contraction = Contraction((outer, SIZE, SIZE, inner), Operand(left), Operand(right), result)
        return Product(
            name, made, Use(read, left, (inner, SIZE, SIZE)), Use(weights, right, (outer, inner)), contraction
        )

    extents, parallel = (*image, 3, 3), (True, True, True, False, False)
    windows = Window(0), Window(1, kernel=3, low=1), Window(2, kernel=4, low=1)
    reads = (
        Use(ACTIVE, (0, 1, 2, 3, 4), extents, is_direct=False, windows=windows, source=ACTIVE),
        Use(4, (0, 3, 4), (channels, 3, 3)),
    )
    operations = (
        product("first", MADE, 0, 1, (channels, INNER)),
        Loops("relu", ACTIVE, (Use(MADE, result, image),), result, image, (True, True, True)),
        Loops("depthwise", FILTERED, reads, result, extents, parallel, work=2),
        product("second", LAST, FILTERED, 6, (INNER, channels)),
    )
    return Problem(tensors, operations, 1024, (LAST,))


def looking() -> Ahead:
    return Ahead(network(), PLAIN, ProductPrices(Movements()))


def test_halos_are_seen_behind_element_wise_work() -> None:
    ahead = looking()
    assert ahead.windows(MADE, ROWS, 0) == ahead.windows(ACTIVE, ROWS, 1)
    assert ahead.windows(ACTIVE, ROWS, 1) > ahead.windows(ACTIVE, APART, 1)
    assert ahead.windows(ACTIVE, ROWS, 2) == 0  # the windows have been read by then


def test_products_count_behind_windows_and_at_once() -> None:
    ahead = looking()
    assert ahead.windows(FILTERED, ROWS, 2) == 0
    assert ahead.price(FILTERED, ROWS, 2) == ahead.windows(FILTERED, ROWS, 2, passed=True)
    alone = ahead.windows(ACTIVE, APART, 1)
    assert alone >= ahead.price(FILTERED, APART, 2) > 0  # channels have to come together


def test_a_search_that_looks_ahead_finds_what_a_narrow_one_misses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "WIDTH", 2)
    monkeypatch.setattr(search, "ALTERNATIVES", 2)
    looked = Search(network(96), [PLAIN], Movements()).run().price
    monkeypatch.setattr(Ahead, "windows", lambda *_, **__: 0.0)
    assert looked < Search(network(96), [PLAIN], Movements()).run().price


def test_a_product_that_reads_a_copy_pays_nothing_for_the_place_of_the_tensor() -> None:
    """The copy, here with one more dimension, is made before the product, and has a place of its own."""
    copied = Use(0, (0, 1, 3), (SIZE, SIZE, INNER), is_direct=False)
    contraction = Contraction((SIZE, SIZE, SIZE, INNER), Operand((0, 1, 3)), Operand((3, 2)), (0, 1, 2))
    op = Product("copied", 2, copied, Use(1, (3, 2), (INNER, SIZE)), contraction)
    tensors = Tensor((SIZE, SIZE)), Tensor((INNER, SIZE)), Tensor((SIZE, SIZE, SIZE), 0)
    layout = parse("((8_L2B:1, 4_L1B:1), (4_PE:1, 2_W:1, 4:1))", (SIZE, SIZE))
    ahead = Ahead(Problem(tensors, (op,), 1024, (2,)), PLAIN, ProductPrices(Movements()))
    assert ahead.price(0, layout, -1) == ahead.windows(0, layout, -1, passed=True) == 0


STEPS, WIDE = 16, 64


def sequence() -> Problem:
    """A product for all steps of a sequence, and slices of the first three of them."""
    contraction = Contraction(
        (STEPS, 4, WIDE, WIDE), Operand((0, 1, 3)), Operand((3, 2)), (0, 1, 2), sliced=frozenset({0})
    )
    left, right = Use(0, (0, 1, 3), (STEPS, 4, WIDE)), Use(1, (3, 2), (WIDE, WIDE))
    made = [
        Rearrangement(f"step{i}", 3 + i, (2,), (Box((i, 0, 0), (1, 1, 1)),)) for i in range(3)
    ]
    inputs = Tensor((STEPS, 4, WIDE)), Tensor((WIDE, WIDE)), Tensor((STEPS, 4, WIDE), 0)
    tensors = (*inputs, *(Tensor((1, 4, WIDE), 1 + i) for i in range(3)))
    return Problem(tensors, (Product("all", 2, left, right, contraction), *made), 1024, (3, 4, 5))


def test_slices_pay_for_steps_that_lie_in_different_places() -> None:
    ahead, shape = Ahead(sequence(), PLAIN, ProductPrices(Movements())), (STEPS, 4, WIDE)
    inside = parse("((16:4), (4:1), (8_L1B:1, 4_PE:1, 2_W:1))", shape)
    apart = parse("((8_L2B:1, 2:4), (4:1), (8_L1B:1, 4_PE:1, 2_W:1))", shape)
    assert ahead.has_windows(2)
    assert ahead.windows(2, inside, 0) < ahead.windows(2, apart, 0)
    assert ahead.windows(2, apart, 0) == pytest.approx(3 * ahead.windows(2, apart, 2))  # the last step alone


def test_a_product_may_keep_the_steps_of_a_sequence_inside_the_pes() -> None:
    (product, *_) = sequence().operations
    assert isinstance(product, Product)
    plans = [plan for plan, _ in general_plans(product.contraction)]
    inside = [plan for plan in plans if all(digit.axis is Axis.ADDRESS for digit in plan.digits[0])]
    assert any(plan.result.selected_bits(Axis.L2B) and plan.result.selected_bits(Axis.L1B) for plan in inside)
    rows = replace(product.contraction, sliced=frozenset())  # rows and columns of an image are no steps
    assert len(general_plans(rows)) < len(plans)


def beside(first: Problem, second: Problem) -> Problem:
    """Both problems as one."""
    tensors, operations = len(first.tensors), len(first.operations)

    def use(own: Use) -> Use:
        return replace(own, tensor=own.tensor + tensors, source=None if own.source is None else own.source + tensors)

    def moved(op: Product | Loops) -> Product | Loops:
        if isinstance(op, Product):
            return replace(op, result=op.result + tensors, left=use(op.left), right=use(op.right))
        return replace(op, result=op.result + tensors, uses=tuple(map(use, op.uses)))

    made = [replace(t, made_by=None if t.made_by is None else t.made_by + operations) for t in second.tensors]
    others = [moved(op) for op in second.operations if isinstance(op, Product | Loops)]
    return Problem((*first.tensors, *made), (*first.operations, *others), first.whole)


def test_tensors_of_one_kind_pay_the_same() -> None:
    own = network()
    twice, count = beside(own, own), len(own.tensors)
    ahead = Ahead(twice, PLAIN, ProductPrices(Movements()))
    for tensor in (MADE, ACTIVE, FILTERED):
        assert ahead.kind(tensor) == ahead.kind(tensor + count)
    for layout in (ROWS, APART):
        assert ahead.windows(MADE, layout, 0) == ahead.windows(MADE + count, layout, len(own.operations))
    assert ahead.kind(MADE) != ahead.kind(FILTERED) != ahead.kind(LAST)


def test_tensors_that_other_work_reads_are_of_another_kind() -> None:
    own = network()
    products, relu, depthwise = (own.operations[i] for i in (0, 1, 2))
    assert isinstance(depthwise, Loops) and isinstance(relu, Loops) and isinstance(products, Product)
    larger = Window(0), Window(1, kernel=3, low=1), Window(2, kernel=5, low=1)
    first, *rest = depthwise.uses
    others = replace(depthwise, uses=(replace(first, windows=larger), *rest))
    changed = replace(own, operations=(products, relu, others, own.operations[3]))
    summed = replace(own, operations=(products, replace(relu, parallel=(True, True, False)), *own.operations[2:]))
    for other in (changed, summed):
        ahead = Ahead(beside(own, other), PLAIN, ProductPrices(Movements()))
        assert ahead.kind(MADE) != ahead.kind(MADE + len(own.tensors))
    assert ahead.windows(MADE + len(own.tensors), ROWS, len(own.operations)) == 0  # nobody stays there behind the sum


def test_slices_of_one_shape_are_of_one_kind_however_many_there_are() -> None:
    ahead = Ahead(sequence(), PLAIN, ProductPrices(Movements()))
    assert ahead.kind(3) == ahead.kind(4) != ahead.kind(2)
