"""Where the readers of a tensor want it: what solutions found from the front say about choices further in front.

A search goes through a program from its first operation to its last. Element-wise work and reductions stay where their
operands are, and the first of them choose a place when nothing is known yet of the products behind them. So a tensor
may lie well for a normalization and badly for the product that it feeds. From solutions that have been found, the
layouts in which operations read their operands are known. They are followed against the flow of data, through views
and element-wise work, and a search that comes after may choose them from the start.
"""

from collections.abc import Mapping, Sequence

from mnc.mncore_backend.layout import Layout, LayoutError, permute, reshape
from mnc.mncore_backend.placement.candidates import choose_iteration
from mnc.mncore_backend.placement.candidates.space import project
from mnc.mncore_backend.placement.problem import Loops, Operation, Problem, Reshape, Transposition, Use
from mnc.mncore_backend.placement.problem.reads import uses_of
from mnc.mncore_backend.placement.solve.state import State

MOST = 3
"""Layouts of a tensor that are noted."""

_Found = dict[int, dict[Layout, None]]


def wanted_layouts(problem: Problem, states: Sequence[State]) -> Mapping[int, tuple[Layout, ...]]:
    """Per tensor the layouts in which its readers in `states`, the best first, would have it."""
    found: _Found = {}
    for number, op in reversed(list(enumerate(problem.operations))):
        for state in states:
            placed = state.placed.get(number)
            if placed is not None and (uses := uses_of(op)):
                _note_operands(found, uses, placed.operands)
        for layout in found.get(op.result, ()):
            _note_in_front(found, problem, op, layout)
    return {tensor: tuple(layouts) for tensor, layouts in found.items()}


def _note(found: _Found, tensor: int, layout: Layout) -> None:
    own = found.setdefault(tensor, {})
    if len(own) < MOST:
        own[layout] = None


def _note_operands(found: _Found, uses: Sequence[Use], layouts: Sequence[Layout | None]) -> None:
    for use, layout in zip(uses, layouts, strict=True):
        if layout is not None and use.is_direct and use.windows is None:
            _note(found, use.tensor, layout)


def _note_in_front(found: _Found, problem: Problem, op: Operation, layout: Layout) -> None:
    """Where the operands of an operation are if its result is to be there without a movement."""
    match op:
        case Transposition():
            _note(found, op.source, permute(layout, [op.order.index(i) for i in range(len(op.order))]))
        case Reshape():
            try:
                _note(found, op.source, reshape(layout, problem.tensors[op.source].shape))
            except LayoutError:
                return
        case Loops() if op.is_element_wise:
            digits = choose_iteration(op.extents, [(layout, op.access)])
            for use in op.uses:
                if covers(use, op.extents):
                    _note(found, use.tensor, project(use.shape, digits, use.access))
        case _:
            return


def covers(use: Use, extents: Sequence[int]) -> bool:
    """Whether what is read has all dimensions of an iteration space of these `extents`, and says where it is."""
    wide = {d for d, extent in enumerate(extents) if extent > 1}
    return use.is_direct and use.windows is None and wide <= {d for d in use.access if d is not None}
