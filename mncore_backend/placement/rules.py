"""How decisions change a state: tensors settle, loops and products get their places, views follow.

Every operation has choices, the best by rough prices first. To take one may settle operands that are still free: they
arrive where they are wanted first, and element-wise work that has waited is done there.
"""

from dataclasses import dataclass

from mnc.mncore_backend.distribution import (
    Digits,
    Window,
    choose_iteration,
    choose_tiles,
    default_digits,
    project,
    roomy_iteration,
)
from mnc.mncore_backend.distribution.costs import relayout_steps
from mnc.mncore_backend.distribution.policy import Policy
from mnc.mncore_backend.distribution.reshapes import reshaped
from mnc.mncore_backend.distribution.space import reduce_inside, resized
from mnc.mncore_backend.layout import Layout, LayoutError, permute, reshape
from mnc.mncore_backend.machine import MEMORIES
from mnc.mncore_backend.placement.prices import loop_steps, movement_steps
from mnc.mncore_backend.placement.problem import (
    Loops,
    Pinned,
    Problem,
    Rearrangement,
    Reshape,
    Transposition,
    Use,
)
from mnc.mncore_backend.placement.state import Placed, State
from mnc.mncore_backend.program import LOCAL_MEMORY

ROOM = MEMORIES[LOCAL_MEMORY[0]].longs // 8
"""Long words per PE of one operand up to which no other placement is looked for."""


