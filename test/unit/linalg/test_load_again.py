"""Which movements of a tensor from DRAM take much longer than to load it again."""

from mnc.lowering.linalg_to_spmd.placed import takes_much_longer
from mnc.mncore_backend.layout import parse
from mnc.mncore_backend.placement.cost.movements import Movement
from mnc.mncore_backend.pricing import arrival

ROWS_OF_MABS = "((8_L2B:1, 8_L1B:1, 16_MAB:1), (16:1, 4_PE:1, 2_W:1))"
ROWS_WITHIN_L1BS = "((16_MAB:1, 63:1), (8_L2B:1, 2_L1B:4, 4_PE:1, 2_W:1))"


def test_plans_decide_where_rough_prices_do_not() -> None:
    shape = (1000, 128)
    movement = Movement(parse(ROWS_OF_MABS, shape), parse(ROWS_WITHIN_L1BS, shape))
    load = arrival(movement.target).total
    assert movement.rough.total < 5 * load < sum(request.cost().steps for request in movement.requests())
    assert takes_much_longer(movement)


def test_short_movements_are_made() -> None:
    shape = (64, 8)
    source, target = "((16_MAB:1, 4:1), (4_PE:1, 2_W:1))", "((64:1), (4_PE:1, 2_W:1))"
    assert not takes_much_longer(Movement(parse(source, shape), parse(target, shape)))
