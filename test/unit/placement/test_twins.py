"""Operations of equal layers do what those of the layer before did, where they can."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from mnc.mncore_backend.placement.candidates import Contraction, Operand
from mnc.mncore_backend.placement.candidates.policy import policy_of
from mnc.mncore_backend.placement.cost.movements import Movements
from mnc.mncore_backend.placement.problem import Loops, Operation, Problem, Product, Tensor, Use
from mnc.mncore_backend.placement.problem.twins import FREE, LEAST, twins
from mnc.mncore_backend.placement.refine.solve_together import MIXED
from mnc.mncore_backend.placement.solve.search import Search
from mnc.mncore_backend.placement.solve.state import State
from mnc.mncore_backend.placement.solve.trail import Trail

ROWS, MIDDLE, COLUMNS = (0, 2), (2, 1), (0, 1)
BATCH, WIDTH = 3, 16
PERIOD = 2


def recurrence(steps: int, inputs: int = 5) -> Problem:
    """h = relu(h @ w), so many times, behind a product with another number of inputs."""
    tensors = [Tensor((BATCH, inputs)), Tensor((inputs, WIDTH)), Tensor((WIDTH, WIDTH))]
    operations: list[Operation] = []

    def made(op: Operation) -> int:
        operations.append(replace(op, result=len(tensors)))
        tensors.append(Tensor((BATCH, WIDTH), len(operations) - 1))
        return len(tensors) - 1

    def product(left: int, right: int) -> int:
        inner = tensors[right].shape[0]
        contraction = Contraction((BATCH, WIDTH, inner), Operand(ROWS), Operand(MIDDLE), COLUMNS)
        return made(Product("p", 0, Use(left, ROWS, (BATCH, inner)), Use(right, MIDDLE, (inner, WIDTH)), contraction))

    h = product(0, 1)
    for _ in range(steps):
        h = product(h, 2)
        h = made(Loops("r", 0, (Use(h, COLUMNS, (BATCH, WIDTH)),), COLUMNS, (BATCH, WIDTH), (True, True)))
    return Problem(tuple(tensors), tuple(operations), whole=1000, returned=(h,))


def test_all_layers_but_the_first_and_the_last_have_twins() -> None:
    steps = LEAST + 1
    first, last = 1 + FREE * PERIOD, 1 + (steps - 1) * PERIOD
    assert twins(recurrence(steps)) == {number: number - PERIOD for number in range(first, last)}


@pytest.mark.parametrize("steps", [1, LEAST - 1])
def test_few_layers_have_none(steps: int) -> None:
    assert twins(recurrence(steps)) == {}


def test_a_chain_of_other_products_has_none() -> None:
    short, long = recurrence(LEAST - 2), recurrence(LEAST - 2, inputs=7)
    count, before = len(short.operations), len(short.tensors)

    def behind(tensor: int) -> int:
        return tensor + before

    moved = [
        replace(op, result=behind(op.result), left=replace(op.left, tensor=behind(op.left.tensor)),
                right=replace(op.right, tensor=behind(op.right.tensor)))
        if isinstance(op, Product) else
        replace(op, result=behind(op.result), uses=tuple(replace(u, tensor=behind(u.tensor)) for u in op.uses))
        for op in long.operations if isinstance(op, Product | Loops)
    ]  # fmt: skip
    tensors = [replace(t, made_by=None if t.made_by is None else t.made_by + count) for t in long.tensors]
    both = Problem((*short.tensors, *tensors), (*short.operations, *moved), 1000, (*short.returned,))
    assert twins(both) == {}  # two rows of so many layers are no longer one


class Met:
    """Counts the states that each operation led to."""

    def searched(self, search: Search, trail: Trail, beam: Sequence[State], best: State) -> None:
        self.counts = [len(step.prices) for step in trail.steps[:-1]]
        self.best = best


def searched(problem: Problem, *, follow: bool) -> Met:
    met = Met()
    search = Search(problem, [policy_of(own) for own in MIXED], Movements(), tracer=met)
    search._twins = twins(problem) if follow else {}
    search.run()
    return met


def test_layers_are_placed_as_the_one_before() -> None:
    problem = recurrence(LEAST + 4)
    following, free = (searched(problem, follow=follow) for follow in (True, False))
    for number, twin in twins(problem).items():
        assert following.best.placed[number] == following.best.placed[twin]
    assert following.best.price <= free.best.price * (1 + 1e-9)
    assert sum(following.counts) < 0.75 * sum(free.counts)