@dataclass(frozen=True)
class Rules:
    """The rules for one problem under one policy."""

    problem: Problem
    policy: Policy

    # ---- what is free settles

    def settle(self, state: State, tensor: int, layout: Layout) -> None:
        """A tensor that is still free arrives in this layout; others stay where they are."""
        if tensor in state.layouts:
            return
        state.layouts[tensor] = layout
        number = self.problem.tensors[tensor].made_by
        maker = None if number is None else self.problem.operations[number]
        if isinstance(maker, Transposition):
            inverse = [maker.order.index(i) for i in range(len(maker.order))]
            self.settle(state, maker.source, permute(layout, inverse))
        elif isinstance(maker, Reshape):
            self.settle(state, maker.source, reshaped(layout, self.shape(maker.source)))
        elif tensor in state.waiting and isinstance(maker, Loops):
            self._settle_work(state, state.waiting.pop(tensor), maker, layout)

    def _settle_work(self, state: State, number: int, op: Loops, wanted: Layout) -> None:
        """Do waiting work where its result is wanted, unless that repeats it on so many PEs that moving is cheaper; a
        sum of everything, which is wanted everywhere, where its operands are by now."""
        if not op.is_element_wise:
            self.loops(state, number, op)
            return
        shape = self.shape(op.result)
        digits = default_digits(shape, self.policy.axes, cyclic=self.policy.cyclic)
        alone = project(shape, digits, tuple(range(len(shape))))
        moving = loop_steps(op.work, alone) + movement_steps(alone, wanted)
        held = wanted.local_size * (1 + len(op.uses))  # operands and result, repeated as often as it is wanted
        is_cheaper = held <= 8 * ROOM and loop_steps(op.work, wanted) <= moving
        self.loops(state, number, op, wanted if is_cheaper else None)

    def finish(self, state: State) -> None:
        """Place what nobody wanted anywhere."""
        while state.waiting:
            number = state.waiting.popitem()[1]
            op = self.problem.operations[number]
            assert isinstance(op, Loops)
            self.loops(state, number, op)

    def shape(self, tensor: int) -> tuple[int, ...]:
        """Extents of a tensor."""
        return self.problem.tensors[tensor].shape

    def place(self, state: State, number: int, placed: Placed) -> None:
        """Note where an operation works."""
        state.placed[number] = placed
        state.layouts[self.problem.operations[number].result] = placed.result

    # ---- loops

    def loops(self, state: State, number: int, op: Loops, wanted: Layout | None = None) -> None:
        """Place a loop nest: where `wanted` says its result goes, or where its operands are."""
        known = [state.layouts.get(use.tensor) if use.is_direct else None for use in op.uses]
        digits = self._iteration(state, op, known, wanted)
        layouts = [project(use.shape, digits, use.access) for use in op.uses]
        moved = [(a, b) for a, b in zip(known, layouts, strict=True) if a is not None]
        state.price += sum(relayout_steps(a, b) for a, b in moved)
        arriving = list(zip(op.uses, layouts, strict=True))
        for use, layout in sorted(arriving, key=lambda pair: pair[0].tensor in state.waiting and pair[0].is_scalar):
            if use.is_direct:
                self.settle(state, use.tensor, layout)
        result = project(self.shape(op.result), digits, op.access)
        state.price += loop_steps(op.work, max([result, *layouts], key=lambda layout: layout.local_size))
        self.place(state, number, Placed(tuple(layouts), result))

    def _iteration(
        self, state: State, op: Loops, known: list[Layout | None], wanted: Layout | None
    ) -> list[Digits]:
        axes, cyclic = self.policy.axes, self.policy.cyclic
        if wanted is not None:
            return choose_iteration(op.extents, [(wanted, op.access)])
        if not (all(op.parallel) or op.combines):
            return reduce_inside(op.extents, op.parallel, axes, cyclic=cyclic)
        held = list(zip(known, [use.access for use in op.uses], strict=True))
        home = None if op.replaces is None else state.layouts.get(op.replaces)
        given = held if home is None else [*held, (home, op.access)]
        digits = choose_iteration(op.extents, given, axes, cyclic=cyclic)
        free = [access for layout, access in held if layout is None]
        chosen = op.chosen if known and known[0] is None else ()
        return roomy_iteration(digits, op.extents, [*free, op.access], ROOM, chosen, axes, cyclic=cyclic)

    def windows(self, state: State, number: int, op: Loops) -> None:
        """Place element-wise work and reductions over windows: they stay where their first operand is."""
        tiled = [use for use in op.uses if use.windows is not None]
        held = [(use.windows or (), state.layouts.get(_source(use))) for use in tiled]
        direct = [use for use in op.uses if use.is_direct]
        held += [(tuple(Window(d) for d in use.access), state.layouts.get(use.tensor)) for use in direct]
        digits = choose_tiles(op.extents, op.parallel, held, self.policy.axes)
        layouts: list[Layout | None] = []
        for use in op.uses:
            layout = project(use.shape, digits, use.access) if use.windows is None else None
            layouts.append(layout)
            if layout is not None and use.is_direct:
                self.settle(state, use.tensor, layout)
        self.place(state, number, Placed(tuple(layouts), project(self.shape(op.result), digits, op.access)))

    # ---- what only moves elements

    def transposition(self, state: State, op: Transposition) -> None:
        """A transposition costs nothing: the same places under permuted dimensions."""
        layout = state.layouts.get(op.source)
        if layout is not None:
            state.layouts[op.result] = permute(layout, op.order)

    def reshape(self, state: State, number: int, op: Reshape) -> None:
        """The same places, if the digits allow it, else near to them."""
        source = state.layouts.get(op.source)
        if source is None:
            return
        shape = self.shape(op.result)
        try:
            state.layouts[op.result] = reshape(source, shape)
        except LayoutError:
            self.place(state, number, Placed((source,), reshaped(source, shape)))

    def rearrangement(self, state: State, number: int, op: Rearrangement) -> None:
        """Keep the places of the first source where extents allow: then most elements stay in their PE. A few elements
        may stand where little fits."""
        if op.part_of is not None and op.part_of not in state.layouts and not self.problem.tensors[op.part_of].kept:
            return
        shape = self.shape(op.result)
        axes, cyclic = self.policy.axes, self.policy.cyclic
        alike = [s for s in op.sources if len(self.shape(s)) == len(shape)]
        first = next((state.layouts[s] for s in alike if s in state.layouts), None)
        digits: list[Digits] = resized(first, shape) if first else default_digits(shape, axes, cyclic=cyclic)
        identity = tuple(range(len(shape)))
        digits = roomy_iteration(digits, shape, [identity] * 2, 4 * ROOM, axes=axes, cyclic=cyclic)
        for source in op.sources:
            own_shape = self.shape(source)
            if source in alike:
                own = resized(project(shape, digits, identity), own_shape)
            else:
                own = default_digits(own_shape, axes, cyclic=cyclic)
            self.settle(state, source, project(own_shape, own, tuple(range(len(own)))))
        layouts = tuple(state.layouts[s] for s in op.sources)
        self.place(state, number, Placed(layouts, project(shape, digits, identity)))

    def pinned(self, state: State, op: Pinned) -> None:
        """Layouts that somebody wrote by hand."""
        for tensor, layout in op.operands:
            self.settle(state, tensor, layout)
        state.layouts[op.result] = op.layout


def _source(use: Use) -> int:
    return use.tensor if use.source is None else use.source
