"""assign-layouts: decide for every tensor where its elements live, and write the decision on the operations.

before:  %y = linalg.generic ins(%x, %w)
after:   %y = linalg.generic ins(%x, %w) {mncore.operands = ["((8_L2B:1, ...", "(..."], mncore.result = "(...)"}

Decisions follow the data: element-wise work stays where its operands are, contractions take the cheapest of all splits
of rows, columns and the contracted dimension over L2B, L1B and MAB, model inputs and weights arrive where they are
first used. An operation that carries the attributes already keeps them, so a schedule can be written by hand.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal

from mnc.core.bindings import ir
from mnc.core.context import error_at
from mnc.core.pass_base import Pass
from mnc.lowering.linalg_to_spmd.computed_reads import CHOSEN
from mnc.lowering.linalg_to_spmd.drop_empty import touches_empty
from mnc.lowering.linalg_to_spmd.factors import contracted_elsewhere, factor_of, iteration_access, operand_shape
from mnc.lowering.linalg_to_spmd.homes import Homes
from mnc.lowering.linalg_to_spmd.others import price_of_others
from mnc.lowering.linalg_to_spmd.prices import body_steps, movement_steps
from mnc.lowering.linalg_to_spmd.reading import (
    Generic,
    Input,
    is_transposition,
    read_generic,
    shape_of,
    splat_value,
    transposition_order,
)
from mnc.lowering.linalg_to_spmd.rearranging import (
    REARRANGEMENTS,
    RESHAPES,
    before_reshapes,
    is_part_of_dram,
    is_stored_in_parts,
    pieces_of,
)
from mnc.lowering.linalg_to_spmd.recorded import decide_plan, watch_plans
from mnc.lowering.linalg_to_spmd.streaming import PARTS
from mnc.lowering.linalg_to_spmd.strides import StridesAfter, contractions_that_read, strides_of_result
from mnc.lowering.linalg_to_spmd.tiles import WindowedOperand, is_read_through, tiled_operands
from mnc.mncore_backend.distribution import (
    Contraction,
    Digits,
    Operand,
    Policy,
    Preference,
    Window,
    choose_iteration,
    choose_tiles,
    default_digits,
    plan_contraction,
    policy_of,
    project,
    roomy_iteration,
)
from mnc.mncore_backend.distribution.contraction import least_cost
from mnc.mncore_backend.distribution.costs import outlook, relayout_steps
from mnc.mncore_backend.distribution.problem import WHOLE
from mnc.mncore_backend.distribution.reshapes import reshaped
from mnc.mncore_backend.distribution.space import reduce_inside, resized, scattered
from mnc.mncore_backend.layout import Axis, Layout, LayoutError, parse, permute, reshape
from mnc.mncore_backend.machine import MEMORIES
from mnc.mncore_backend.program import LOCAL_MEMORY

OPERANDS, RESULT, PRECISION = "mncore.operands", "mncore.result", "mncore.precision"
PARTIAL = "mncore.partial"
"""Layout of the partial sums of a contraction, where it differs from the layout of the result."""
PRICE = "mncore.price"
"""Steps of a function in these layouts, by the prices the decisions went by: what compares one policy with another."""
MOVED_ONLY = ("arith.constant", "tensor.empty", "linalg.fill")
HARDWARE_COMBINERS = ("sum", "max", "min")
ROOM = MEMORIES[LOCAL_MEMORY[0]].longs // 8
"""Long words per PE of one operand up to which no other placement is looked for."""


def combines_across_pes(generic: Generic) -> bool:
    """Whether partial results of a reduction can be combined by the reduction network: floats, sum, max, min."""
    element = str(ir.RankedTensorType(generic.op.operation.results[0].type).element_type)
    return generic.combiner in HARDWARE_COMBINERS and element == "f32"


class _Assignment:
    """Layouts decided so far. Values without one are still in DRAM and can arrive in any layout."""

    def __init__(self, precision: str, homes: Homes, whole: int, policy: Policy) -> None:
        self.precision = precision
        self.policy, self.axes, self.cyclic = policy, policy.axes, policy.cyclic
        self.whole, self.homes = whole, homes
        self.strides = StridesAfter()
        self.layouts: dict[Any, Layout] = {}
        self.waiting: dict[Any, Any] = {}  # result -> element-wise operation on free operands
        self.price = 0.0  # steps of what is decided so far, roughly

    def visit(self, op: Any) -> None:
        name = op.operation.name
        if name in ("linalg.generic", *RESHAPES, *REARRANGEMENTS) and touches_empty(op.operation):
            raise error_at(op, "works on a tensor without elements", hint="run drop-empty first")
        if name == "linalg.generic":
            self.generic(op)
        elif name in RESHAPES:
            self.reshape(op.operation)
        elif name in REARRANGEMENTS:
            self.rearrangement(op.operation)
        elif name not in (*MOVED_ONLY, "func.return") and any(
            isinstance(v.type, ir.RankedTensorType) for v in op.operation.results
        ):
            raise error_at(op, "has no lowering to the machine", hint="lower it to linalg.generic or tensor operations")

    def settle(self, value: Any, layout: Layout) -> None:
        """A value that is still free arrives in this layout; others stay where they are."""
        owner = value.owner
        if value in self.layouts:
            return
        self.layouts[value] = layout
        if isinstance(owner, ir.Block):
            return
        if owner.name == "linalg.generic":
            generic = read_generic(owner.opview)
            if is_transposition(generic):
                order = transposition_order(generic)
                self.settle(generic.inputs[0].value, permute(layout, [order.index(i) for i in range(len(order))]))
            elif value in self.waiting:
                self.settle_work(self.waiting.pop(value), generic, layout)
        elif owner.name in RESHAPES:
            self.settle(owner.operands[0], reshaped(layout, shape_of(owner.operands[0])))

    def annotate(self, op: Any, operands: list[Layout | None], result: Layout) -> None:
        texts = [ir.StringAttr.get("" if layout is None else str(layout)) for layout in operands]
        op.operation.attributes[OPERANDS] = ir.ArrayAttr.get(texts)
        op.operation.attributes[RESULT] = ir.StringAttr.get(str(result))
        self.layouts[op.operation.results[0]] = result

    def generic(self, op: Any) -> None:
        generic = read_generic(op)
        if splat_value(op.operation.results[0]) is not None:
            return
        if RESULT in op.operation.attributes:
            self.keep(op, generic)
        elif is_transposition(generic):
            self.view(generic)
        elif generic.kind == "contraction":
            self.contraction(op, generic)
        else:
            self.loops(op, generic)

    def keep(self, op: Any, generic: Generic) -> None:
        """Layouts that somebody wrote by hand."""
        texts = [ir.StringAttr(item).value for item in ir.ArrayAttr(op.operation.attributes[OPERANDS])]
        for operand, text in zip(generic.inputs, texts, strict=True):
            if text and operand.access is not None:
                self.settle(operand.value, parse(text, shape_of(operand.value)))
        result = op.operation.results[0]
        self.layouts[result] = parse(ir.StringAttr(op.operation.attributes[RESULT]).value, shape_of(result))

    def view(self, generic: Generic) -> None:
        """A transposition costs nothing: the same places under permuted dimensions."""
        layout = self.layouts.get(generic.inputs[0].value)
        if layout is not None:
            self.layouts[generic.op.operation.results[0]] = permute(layout, transposition_order(generic))

    def known(self, operand: Input) -> Layout | None:
        return self.layouts.get(operand.value) if operand.access is not None else None

    def factor(self, operand: Input, tiled: WindowedOperand | None) -> Operand:
        if tiled is None:
            return factor_of(operand, None, self.known(operand), kept=self.homes.is_kept(operand.value))
        return factor_of(operand, tiled, self.layouts.get(tiled.source))

    def contraction(self, op: Any, generic: Generic) -> None:
        tiled = tiled_operands(generic)
        problem = self.problem(op.operation, generic, tiled)
        others = price_of_others(generic, self.homes, self.layouts, self.problem)
        afterwards = self.afterwards(op.operation.results[0])
        plan = plan_contraction(problem, movement_steps, afterwards, others, watch_plans(op), decide_plan(op))
        self.price += plan.cost - (outlook(plan.result) if problem.home is None else 0.0)
        for number, (operand, layout) in enumerate(zip(generic.inputs, (plan.left, plan.right), strict=True)):
            if operand.access is not None:
                self.settle(operand.value, layout)
            if (problem.left, problem.right)[number].in_parts and layout.local_size > self.whole:
                op.operation.attributes[PARTS] = ir.DenseI64ArrayAttr.get([number, max(1, self.whole // 2)])
        op.operation.attributes[PRECISION] = ir.StringAttr.get(problem.precision)
        op.operation.attributes["mncore.matrix"] = ir.StringAttr.get("left" if plan.swapped else "right")
        result = plan.result
        if plan.partial:
            op.operation.attributes[PARTIAL] = ir.StringAttr.get(str(result))
            result = self.kept_share(op, result)
        self.annotate(op, [None if tiled else plan.left, plan.right], result)

    def afterwards(self, value: Any) -> Callable[[Layout], float] | None:
        """What contractions that read a result, itself or after element-wise work, pay for its layout; None if there
        are none."""
        readers = [
            (problem, side) for op, read in contractions_that_read(value) for problem, side in [self.read_by(op, read)]
        ]
        if not readers:
            return None

        def price(layout: Layout) -> float:
            total = 0.0
            for problem, side in readers:
                placed = replace(problem, **{side: replace(getattr(problem, side), layout=layout)})
                total += least_cost(placed)
            return total

        return price

    def read_by(self, op: Any, read: Any) -> tuple[Contraction, str]:
        """A contraction that comes later, and which of its factors is `read`."""
        generic = read_generic(op.opview)
        tiled = tiled_operands(generic)
        sources = [tiled[i].source if i in tiled else operand.value for i, operand in enumerate(generic.inputs)]
        return self.problem(op, generic, tiled), "left" if sources[0] == read else "right"

    def problem(self, op: Any, generic: Generic, tiled: dict[int, WindowedOperand]) -> Contraction:
        """What is known of a contraction by now."""
        left, right = (self.factor(operand, tiled.get(i)) for i, operand in enumerate(generic.inputs))
        given = op.attributes.get(PRECISION)
        return Contraction(
            generic.extents,
            left,
            right,
            generic.result,
            precision=self.precision if given is None else ir.StringAttr(given).value,
            blocks=contracted_elsewhere(generic),
            home=self.layouts.get(self.homes.updated_by(op.results[0])),
            strides=strides_of_result(generic, self.strides.of(op.results[0])),
            policy=self.policy,
        )

    def kept_share(self, op: Any, result: Layout) -> Layout:
        """All PEs that held parts get a sum, and each needs to keep its share only, unless it updates what all hold."""
        share, home = scattered(result), self.layouts.get(self.homes.updated_by(op.operation.results[0]))
        if home is not None and movement_steps(result, home) < movement_steps(share, home):
            return result
        return share

    def windows(self, op: Any, generic: Generic, tiled: dict[int, WindowedOperand]) -> None:
        """Element-wise work and reductions over windows: they stay where their first operand is."""
        held = [(operand.windows, self.layouts.get(operand.source)) for operand in tiled.values()]
        direct = [(i, self.known(i)) for i in generic.inputs if i.access is not None]
        held += [(tuple(Window(d) for d in i.access or ()), layout) for i, layout in direct]
        digits = choose_tiles(generic.extents, generic.parallel, held, self.axes)
        layouts: list[Layout | None] = []
        for i, operand in enumerate(generic.inputs):
            layouts.append(None)
            if i not in tiled:
                layout = project(operand_shape(operand, generic.extents), digits, iteration_access(operand))
                layouts[i] = layout
                if operand.access is not None:
                    self.settle(operand.value, layout)
        self.annotate(op, layouts, project(shape_of(op.operation.results[0]), digits, generic.result))

    def loops(self, op: Any, generic: Generic) -> None:
        """Element-wise work and reductions: one iteration space for all operands."""
        if tiled := tiled_operands(generic):
            self.windows(op, generic, tiled)
        elif can_wait(generic) and not any(self.known(operand) for operand in generic.inputs):
            self.waiting[op.operation.results[0]] = op  # free like its operands: done where it is first wanted
        else:
            self.work(op, generic)

    def settle_work(self, op: Any, generic: Generic, wanted: Layout) -> None:
        """Do waiting work where its result is wanted, unless that repeats it on so many PEs that moving is cheaper; a
        sum of everything, which is wanted everywhere, where its operands are by now."""
        if not every_point_has_a_result(generic):
            self.work(op, generic)
            return
        shape = shape_of(op.operation.results[0])
        digits = default_digits(shape, self.axes, cyclic=self.cyclic)
        alone = project(shape, digits, tuple(range(len(shape))))
        moving = body_steps(op, alone) + movement_steps(alone, wanted)
        held = wanted.local_size * (1 + len(generic.inputs))  # operands and result, repeated as often as it is wanted
        is_cheaper = held <= 8 * ROOM and body_steps(op, wanted) <= moving
        self.work(op, generic, wanted if is_cheaper else None)

    def finish(self) -> None:
        """Place what nobody wanted anywhere."""
        while self.waiting:
            op = self.waiting.popitem()[1]
            self.work(op, read_generic(op))

    def work(self, op: Any, generic: Generic, wanted: Layout | None = None) -> None:
        """Place a loop nest: where `wanted` says its result goes, or where its operands are."""
        accesses = [iteration_access(i) for i in generic.inputs]
        known = [self.known(i) for i in generic.inputs]
        if wanted is not None:
            digits = choose_iteration(generic.extents, [(wanted, generic.result)])
        elif all(generic.parallel) or combines_across_pes(generic):
            held = list(zip(known, accesses, strict=True))
            home = self.layouts.get(self.homes.replaced_by(op.operation.results[0]))
            given = held if home is None else [*held, (home, generic.result)]
            digits = choose_iteration(generic.extents, given, self.axes, cyclic=self.cyclic)
            free = [access for layout, access in held if layout is None]
            chosen = chosen_dims(generic) if known and known[0] is None else ()
            free.append(generic.result)
            digits = roomy_iteration(digits, generic.extents, free, ROOM, chosen, self.axes, cyclic=self.cyclic)
        else:
            digits = reduce_inside(generic.extents, generic.parallel, self.axes, cyclic=self.cyclic)
        layouts = [
            project(operand_shape(i, generic.extents), digits, access)
            for i, access in zip(generic.inputs, accesses, strict=True)
        ]
        moved = [(a, b) for a, b in zip(known, layouts, strict=True) if a is not None]
        self.price += sum(relayout_steps(a, b) for a, b in moved)
        arriving = list(zip(generic.inputs, layouts, strict=True))
        for operand, layout in sorted(arriving, key=lambda pair: pair[0].value in self.waiting and not pair[0].dims):
            if operand.access is not None:
                self.settle(operand.value, layout)
        result = project(shape_of(op.operation.results[0]), digits, generic.result)
        self.price += body_steps(op, max([result, *layouts], key=lambda layout: layout.local_size))
        self.annotate(op, list(layouts), result)

    def reshape(self, op: Any) -> None:
        source = self.layouts.get(op.operands[0])
        if source is None:
            return
        shape = shape_of(op.results[0])
        try:
            self.layouts[op.results[0]] = reshape(source, shape)
        except LayoutError:
            self.annotate(op, [source], reshaped(source, shape))

    def is_view_of_dram(self, op: Any) -> bool:
        """Whether a slice can be loaded by itself: nobody has brought the whole to the chip, or keeps it there."""
        if not is_part_of_dram(op):
            return False
        source = before_reshapes(op.operands[0])
        return source not in self.layouts and not self.homes.is_kept(source)

    def rearrangement(self, op: Any) -> None:
        """Keep the places of the first source where extents allow: then most elements stay in their PE. A few elements
        may stand where little fits."""
        if (op.name == "tensor.pad" and is_read_through(op)) or self.is_view_of_dram(op) or is_stored_in_parts(op):
            return
        shape = shape_of(op.results[0])
        sources = [piece.source for piece in pieces_of(op)]
        first = next((self.layouts[s] for s in sources if s in self.layouts and len(shape_of(s)) == len(shape)), None)
        digits: list[Digits] = resized(first, shape) if first else default_digits(shape, self.axes, cyclic=self.cyclic)
        identity = tuple(range(len(shape)))
        digits = roomy_iteration(digits, shape, [identity] * 2, 4 * ROOM, axes=self.axes, cyclic=self.cyclic)
        for source in sources:
            if len(shape_of(source)) == len(shape):
                own = resized(project(shape, digits, identity), shape_of(source))
                self.settle(source, project(shape_of(source), own, identity))
            else:
                own = default_digits(shape_of(source), self.axes, cyclic=self.cyclic)
                self.settle(source, project(shape_of(source), own, tuple(range(len(own)))))
        self.annotate(op, [self.layouts[s] for s in sources], project(shape, digits, identity))


def every_point_has_a_result(generic: Generic) -> bool:
    """Whether the operation is element-wise and nothing is computed twice."""
    return all(generic.parallel) and set(generic.result) == set(range(len(generic.extents)))


def chosen_dims(generic: Generic) -> range:
    """Dimensions of a table in which computed indices choose elements."""
    attributes = generic.op.operation.attributes
    count = ir.IntegerAttr(attributes[CHOSEN]).value if CHOSEN in attributes else 0
    return range(len(generic.extents) - count, len(generic.extents))


def can_wait(generic: Generic) -> bool:
    """Whether an operation on free operands may be placed later: element-wise work, and sums of everything."""
    return every_point_has_a_result(generic) or (combines_across_pes(generic) and not any(generic.parallel))


@dataclass(frozen=True)
class AssignLayouts(Pass):
    """Decide where every tensor lives on the chip and annotate the linalg operations with it.

    Constant factors that take more than ``whole`` long words of a PE come in parts of half of it. ``prefer`` names
    what counts beyond prices, see `mncore_backend/distribution/policy.py`.
    """

    name = "assign-layouts"
    precision: Literal["single", "pseudo-single"] = "pseudo-single"
    resident: Literal["nothing", "updates", "state", "batch"] = "nothing"
    whole: int = WHOLE
    prefer: tuple[Preference, ...] = ()

    def run(self, module: Any) -> None:
        """Annotate every function of the module."""
        with module.context, ir.Location.unknown():
            for function in module.body.operations:
                if function.operation.name != "func.func":
                    continue
                homes = Homes({}) if self.resident == "nothing" else Homes.of_function(function.operation)
                assignment = _Assignment(self.precision, homes, self.whole, policy_of(self.prefer))
                for op in function.regions[0].blocks[0].operations:
                    assignment.visit(op)
                assignment.finish()
                function.operation.attributes[PRICE] = ir.FloatAttr.get_f64(assignment.price)


__all__ = ["OPERANDS", "PRECISION", "PRICE", "RESULT", "AssignLayouts", "Axis", "combines_across_pes"]
