"""What a solution says: where each operation works and leaves its result, and what that takes, as plain data."""

from collections.abc import Mapping
from dataclasses import dataclass

from mnc.mncore_backend.placement.candidates.policy import policy_of
from mnc.mncore_backend.placement.cost.movements import Movements
from mnc.mncore_backend.placement.cost.weights import WEIGHTS, Kind
from mnc.mncore_backend.placement.problem import Problem
from mnc.mncore_backend.placement.refine.solve_together import MIXED
from mnc.mncore_backend.placement.solve.search import Search
from mnc.mncore_backend.placement.solve.state import State


@dataclass(frozen=True)
class Row:
    """One operation of a solution.

    Attributes:
        name: the node of the model.
        kind: the class of the problem's operation, in lower case.
        operands: layouts in which operands are wanted; empty for what comes as tiles with halos.
        result: layout of the result; empty if nobody has placed it: it is a view, or loaded in part.
        steps: what it takes, by kind of steps.
        price: these steps with their weights.
    """

    name: str
    kind: str
    operands: tuple[str, ...]
    result: str
    steps: Mapping[str, float]
    price: float


def rows(problem: Problem, state: State) -> list[Row]:
    """Every operation in the order of the program, and what is stored at the end."""
    bill = state.bill
    found: list[Row] = []
    for number, op in enumerate(problem.operations):
        placed = state.placed.get(number)
        operands = tuple("" if layout is None else str(layout) for layout in placed.operands) if placed else ()
        layout = placed.result if placed else state.layouts.get(op.result)
        result = "" if layout is None else str(layout)
        found.append(Row(op.name, type(op).__name__.lower(), operands, result, *_price(bill.get(number, {}))))
    rest = [own for number, own in bill.items() if not 0 <= number < len(problem.operations)]
    return [*found, *(Row("results", "store", (), "", *_price(own)) for own in rest)]


def _price(steps: Mapping[Kind, float]) -> tuple[dict[str, float], float]:
    return {str(kind): own for kind, own in steps.items()}, sum(WEIGHTS[kind] * own for kind, own in steps.items())


def price_without_movements(problem: Problem) -> tuple[float, bool]:
    """The price of the solution if no movement on the chip took time, and whether no solution is cheaper: that holds
    where the search had no state to give up. No solution of the problem itself can beat it then."""
    policies = [policy_of(names) for names in MIXED]
    search = Search(problem, policies, Movements(hope=0.0))
    return search.run().price, search.dropped == 0
