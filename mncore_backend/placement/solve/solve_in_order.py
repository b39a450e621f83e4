"""One operation after the other gets the place that is cheapest by then."""

from mnc.mncore_backend.placement.candidates.policy import Policy
from mnc.mncore_backend.placement.problem import (
    Loops,
    Operation,
    Problem,
    Product,
    Rearrangement,
    Reshape,
    Transposition,
)
from mnc.mncore_backend.placement.solve.products import Decide, Products
from mnc.mncore_backend.placement.solve.rules import Rules
from mnc.mncore_backend.placement.solve.state import State


def solve_in_order(
    problem: Problem, policy: Policy, decide: Decide = lambda _, __: 0, *, compare: bool = False
) -> State:
    """A state in which every operation has a place. `compare`: the plans that were compared are kept, which takes
    longer."""
    products, state = Products(Rules(problem, policy), decide, compare), State(dict(problem.placed))
    for number, op in enumerate(problem.operations):
        visit(products, state, number, op)
    products.rules.finish(state)
    return state


def visit(products: Products, state: State, number: int, op: Operation) -> None:
    """Give one operation its place, or leave it until it is wanted."""
    rules = products.rules
    match op:
        case Product():
            products.place(state, number, op)
        case Loops() if any(use.windows is not None for use in op.uses):
            rules.take_windows(state, number, op, rules.tilings(state, op)[0])
        case Loops() if op.can_wait and not any(rules.known(state, op)):
            state.waiting[op.result] = number  # free like its operands: done where it is first wanted
        case Loops():
            rules.loops(state, number, op)
        case Transposition():
            rules.transposition(state, op)
        case Reshape():
            rules.reshape(state, number, op)
        case Rearrangement():
            rules.rearrangement(state, number, op)
        case _:
            rules.pinned(state, op)
