"""assign-layouts: decide for every tensor where its elements live, and write the decision on the operations.

before:  %y = linalg.generic ins(%x, %w)
after:   %y = linalg.generic ins(%x, %w) {mncore.operands = [#mncore.layout<"((8_L2B:1, ...">, ...], ...}

The function becomes a problem without MLIR (`pose_placement.py`), which is solved in `mncore_backend/placement/`. An
operation that carries the attributes already keeps them, so a schedule can be written by hand.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from mnc.core.bindings import ir
from mnc.core.both import both, share_out
from mnc.core.diagnostics import node_name
from mnc.core.modules import functions_of
from mnc.core.pass_base import Pass, at_least
from mnc.core.recording import TRACES, current_recording, note, wants_trace
from mnc.core.static_shapes import check_static
from mnc.dialects.mncore.attributes import layout_attribute, shape_text
from mnc.lowering.linalg_to_spmd.homes import Homes
from mnc.lowering.linalg_to_spmd.layout_attributes import (
    MATRIX,
    OPERANDS,
    PARTIAL,
    PRECISION,
    PRICE,
    RESULT,
    note_preferences,
)
from mnc.lowering.linalg_to_spmd.pose_placement import Poser
from mnc.lowering.linalg_to_spmd.recorded import decide_plan, pinned_plans, record_plans
from mnc.lowering.linalg_to_spmd.streaming import PARTS
from mnc.mncore_backend.codegen.allocation import CapacityError
from mnc.mncore_backend.movement.ahead import Request, plan_ahead
from mnc.mncore_backend.placement.candidates import ContractionPlan, Preference, policy_of
from mnc.mncore_backend.placement.candidates.problem import half_memory
from mnc.mncore_backend.placement.cost.movements import Movements
from mnc.mncore_backend.placement.preferences import NEXT, TOGETHER, Effort
from mnc.mncore_backend.placement.problem import Problem, Product
from mnc.mncore_backend.placement.refine.joins import bring_parts
from mnc.mncore_backend.placement.refine.solve_together import MIXED, PURE, solutions
from mnc.mncore_backend.placement.solve.plans import Pinned
from mnc.mncore_backend.placement.solve.room import FOR_CONSTANTS, available, longs, most_held, room_for_constants
from mnc.mncore_backend.placement.solve.solve_in_order import solve_in_order
from mnc.mncore_backend.placement.solve.state import Placed, State
from mnc.mncore_backend.placement.trace.trace import Traces, in_order
from mnc.mncore_backend.placement.trace.trace_json import trace_json
from mnc.mncore_backend.program import LOCAL_MEMORY
from mnc.mncore_backend.target import Precision, chip

REMEMBERED = 4
"""Problems whose solutions are known until others come: a program is compiled with several solutions of each."""


class _Found(NamedTuple):
    """Solutions of a problem, what each costs with planned movements, and what was compared."""

    states: Sequence[State]
    prices: Sequence[float]
    traces: Traces | None


_known: list[tuple[Any, _Found]] = []


def _annotate(op: Any, placed: Placed) -> None:
    wanted = [ir.UnitAttr.get() if layout is None else layout_attribute(layout) for layout in placed.operands]
    op.attributes[OPERANDS] = ir.ArrayAttr.get(wanted)
    op.attributes[RESULT] = layout_attribute(placed.result)


def _annotate_product(op: Any, product: Product, placed: Placed) -> None:
    op.attributes[PRECISION] = ir.StringAttr.get(product.contraction.precision)
    op.attributes[MATRIX] = ir.StringAttr.get("left" if placed.swapped else "right")
    if placed.partial is not None:
        op.attributes[PARTIAL] = layout_attribute(placed.partial)
    if placed.parts is not None:
        op.attributes[PARTS] = ir.DenseI64ArrayAttr.get(list(placed.parts))


def _write(problem: Problem, state: State, operations: Sequence[Any]) -> None:
    """What was decided, as attributes."""
    for number, placed in state.placed.items():
        op, own = operations[number], problem.operations[number]
        if isinstance(own, Product):
            _annotate_product(op, own, placed)
        _annotate(op, placed)


@dataclass(frozen=True)
class AssignLayouts(Pass):
    """Decide where every tensor lives on the chip and annotate the linalg operations with it.

    Constant factors that take more than ``whole`` long words of a PE (0: half of a local memory) come in parts of
    half of it. Where constants stay on the chip between runs, they may take ``constants`` percent of the local
    memories; with 0 all of them arrive in every run. With ``quick`` ``effort`` a search ends with the best solution by
    rough prices of movements. ``prefer`` names what counts beyond prices, see
    `mncore_backend/placement/candidates/policy.py`; it is noted on the module.
    """

    name = "assign-layouts"
    precision: Precision = "pseudo-single"
    resident: Literal["nothing", "updates", "state", "batch"] = "nothing"
    whole: int = at_least(0, 0)
    constants: int = at_least(0, FOR_CONSTANTS)
    effort: Effort = "normal"
    prefer: tuple[Preference, ...] = ()

    def run(self, module: Any) -> None:
        """Annotate every function of the module; raises CapacityError where one operation alone has no room."""
        with module.context, ir.Location.unknown():
            for function in functions_of(module):
                check_static(function.operation)
                self._assign(function.operation)
        if self.prefer:
            note_preferences(module, self.prefer)

    def _assign(self, function: Any) -> None:
        homes = Homes({}) if self.resident == "nothing" else Homes.of_function(function)
        stay = room_for_constants(self.constants) if self.resident in ("state", "batch") else 0
        poser = Poser(self.precision, homes, for_constants=stay)
        problem = poser.pose(function, self.whole or half_memory())

        state, price = self._solved(problem, poser.operations)
        _check_room(problem, state, poser.operations)
        bring_parts(problem, state, _plan_ahead)
        _write(problem, state, poser.operations)
        if current_recording() is not None:
            for number, compared in state.compared.items():
                record_plans(poser.operations[number], compared)
        function.attributes[PRICE] = ir.FloatAttr.get_f64(price)

    def _solved(self, problem: Problem, operations: Sequence[Any]) -> tuple[State, float]:
        """Where everything lies, and its price: the lower, the shorter the program."""

        def decide(number: int, plans: Sequence[ContractionPlan]) -> int:
            return decide_plan(operations[number], plans)

        if TOGETHER not in self.prefer:
            compare = current_recording() is not None
            state = solve_in_order(problem, policy_of(self.prefer), decide, compare=compare)
            if wants_trace():
                note(TRACES, trace_json(problem, [state], in_order(problem, policy_of(self.prefer), state)))
            return state, state.price
        others: tuple[Preference, ...] = tuple(name for name in self.prefer if name not in (TOGETHER, *NEXT))
        found, prices, traces = _solutions(problem, others, pinned_plans(operations), self.effort)
        place = max((NEXT.index(name) + 1 for name in self.prefer if name in NEXT), default=0)
        place = min(place, len(found) - 1)
        state = found[place]
        if traces is not None:
            note(TRACES, trace_json(problem, found, traces, place))
        for number, compared in state.compared.items():
            decide(number, [plan for plan, _ in compared])
        return state, prices[place]


def _check_room(problem: Problem, state: State, operations: Sequence[Any]) -> None:
    number, held = most_held(problem, state)
    if longs(held) > available():
        operation = operations[number]
        name = node_name(operation.location)
        whose = f"{name!r}" if name else "a value"
        shown = [(f"{whose} of {shape_text(layout.shape)}", layout.local_size) for layout in held]
        raise CapacityError(LOCAL_MEMORY, longs(held), available(), shown, operation.location)


def _solutions(problem: Problem, names: Sequence[Preference], pinned: Pinned, effort: Effort) -> _Found:
    """The solutions of a problem, with these preferences for all operations or, without any, with those that a search
    chooses among; and what was compared, if somebody wants that."""
    traces = Traces() if wants_trace() else None
    key = chip(), problem, names, pinned, effort, traces is None
    for known, found in _known:
        if known == key:
            return found
    mixed = [policy_of(names)] if names else [policy_of(own) for own in MIXED]
    pure = [] if names else [policy_of(own) for own in PURE]
    states, movements = solutions(problem, mixed, pure, pinned, _plan_ahead, traces, both, effort)
    found = _Found(states, [_price(state, movements) for state in states], traces)
    _known[:] = [*_known[1 - REMEMBERED :], (key, found)]
    return found


def _price(state: State, movements: Movements) -> float:
    return state.price_at({movement: movements.resources(movement) for movement in state.movements})


def _plan_ahead(requests: Sequence[Request]) -> None:
    """Plan movements on two processors."""
    plan_ahead(requests, share_out)
