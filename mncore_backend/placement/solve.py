"""Solvers: from a problem to a state in which every operation has a place."""

from mnc.mncore_backend.distribution.policy import Policy
from mnc.mncore_backend.placement.problem import Loops, Problem, Product, Rearrangement, Reshape, Transposition
from mnc.mncore_backend.placement.products import Decide, Products
from mnc.mncore_backend.placement.rules import Rules
from mnc.mncore_backend.placement.state import State


def solve_in_order(
    problem: Problem, policy: Policy, decide: Decide = lambda _, __: 0, *, compare: bool = False
) -> State:
    """One operation after the other gets the place that is cheapest by then. `compare`: the plans that were compared
    are kept, which takes longer."""
    rules = Rules(problem, policy)
    products, state = Products(rules, decide, compare), State()
    for number, op in enumerate(problem.operations):
        visit(rules, products, state, number, op)
    rules.finish(state)
    return state


def visit(rules: Rules, products: Products, state: State, number: int, op: object) -> None:
    """Give one operation its place, or leave it until it is wanted."""
    match op:
        case Product():
            products.place(state, number, op)
        case Loops() if any(use.windows is not None for use in op.uses):
            rules.windows(state, number, op)
        case Loops() if op.can_wait and not any(use.is_direct and use.tensor in state.layouts for use in op.uses):
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
