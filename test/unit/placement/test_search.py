"""The search over placements: against all combinations, and what its states keep."""

import pickle
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from math import inf

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mnc.mncore_backend.layout import parse, permute
from mnc.mncore_backend.placement.candidates import Contraction, Operand, Policy, Window, policy_of, source_layout
from mnc.mncore_backend.placement.cost.movements import Movement, Movements
from mnc.mncore_backend.placement.cost.weights import WEIGHTS
from mnc.mncore_backend.placement.problem import (
    Loops,
    Operation,
    Pinned,
    Problem,
    Product,
    Rearrangement,
    Reshape,
    Tensor,
    Transposition,
    Use,
)
from mnc.mncore_backend.placement.problem.reads import last_reads, readers
from mnc.mncore_backend.placement.refine import solve_together as solve_together_module
from mnc.mncore_backend.placement.refine.solve_together import COMPARED, LONG, SHORT, solutions
from mnc.mncore_backend.placement.solve import search
from mnc.mncore_backend.placement.solve.duration import duration
from mnc.mncore_backend.placement.solve.search import Search
from mnc.mncore_backend.placement.solve.solve_in_order import solve_in_order
from mnc.mncore_backend.placement.solve.state import State
from mnc.mncore_backend.pricing import Resources, arrival

PLAIN = policy_of(())
ROWS, MIDDLE, COLUMNS = (0, 2), (2, 1), (0, 1)  # of a product over m, n, k


def chain(rows: int, widths: list[int]) -> Problem:
    """x . w0, rectified, . w1, rectified ...: numbers of tensors are x, then weight, product and activation of each."""
    tensors, operations, read = [Tensor((rows, widths[0]))], [], 0
    for inner, outer in pairwise(widths):
        weight, made, active = (len(tensors) + i for i in range(3))
        number = len(operations)
        tensors += [Tensor((inner, outer)), Tensor((rows, outer), number), Tensor((rows, outer), number + 1)]
        contraction = Contraction((rows, outer, inner), Operand(ROWS), Operand(MIDDLE), COLUMNS)
        left, right = Use(read, ROWS, (rows, inner)), Use(weight, MIDDLE, (inner, outer))
        operations.append(Product(f"product{number}", made, left, right, contraction))
        use = Use(made, (0, 1), (rows, outer))
        operations.append(Loops(f"relu{number}", active, (use,), (0, 1), (rows, outer), (True, True)))
        read = active
    return Problem(tuple(tensors), tuple(operations), 1024, (read,))


def cheapest(problem: Problem, mixed: list[Policy], pure: list[Policy] | None = None) -> State:
    """The first of the solutions."""
    return solutions(problem, mixed, pure or [])[0][0]


sizes = st.sampled_from([1, 3, 8, 17, 64, 130])


@settings(deadline=None, max_examples=15)
@given(sizes, st.lists(sizes, min_size=2, max_size=3))
def test_nothing_is_cheaper_than_a_search_that_drops_nothing(rows: int, widths: list[int]) -> None:
    """A narrow beam finds no cheaper solution than one that keeps every state."""
    problem = chain(rows, widths)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(search, "WIDTH", 1 << 20)
        wide = Search(problem, [PLAIN], Movements())
        best = wide.run()
        assert wide.dropped == 0
        patch.setattr(search, "WIDTH", 1)
        assert Search(problem, [PLAIN], Movements()).run().price >= best.price - 1e-6


@settings(deadline=None, max_examples=15)
@given(sizes, st.lists(sizes, min_size=2, max_size=4))
def test_every_operation_gets_a_place(rows: int, widths: list[int]) -> None:
    problem = chain(rows, widths)
    for state in (cheapest(problem, [PLAIN, policy_of(("cyclic",))]), solve_in_order(problem, PLAIN)):
        assert set(state.placed) == set(range(len(problem.operations)))
        assert all(state.layouts[op.result] == state.placed[i].result for i, op in enumerate(problem.operations))


def test_the_cheaper_of_mixed_and_pure_policies_is_taken() -> None:
    problem, alike = chain(64, [64, 64]), policy_of(("alike",))
    mixed, pure = (cheapest(problem, [policy]) for policy in (alike, PLAIN))
    assert pure.price < mixed.price
    assert cheapest(problem, [alike], [PLAIN]).placed == pure.placed
    assert cheapest(problem, [PLAIN], [alike]).placed == pure.placed


