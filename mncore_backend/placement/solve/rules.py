"""How decisions change a state: tensors settle, loops and products get their places, views follow.

Every operation has choices, the best by rough prices first. To take one may settle operands that are still free: they
arrive where they are wanted first, and element-wise work that has waited is done there.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from mnc.mncore_backend.layout import Layout, LayoutError, permute, reshape
from mnc.mncore_backend.placement.candidates import (
    Box,
    Digits,
    Window,
    Windows,
    choose_iteration,
    copied_layout,
    default_digits,
    place_of_box,
    project,
    roomy_iteration,
)
from mnc.mncore_backend.placement.candidates.costs import relayout_steps
from mnc.mncore_backend.placement.candidates.lookups import choices, lookup_steps, lookups
from mnc.mncore_backend.placement.candidates.pointwise import possible_iterations
from mnc.mncore_backend.placement.candidates.policy import Policy
from mnc.mncore_backend.placement.candidates.reshapes import reshaped
from mnc.mncore_backend.placement.candidates.space import reduce_inside, resized
from mnc.mncore_backend.placement.candidates.tiles import possible_tiles
from mnc.mncore_backend.placement.candidates.windows import source_layout, tiled_layout
from mnc.mncore_backend.placement.cost.movements import Movement, Movements
from mnc.mncore_backend.placement.cost.prices import (
    copying_steps,
    loop_steps,
    movement_steps,
    rearrangement_steps,
    sums_of,
)
from mnc.mncore_backend.placement.problem import (
    Loops,
    Pinned,
    Problem,
    Rearrangement,
    Reshape,
    Transposition,
    Use,
)
from mnc.mncore_backend.placement.solve.state import Placed, State
from mnc.mncore_backend.pricing import arrival, store
from mnc.mncore_backend.program import LOCAL_MEMORY
from mnc.mncore_backend.target import chip


def _room() -> int:
    """Long words per PE of one operand up to which no other placement is looked for."""
    return chip().memories[LOCAL_MEMORY[0]].longs // 8


def _work_steps(op: Loops, digits: Sequence[Digits], layouts: Sequence[Layout]) -> int:
    """Steps of the work at all points of the iteration space; of elements that are read at addresses only the reads."""
    if op.chosen and choices(digits, op.chosen, layouts[0]) is not None:
        return lookup_steps(digits, op.chosen)
    return loop_steps(op.work, project(op.extents, digits, tuple(range(len(op.extents)))))


@dataclass(frozen=True)
class Rules:
    """The rules for one problem under one policy. With prices of `movements` all that a choice makes necessary is paid
    for, and not only what the rough prices of single decisions count."""

    problem: Problem
    policy: Policy
    movements: Movements | None = None

    @property
    def complete(self) -> bool:
        """Whether all that a choice makes necessary is paid for."""
        return self.movements is not None

    def pay_arrival(self, state: State, tensor: int, layout: Layout, share: float = 1.0) -> None:
        """Pay for what comes from DRAM, a tensor or tiles of it, or a share of that; for a constant that is on the chip
        the room that it takes."""
        own = self.problem.tensors[tensor]
        if self.complete and own.resident:
            state.pay("held", layout.local_size * share)
        elif self.complete and own.made_by is None and not own.kept and not own.is_uniform:
            self._pay_fetched(state, layout, share)

    @staticmethod
    def _pay_fetched(state: State, layout: Layout, share: float = 1.0) -> None:
        coming = arrival(layout) * share
        state.pay("arrival", coming.l2bm + coming.l1bm)
        state.pay("fetched", coming.mv)

    def pay_move(self, state: State, source: Layout, target: Layout) -> None:
        """Pay for a relayout."""
        if self.movements is None:
            state.price += relayout_steps(source, target)
        elif (found := self.movements.relayout(source, target)) is not None:
            state.pay("moves", found[1], found[0])

    def pay_tiles(
        self, state: State, source: Layout, windows: Windows, extents: tuple[int, ...], digits: Sequence[Digits]
    ) -> None:
        """Pay for tiles with halos."""
        assert self.movements is not None
        movement = Movement(source, tiled_layout(windows, extents, digits), windows, extents, tuple(digits))
        state.pay("halos", self.movements.steps(movement), movement)

    def pay_copies(self, state: State, use: Use, layout: Layout, share: float = 1.0) -> None:
        """Pay for a copy of what every point of an iteration space reads of a tensor, or for a share of the copies.
        What is on the chip comes to where they are made, and what is in DRAM arrives there, or as copies."""
        if not self.complete:
            return
        shape = self.shape(use.tensor)
        places = None if use.copied is None else copied_layout(use.copied, use.access, layout, shape)
        held, made = state.layouts.get(use.tensor), copying_steps(use.copied or (), use.access, layout) * share
        first = self.behind(state, use.tensor)
        comes = held is None and self.problem.tensors[first].made_by is None
        if comes and (places is None or made + arrival(places).bound >= arrival(layout).bound * share):
            self.pay_arrival(state, first, layout, share)
            return
        if places is not None and held is None:
            self.settle(state, use.tensor, places)
        elif places is not None and held is not None:
            self.pay_move(state, held, places)
        state.pay("moves", made)

    def pay_box(self, state: State, source: Layout, result: Layout, box: Box | None) -> None:
        """Pay for what a result takes of a source: for a `box` of a join what plans of such take. What is no box, and
        slices, have a rough price. (A plan of a slice alone counts the loads of its masks, which the steps of a
        recurrence share.)"""
        assert self.movements is not None
        if box is None:
            state.pay("rearranged", rearrangement_steps(source, result))
        else:
            movement = Movement(source, result, box=box)
            state.pay("moves", self.movements.steps(movement), movement)

    # ---- what is free settles

    def settle(self, state: State, tensor: int, layout: Layout, share: float = 1.0) -> None:
        """A tensor that is still free arrives in this layout, or a share of it; others stay where they are."""
        if tensor in state.layouts or (self.complete and self.problem.tensors[tensor].is_uniform):
            return
        state.layouts[tensor] = layout
        number = self.problem.tensors[tensor].made_by
        self.pay_arrival(state, tensor, layout, share)
        maker = None if number is None else self.problem.operations[number]
        if isinstance(maker, Transposition):
            inverse = [maker.order.index(i) for i in range(len(maker.order))]
            self.settle(state, maker.source, permute(layout, inverse))
        elif isinstance(maker, Reshape):
            self.settle(state, maker.source, reshaped(layout, self.shape(maker.source)))
        elif isinstance(maker, Rearrangement) and self.complete:  # free, so loaded by itself
            self._pay_fetched(state, layout)
        elif tensor in state.waiting and isinstance(maker, Loops):
            self._settle_work(state, state.waiting.pop(tensor), maker, layout)
            if self.complete and state.layouts[tensor] != layout:
                self.pay_move(state, state.layouts[tensor], layout)

    def _settle_work(self, state: State, number: int, op: Loops, wanted: Layout) -> None:
        """Do waiting work where its result is wanted, unless that repeats it on so many PEs that moving is cheaper; a
        sum of everything, which is wanted everywhere, where its operands are by now."""
        if not op.is_element_wise:
            self.loops(state, number, op)
            return
        shape = self.shape(op.result)
        digits = default_digits(shape, self.policy.axes, cyclic=self.policy.cyclic)
        alone = project(shape, digits, tuple(range(len(shape))))
        more = loop_steps(op.work, wanted) - loop_steps(op.work, alone)
        held = wanted.local_size * (1 + len(op.uses))  # operands and result, repeated as often as it is wanted
        is_cheaper = held <= 8 * _room() and (more <= 0 or more <= movement_steps(alone, wanted, more))
        self.loops(state, number, op, wanted if is_cheaper else None)

    def settle_tiles(
        self, state: State, tensor: int, windows: Windows, extents: tuple[int, ...], digits: Sequence[Digits]
    ) -> None:
        """Tiles of a tensor that is still free come from DRAM. Work that waits is done where they are, halos aside."""
        first = self.behind(state, tensor)
        if first not in state.waiting:
            self.pay_arrival(state, first, tiled_layout(windows, extents, digits))
            return
        places = source_layout(windows, digits, self.shape(tensor))
        if places is None:
            self._place_waiting(state, state.waiting.pop(first))
            return
        self.settle(state, tensor, places)
        if self.complete:
            self.pay_tiles(state, state.layouts[tensor], windows, extents, digits)

    def finish(self, state: State) -> None:
        """Place what nobody wanted anywhere."""
        while state.waiting:
            self._place_waiting(state, state.waiting.popitem()[1])

    def _place_waiting(self, state: State, number: int) -> None:
        op = self.problem.operations[number]
        assert isinstance(op, Loops)
        self.loops(state, number, op)

    def behind(self, state: State, tensor: int) -> int:
        """What a tensor is a view or a part of: tiles of it, and copies for windows, come from DRAM directly."""
        while (number := self.problem.tensors[tensor].made_by) is not None:
            op = self.problem.operations[number]
            if isinstance(op, Transposition | Reshape):
                tensor = op.source
            elif isinstance(op, Rearrangement) and op.part_of is not None and tensor not in state.layouts:
                tensor = op.part_of
            else:
                break
        return tensor

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
        self.take_loops(state, number, op, self.iterations(state, op, wanted)[0])

    def iterations(self, state: State, op: Loops, wanted: Layout | None = None) -> list[list[Digits]]:
        """Digits of the iteration space that come into question, the best by what has to move first."""
        axes, cyclic = self.policy.axes, self.policy.cyclic
        if wanted is not None:
            return [choose_iteration(op.extents, [(wanted, op.access)])]
        if not (all(op.parallel) or op.combines):
            return [reduce_inside(op.extents, op.parallel, axes, cyclic=cyclic)]
        known = self.known(state, op)
        held = list(zip(known, [use.access for use in op.uses], strict=True))
        home = None if op.replaces is None else state.layouts.get(op.replaces)
        given = held if home is None else [*held, (home, op.access)]
        free = [access for layout, access in held if layout is None]
        chosen = op.chosen if known and known[0] is None else ()
        accesses = [*free, op.access]
        spaces = possible_iterations(
            op.extents, given, axes, cyclic=cyclic, parallel=op.parallel, sliced=op.sliced, batches=op.batches
        )
        room = _room()
        found = [roomy_iteration(own, op.extents, accesses, room, chosen, axes, cyclic=cyclic) for own in spaces]
        if not op.chosen:
            return found
        read = op.uses[0].access, op.access
        return [*lookups(op.extents, read, op.chosen, known[0], axes, cyclic=cyclic), *found]

    def known(self, state: State, op: Loops) -> list[Layout | None]:
        """Where the operands of loops are."""
        return [state.layouts.get(use.tensor) if use.is_direct else None for use in op.uses]

    def take_loops(self, state: State, number: int, op: Loops, digits: list[Digits]) -> None:
        """Place a loop nest over an iteration space with these digits."""
        layouts = [project(use.shape, digits, use.access) for use in op.uses]
        moved = [(a, b) for a, b in zip(self.known(state, op), layouts, strict=True) if a is not None]
        for own, wanted in moved:
            self.pay_move(state, own, wanted)
        arriving = list(zip(op.uses, layouts, strict=True))
        for use, layout in sorted(arriving, key=lambda pair: pair[0].tensor in state.waiting and pair[0].is_scalar):
            if use.is_direct:
                self.settle(state, use.tensor, layout)
            else:
                self.pay_copies(state, use, layout)
        result = project(self.shape(op.result), digits, op.access)
        worked = _work_steps(op, digits, layouts)
        if self.complete:
            summed = sums_of(result, digits, op.parallel)
            state.pay("sums", summed.work)
            state.pay("exchanged", summed.exchanged)
            state.pay("work", worked)
        else:
            state.price += worked
        self.place(state, number, Placed(tuple(layouts), result))

    def tilings(self, state: State, op: Loops) -> list[list[Digits]]:
        """Digits of the iteration space of loops over windows: they stay where one of their operands is, the largest
        first."""
        tiled = [use for use in op.uses if use.windows is not None]
        held = [(use.windows or (), state.layouts.get(use.source)) for use in tiled if use.source is not None]
        direct = [use for use in op.uses if use.is_direct]
        held += [(tuple(Window(d) for d in use.access), state.layouts.get(use.tensor)) for use in direct]
        return possible_tiles(op.extents, op.parallel, held, self.policy.axes)

    def take_windows(self, state: State, number: int, op: Loops, digits: list[Digits]) -> None:
        """Place loops over windows."""
        if self.complete:
            self._pay_windows(state, op, digits)
        layouts: list[Layout | None] = []
        for use in op.uses:
            layout = project(use.shape, digits, use.access) if use.windows is None else None
            layouts.append(layout)
            if layout is not None and use.is_direct:
                self.settle(state, use.tensor, layout)
        self.place(state, number, Placed(tuple(layouts), project(self.shape(op.result), digits, op.access)))

    def _pay_windows(self, state: State, op: Loops, digits: list[Digits]) -> None:
        """What loops over windows cost: tiles of what is read through windows, and the work."""
        state.pay("work", loop_steps(op.work, project(op.extents, digits, tuple(range(len(op.extents))))))
        for use in op.uses:
            layout = None if use.source is None else state.layouts.get(use.source)
            if use.windows is not None and layout is not None:
                self.pay_tiles(state, layout, use.windows, op.extents, digits)
            elif use.windows is not None and use.source is not None:
                self.settle_tiles(state, use.source, use.windows, op.extents, digits)
            elif use.is_direct and use.tensor in state.layouts:
                self.pay_move(state, state.layouts[use.tensor], project(use.shape, digits, use.access))

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
            if self.movements is not None:
                movement = Movement(source, state.layouts[op.result])
                state.pay("moves", self.movements.steps(movement), movement)

    def rearrangement(self, state: State, number: int, op: Rearrangement) -> None:
        """Keep the places of the first source where extents allow: then most elements stay in their PE. A few elements
        may stand where little fits."""
        if self.is_loaded_in_part(state, op):
            return
        self.take_rearrangement(state, number, op, self.arrangements(state, op)[0])

    def is_loaded_in_part(self, state: State, op: Rearrangement) -> bool:
        """Whether a slice can be loaded by itself: nobody has brought the whole to the chip, or keeps it there."""
        part_of = op.part_of
        return part_of is not None and part_of not in state.layouts and not self.problem.tensors[part_of].kept

    def may_be_loaded_again(self, state: State, op: Rearrangement) -> bool:
        """Whether a part of what somebody has brought to the chip can be loaded by itself, from where that came."""
        if op.part_of is None:
            return False
        whole = self.problem.tensors[self.behind(state, op.part_of)]
        return whole.made_by is None and not whole.kept

    def arrangements(self, state: State, op: Rearrangement) -> list[list[Digits]]:
        """Digits of the result that keep the places of one of the sources."""
        shape = self.shape(op.result)
        axes, cyclic = self.policy.axes, self.policy.cyclic
        alike = [s for s in op.sources if len(self.shape(s)) == len(shape) and s in state.layouts]
        found = [resized(state.layouts[s], shape) for s in alike] or [default_digits(shape, axes, cyclic=cyclic)]
        accesses = [tuple(range(len(shape)))] * 2
        return [roomy_iteration(digits, shape, accesses, 4 * _room(), axes=axes, cyclic=cyclic) for digits in found]

    def take_rearrangement(self, state: State, number: int, op: Rearrangement, digits: list[Digits]) -> None:
        """Place a rearrangement whose result has these digits; sources that are free arrive in the same places."""
        shape = self.shape(op.result)
        result = project(shape, digits, tuple(range(len(shape))))
        wanted: list[tuple[int, Layout]] = []
        for source, box in zip(op.sources, op.boxes, strict=True):
            own_shape = self.shape(source)
            if box is not None and (place := place_of_box(own_shape, result, box)) is not None:
                wanted.append((source, place))
                self.settle(state, *wanted[-1])
                continue
            if len(own_shape) == len(shape):
                own = resized(result, own_shape)
            else:
                own = default_digits(own_shape, self.policy.axes, cyclic=self.policy.cyclic)
            wanted.append((source, project(own_shape, own, tuple(range(len(own))))))
            self.settle(state, *wanted[-1])
        if self.complete:
            for source, box in zip(op.sources, op.boxes, strict=True):
                if source in state.layouts:
                    self.pay_box(state, state.layouts[source], result, box if len(op.sources) > 1 else None)
        layouts = tuple(state.layouts.get(s, default) for s, default in wanted)
        self.place(state, number, Placed(layouts, result))

    def store(self, state: State) -> None:
        """Pay for the results on their way to DRAM, or to where they replace what is there."""
        state.current = len(self.problem.operations)
        state.pay("stored", sum(store(state.layouts[t]).total for t in self.problem.returned if t in state.layouts))
        for result, home in self.problem.replaced:
            if result in state.layouts and home in state.layouts:
                self.pay_move(state, state.layouts[result], state.layouts[home])

    def pinned(self, state: State, op: Pinned) -> None:
        """Layouts that somebody wrote by hand."""
        for tensor, layout in op.operands:
            self.settle(state, tensor, layout)
        state.layouts[op.result] = op.layout

