"""The pass `join-slices`: one function of neighbouring slices instead of the same function of each."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, ClassVar, NamedTuple

from mnc.core.bindings import ir
from mnc.core.explanation import explain
from mnc.core.modules import functions_of
from mnc.core.pass_base import Pass
from mnc.core.rewrite import attributes_of, location_of_all
from mnc.mncore_backend.target import chip
from mnc.passes.graph.algebra.common import operands_of, result_of
from mnc.passes.graph.matching import producer, shape_of, splat_of
from mnc.passes.graph.tensors.kinds import ELEMENTWISE, rebuilt_elementwise
from mnc.passes.graph.tensors.views import Ranges, ranges_of, sliced

WASTE = 2
"""Elements that are computed for each that is wanted, at most."""


@dataclass(frozen=True)
class JoinSlices(Pass):
    """Compute a function of several slices of a tiny tensor once, of the range that has them all.

    before: ``sigmoid(%z[0:8])``, ``sigmoid(%z[8:16])``; after: ``%s = sigmoid(%z[0:16])``, ``%s[0:8]``, ``%s[8:16]``

    Functions of several tensors are joined where all operands are sliced alike. A function takes as long of a few
    elements as of many, as long as no PE has more of them than an instruction works on; so the range may have elements
    that nobody wants. Gates of recurrent cells are what matters.
    """

    name: ClassVar[str] = "join-slices"

    def run(self, module: ir.Module) -> None:
        """Rewrite every function until nothing can be joined; refusals are explained."""
        with module.context, ir.Location.unknown():
            for op in functions_of(module):
                while self._join_once(op.regions[0].blocks[0]):
                    pass

    def _join_once(self, block: Any) -> bool:
        """Join all groups that have no operation in common; says whether there was one."""
        groups: dict[tuple[Any, ...], list[_Member]] = {}
        for member in filter(None, map(_member, range(len(block.operations)), block.operations)):
            for dim in reversed(range(len(member.ranges))):
                groups.setdefault(member.key(dim), []).append(member)
        joined: set[int] = set()
        for (dim, *_), members in groups.items():
            if len({member.ranges[dim] for member in members}) < 2 or joined & {m.number for m in members}:
                continue
            if (reason := _refusal(members, dim)) is None:
                joined.update(member.number for member in members)
                _join(members, dim)
                continue
            for member in members:
                explain(type(self).__name__, member.op.operation, reason)
        return bool(joined)


class _Member(NamedTuple):
    """An element-wise operation whose operands are sliced alike, or have the same element everywhere. `number`: its
    place in the block; `sources`: what is sliced, and of operands with one element that."""

    number: int
    op: Any
    sources: tuple[Any, ...]
    ranges: Ranges

    def key(self, dim: int) -> tuple[Any, ...]:
        """What operations have in common that may be joined along a dimension."""
        others = tuple(taken for i, taken in enumerate(self.ranges) if i != dim)
        attributes = sorted((name, str(value)) for name, value in attributes_of(self.op).items())
        result = str(ir.RankedTensorType(result_of(self.op).type).element_type)
        return dim, self.op.operation.name, tuple(attributes), result, self.sources, others


def _member(number: int, op: Any) -> _Member | None:
    if op.operation.name.removeprefix("graph.") not in ELEMENTWISE:
        return None
    ranges: Ranges | None = None
    sources: list[Any] = []
    for value in operands_of(op):
        cut = producer(value, "slice")
        splat = splat_of(value)
        if splat is not None and shape_of(value) in ((), (1,)):
            sources.append((str(value.type), splat))
        elif cut is None or shape_of(value) != shape_of(result_of(op)) or ranges not in (None, ranges_of(cut)):
            return None
        else:
            ranges = ranges_of(cut)
            sources.append(operands_of(cut)[0])
    if ranges is None or any(taken.step != 1 for taken in ranges):
        return None
    return _Member(number, op, tuple(sources), ranges)


def _refusal(members: Sequence[_Member], dim: int) -> str | None:
    """Why members of a group are not joined along a dimension."""
    first, last = _ends(members, dim)
    wanted = {i for member in members for i in member.ranges[dim]}
    if last - first > WASTE * len(wanted):
        return "too many elements lie between the slices"
    size = prod(last - first if i == dim else len(taken) for i, taken in enumerate(members[0].ranges))
    return None if size <= chip().tiny_elements else "the slices have enough elements each"


def _ends(members: Sequence[_Member], dim: int) -> tuple[int, int]:
    """Where the range begins and ends that has all slices."""
    return min(m.ranges[dim].start for m in members), max(m.ranges[dim].stop for m in members)


def _join(members: Sequence[_Member], dim: int) -> None:
    """One operation in the place of the first member, and slices of its result."""
    first, last = _ends(members, dim)
    own = members[0]
    joint = [range(first, last) if i == dim else taken for i, taken in enumerate(own.ranges)]
    with ir.InsertionPoint(own.op), location_of_all(*(member.op for member in members)):
        cuts = [(value, producer(value, "slice")) for value in operands_of(own.op)]
        operands = [value if cut is None else sliced(operands_of(cut)[0], joint) for value, cut in cuts]
        result = rebuilt_elementwise(own.op, *operands)
        parts = [sliced(result, _within(member.ranges, joint)) for member in members]
    for member, part in zip(members, parts, strict=True):
        result_of(member.op).replace_all_uses_with(part)
        member.op.operation.erase()


def _within(ranges: Ranges, joint: Ranges) -> Ranges:
    """Ranges counted from where others begin."""
    return [range(own.start - whole.start, own.stop - whole.start) for own, whole in zip(ranges, joint, strict=True)]