def test_a_search_that_is_apart_sees_what_its_own_policy_pays_later() -> None:
    """A chain in which all L2Bs do the same: a search that also knows other policies finds what one finds that does
    not know any other, if only it is apart from them."""
    problem, alike = chain(8, [64, 64, 64, 64]), policy_of(("alike",))
    alone = Search(problem, [alike], Movements()).run(width=1)
    among = Search(problem, [PLAIN, alike], Movements())
    assert among.run([alike], 1, is_apart=True).price == alone.price
    assert among.borders.ahead.policy == alike
    among.run([alike], 1)
    assert among.borders.ahead.policy == PLAIN


@pytest.mark.parametrize("behind", [[], [0], [0, 1]])
def test_copies_for_windows_of_what_is_in_dram_have_to_arrive(behind: list[int]) -> None:
    """12 outputs of 5 taps: behind a slice and a reshape of what is in DRAM, as well as of what is in DRAM itself."""
    shape = (16,)
    tensors, operations = [Tensor(shape)], []
    for number in behind:
        last = len(tensors) - 1
        made = Rearrangement("pad", last + 1, (last,), (None,), 0) if number == 0 else Reshape("r", last + 1, last)
        operations.append(made)
        tensors.append(Tensor(shape, number))
    source, weight, result = (len(tensors) + i for i in (-1, 0, 1))
    tensors += [Tensor((5, 8)), Tensor((12, 8), len(operations))]
    contraction = Contraction((12, 8, 5), Operand(ROWS), Operand(MIDDLE), COLUMNS)
    copies = Use(source, ROWS, (12, 5), is_direct=False, source=source)
    operations.append(Product("conv", result, copies, Use(weight, MIDDLE, (5, 8)), contraction))
    state = Search(Problem(tuple(tensors), tuple(operations), 1024, (result,)), [PLAIN], Movements()).run()
    number = len(operations) - 1
    left, right = (arrival(own) for own in state.placed[number].operands if own is not None)
    assert state.bill[number]["fetched"] == pytest.approx(left.mv + right.mv)


@pytest.mark.parametrize("padded", [False, True])
def test_copies_of_what_lies_on_the_chip_are_paid_for(padded: bool) -> None:
    """12 outputs of 5 taps of a line, of which the work before has made the values, or of an input: then the line
    arrives once, or its copies do."""
    line, weight, result = 1, 2, 3
    tensors = [Tensor((16,)), Tensor((16,), 0), Tensor((5, 8)), Tensor((12, 8), 1)]
    first = Loops("relu", line, (Use(0, (0,), (16,)),), (0,), (16,), (True,))
    operations: list[Operation] = [Rearrangement("pad", line, (0,), (None,), 0) if padded else first]
    contraction = Contraction((12, 8, 5), Operand(ROWS), Operand(MIDDLE), COLUMNS)
    copies = Use(line, ROWS, (12, 5), is_direct=False, copied=(Window(0, kernel=2),))
    operations.append(Product("conv", result, copies, Use(weight, MIDDLE, (5, 8)), contraction))
    state = Search(Problem(tuple(tensors), tuple(operations), 1024, (result,)), [PLAIN], Movements()).run()
    left, right = (arrival(own) for own in state.placed[1].operands if own is not None)
    paid = state.bill[1]
    if padded:
        assert paid["fetched"] == pytest.approx(left.mv + right.mv)
    else:
        assert paid["fetched"] < left.mv + right.mv + 1
        assert paid["moves"] > 0


@pytest.mark.parametrize("order", [None, (1, 0, 2)])
def test_work_that_waits_is_done_where_tiles_of_its_result_are(order: tuple[int, ...] | None) -> None:
    """A convolution of 64 channels over a line of 128 pixels reads what is made of an input, perhaps transposed: the
    tiles do not come from DRAM."""
    shape = (1, 64, 128) if order is None else (64, 1, 128)
    tensors, operations = [Tensor(shape), Tensor(shape, 0)], []
    operations.append(Loops("relu", 1, (Use(0, (0, 1, 2), shape),), (0, 1, 2), shape, (True, True, True)))
    if order is not None:
        operations.append(Transposition("turned", 2, 1, order))
        tensors.append(Tensor((1, 64, 128), 1))
    source, weight, result = (len(tensors) + i for i in (-1, 0, 1))
    tensors += [Tensor((32, 64, 3)), Tensor((1, 32, 128), len(operations))]
    windows = (Window(0), Window(3), Window(2, 1, 4, 1, 1))
    read, taps = (0, 3, 2, 4), (1, 3, 4)
    contraction = Contraction(
        (1, 32, 128, 64, 3), Operand(read, None, windows, (1, 64, 128)), Operand(taps), (0, 1, 2)
    )  # fmt: skip
    tiles = Use(source, read, (1, 64, 128), is_direct=False, source=source, windows=windows)
    operations.append(Product("conv", result, tiles, Use(weight, taps, (32, 64, 3)), contraction))
    problem = Problem(tuple(tensors), tuple(operations), 1024, (result,))
    for state in (Search(problem, [PLAIN], Movements()).run(), solve_in_order(problem, PLAIN)):
        conv = state.placed[len(operations) - 1]
        assert conv.operands[1] is not None
        digits = [*(conv.partial or conv.result).dims, *conv.operands[1].dims[1:]]
        places = source_layout(windows, digits, (1, 64, 128))
        assert places is not None
        there = state.placed[0].result
        assert (there if order is None else permute(there, order)).places == places.places


def test_the_price_is_the_sum_of_the_bill() -> None:
    state = Search(chain(64, [64, 130, 17]), [PLAIN], Movements()).run()
    weighed = sum(WEIGHTS[kind] * steps for own in state.bill.values() for kind, steps in own.items())
    assert state.price == pytest.approx(weighed)


def test_a_movement_that_turns_out_dear_is_avoided() -> None:
    """Two tensors that lie differently are added: the search moves the one whose movement takes less."""
    shape, identity = (64, 64), (0, 1)
    layouts = parse("((8_L1B:1, 8:8), (8:1, 4_PE:1, 2_W:1))"), parse("((8:8, 8_L1B:1), (8:1, 4_PE:1, 2_W:1))")
    tensors = (*(Tensor(shape, number) for number in range(2)), Tensor(shape, 2))
    made = [Pinned(f"made{i}", i, (), layout) for i, layout in enumerate(layouts)]
    added = Loops("add", 2, (Use(0, identity, shape), Use(1, identity, shape)), identity, shape, (True, True))
    problem = Problem(tensors, (*made, added), 1024, (2,))
    there, back = Movement(layouts[0], layouts[1]), Movement(layouts[1], layouts[0])
    for cheap in (there, back):
        known = Movements()
        dear = Resources(alu=1e6)
        known.exact = {there: dear, back: dear, cheap: Resources(alu=1.0)}
        assert Search(problem, [PLAIN], known).run().movements == [cheap]


def test_a_plan_that_is_pinned_is_taken() -> None:
    problem = chain(64, [64, 64])
    free = Search(problem, [PLAIN], Movements()).run()
    other = free.compared[0][-1][0]
    assert (other.left, other.right) != free.placed[0].operands
    pinned = Search(problem, [PLAIN], Movements(), {0: lambda plan: plan.result == other.result}).run()
    assert pinned.compared[0][0][0].result == other.result


def test_what_was_placed_by_hand_stays() -> None:
    layout = parse("((16:1), (4_PE:1, 2_W:1))")
    problem = chain(16, [8, 8])
    operations = (problem.operations[0], Pinned("relu1", 3, ((2, layout),), layout))
    state = Search(replace(problem, operations=operations), [PLAIN], Movements()).run()
    assert state.layouts[3] == layout


def test_a_place_matters_until_it_is_read_last() -> None:
    tensors = (Tensor((8, 8)), Tensor((8, 8), 0), Tensor((8, 8), 1), Tensor((8, 8)))
    loops = Loops("a", 1, (Use(0, (0, 1), (8, 8)),), (0, 1), (8, 8), (True, True))
    operations = (loops, Transposition("t", 2, 1, (1, 0)))
    problem = Problem(tensors, operations, 1024, (2,))
    assert last_reads(problem) == [1, 1, 2, -1]  # what waits is done where its result is wanted
    assert readers(chain(8, [8, 8, 8])) == {0: [0], 1: [0], 2: [1], 3: [2], 4: [2], 5: [3]}


def test_a_relayout_asks_the_planner_for_one_movement_and_a_reshape_for_a_gather() -> None:
    source, target = parse("((8:1), (4_PE:1, 2_W:1))"), parse("((8_L1B:1), (4_PE:1, 2_W:1))")
    known = Movements(hope=0.5)
    movement = Movement(source, target)
    assert known.steps(movement) == 0.5 * movement.rough.total
    known.learn([movement])
    assert known.steps(movement) == movement.requests()[0].cost().total_steps
    assert Movement(source, parse("((64:1),)")).requests()[0].index_map is not None


@pytest.mark.parametrize("notable", [0.0, inf])
def test_solutions_come_in_the_order_of_how_long_they_take(notable: float) -> None:
    """What several searches found, with planned movements, whether searches went on with them or not; no two are the
    same."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(solve_together_module, "NOTABLE", notable)
        patch.setattr(solve_together_module, "SHORT", SHORT._replace(close=inf))
        rules = [PLAIN, policy_of(("cyclic",))]
        found, movements = solutions(chain(64, [64, 130, 17]), rules, [*rules, policy_of(("alike",))])
    assert len(found) > 1
    cheapest = min(found, key=lambda state: state.price)  # it is among those that are compared in any case
    assert any(state is cheapest for state in found[:COMPARED])
    lasts = [duration(state, movements.exact) for state in found if state is not cheapest]
    assert lasts == sorted(lasts)
    places = [repr(sorted(state.placed.items())) for state in found]
    assert len(set(places)) == len(places)


def test_long_programs_are_searched_for_once() -> None:
    """Two solutions are compared with planned movements, and nothing is searched for by these."""
    rules = [PLAIN, policy_of(("cyclic",)), policy_of(("alike",))]
    problem = chain(64, [64, 130, 17] * 2)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(solve_together_module, "is_short", lambda *_: False)
        patch.setattr(solve_together_module, "with_planned", lambda *_: pytest.fail("searched again"))
        found, movements = solutions(problem, rules[:2], rules)
    assert 1 <= len(found) <= LONG.planned
    assert all(movement in movements.exact for state in found for movement in state.movements)


def test_the_shortest_solution_need_not_be_the_cheapest() -> None:
    """Searches find what is cheapest if steps add up; what overlaps takes less time."""
    problem, rules = chain(64, [64, 130, 17]), [PLAIN, policy_of(("cyclic",))]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(solve_together_module, "makespan", lambda _, state, *__: -state.price)
        patch.setattr(solve_together_module, "SHORT", SHORT._replace(close=0.0))
        dearest = solutions(problem, rules, [*rules, policy_of(("alike",))])[0][0]
    assert dearest.price > solutions(problem, rules, [*rules, policy_of(("alike",))])[0][0].price


def test_searches_in_another_process_find_the_same() -> None:
    """What they find is written and read, as what comes from another process is."""
    problem, rules = chain(64, [64, 130, 17] * 3), [PLAIN, policy_of(("cyclic",))]
    assert len(problem.operations) < solve_together_module.WORTHWHILE
    asked = []

    def apart(first: Callable[[], list[State]], second: Callable[[], list[State]]) -> tuple[list[State], list[State]]:
        asked.append(True)
        return first(), pickle.loads(pickle.dumps(second()))

    here = solutions(problem, rules, both=apart)[0]
    assert not asked  # of a few operations nobody gains time
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(solve_together_module, "WORTHWHILE", 0)
        there = solutions(problem, rules, both=apart)[0]
    assert asked
    assert [(own.placed, own.price, own.bill) for own in there] == [(own.placed, own.price, own.bill) for own in here]


def test_a_long_bill_can_be_written() -> None:
    state = State()
    for number in range(5000):
        state.current = number
        state.pay("moves", number)
    again = pickle.loads(pickle.dumps(state))
    assert again.bill == state.bill and again.price == state.price
