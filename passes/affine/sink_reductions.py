"""The pass `sink-reductions`: sums over L2Bs, L1Bs and MABs are left to the transfers that store them.

The way from the PEs to DRAM can add at every level: the MABs of an L1B, the L1Bs of an L2B, the L2Bs of the chip. A sum
that everybody shall have costs the way up and the way back into the PEs, over L2Bs with two transfers through PDM; when
all that follows it is linear, none of that is needed.
"""

from collections.abc import Container, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from mnc.core.bindings import ir
from mnc.core.modules import functions_of
from mnc.core.pass_base import Pass
from mnc.dialects.mncore import reduced_axes, summed_axes
from mnc.dialects.mncore.attributes import placement_of
from mnc.mncore_backend.layout import Axis, equivalent
from mnc.mncore_backend.movement import crosses, plan_relayout
from mnc.mncore_backend.program import LOCAL_MEMORY, Builder, Program
from mnc.mncore_backend.target import chip
from mnc.passes.affine.linear_nest import (
    buffers_of,
    constant_of,
    innermost_operations,
    partial_values,
    share_out,
)

LEVELS = (Axis.L2B, Axis.L1B, Axis.MAB)
"""What a store adds over, the last thing it does first: a sum is left to it from the outermost level inwards."""


@dataclass(frozen=True)
class SinkReductions(Pass):
    """Leave sums over L2Bs, L1Bs and MABs to the stores, where only linear work lies between.

    before: ``reduce(%p, %s) {axes = ["L2B", "PE"]}; %u = %w - 0.01 * %s; ul(%u, %out)``;
    after: ``reduce(%p, %s) {axes = ["PE"]}; %u = 0.125 * %w - 0.01 * %s; ul(%u, %out) {sum = ["L2B"]}``
    """

    name: ClassVar[str] = "sink-reductions"

    def run(self, module: ir.Module) -> None:
        """Rewrite every function."""
        with module.context, ir.Location.unknown():
            for op in functions_of(module):
                for axis in LEVELS:
                    for bits in sorted(_masks(op.operation, axis)):
                        _Sinking(op.operation, axis, bits).run()


def _masks(function: Any, axis: Axis) -> set[int]:
    """Coordinate bits of the axis that reductions of the function sum over and a store can."""
    operations = [op.operation for op in function.regions[0].blocks[0].operations]
    masks = {reduced_axes(op).get(axis, 0) for op in operations if op.name == "mncore.reduce"} - {0}
    return masks if axis is Axis.L1B else masks & {chip().axis_size[axis] - 1}


class _Sinking:
    """Uses of the buffers of one function, and the sums over some bits of one axis. Buffers go by what owns their
    memory, so that casts of it are the same."""

    def __init__(self, function: Any, axis: Axis, bits: int) -> None:
        self.axis, self.bits = axis, bits
        self.reads: dict[Any, list[Any]] = {}
        self.writes: dict[Any, list[Any]] = {}
        self.readers: dict[Any, list[Any]] = {}
        self.writers: dict[Any, list[Any]] = {}
        self.reductions: list[Any] = []
        self._judged: dict[tuple[Any, frozenset[Any]], list[Any]] = {}
        for op in function.regions[0].blocks[0].operations:
            operation = op.operation
            self.reads[operation], self.writes[operation] = _accesses(operation)
            for table, buffers in ((self.readers, self.reads[operation]), (self.writers, self.writes[operation])):
                for buffer in buffers:
                    table.setdefault(buffer, []).append(operation)
            if operation.name == "mncore.reduce" and self._is_candidate(operation):
                self.reductions.append(operation)

    def _is_candidate(self, op: Any) -> bool:
        axes = reduced_axes(op)
        outermost = next((axis for axis in LEVELS if axis in axes), None)
        same = equivalent(*(placement_of(value.type).layout for value in op.operands))
        return outermost is self.axis and axes[self.axis] == self.bits and _is_sum(op) and same

    def run(self) -> None:
        """Take all candidates for granted, drop those whose result is used otherwise, until all uses are linear. What
        an operation does with the same partial buffers is asked once."""
        candidates = self.reductions
        while True:
            partial = self._reached(candidates)
            users = dict.fromkeys(user for buffer in partial for user in self.readers.get(buffer, []))
            refused = {buffer for user in users for buffer in self._refused(user, partial)}
            refused |= {buffer for buffer in partial if not self._has_parts_only(buffer, users, candidates)}
            unfit = self._leading_to(refused, partial)
            kept = [op for op in candidates if not unfit.intersection(self.writes[op])]
            if len(kept) == len(candidates):
                break
            candidates = kept
        for user in users:
            self._rewrite(user, partial)
        for op in candidates:
            _without(op, self.axis)

    def _refused(self, op: Any, partial: Container[Any]) -> list[Any]:
        """Buffers whose parts an operation cannot work on: those it is not linear in, or all where it is linear in each
        of them but not in all together, as a product is."""
        own = frozenset(buffer for buffer in self.reads[op] if buffer in partial)
        if (op, own) not in self._judged:
            refused: list[Any] = []
            if not self._is_linear(op, own):
                refused = [buffer for buffer in own if not self._is_linear(op, {buffer})] or list(own)
            self._judged[op, own] = refused
        return self._judged[op, own]

    def _has_parts_only(self, buffer: Any, users: Container[Any], candidates: Container[Any]) -> bool:
        """Whether whatever writes the buffer writes parts; zeros are parts of zero."""
        writers = self.writers.get(buffer, [])
        return all(op in users or op in candidates or _writes_zeros(op) for op in writers)

    def _reached(self, candidates: Sequence[Any]) -> dict[Any, None]:
        """What the sums are written to and all that is computed from it."""
        waiting = [buffer for op in candidates for buffer in self.writes[op]]
        reached = dict.fromkeys(waiting)
        while waiting:
            for user in self.readers.get(waiting.pop(), []):
                new = [value for value in self.writes[user] if value not in reached]
                reached.update(dict.fromkeys(new))
                waiting += new
        return reached

    def _leading_to(self, refused: set[Any], partial: Container[Any]) -> set[Any]:
        """The partial buffers from which any of these is computed, and these."""
        found, waiting = set(refused), list(refused)
        while waiting:
            for writer in self.writers.get(waiting.pop(), []):
                new = [value for value in self.reads[writer] if value in partial and value not in found]
                found.update(new)
                waiting += new
        return found

    def _is_linear(self, op: Any, partial: Container[Any]) -> bool:
        """Whether the operation may work on the parts instead of on the sum."""
        owners = (value.owner for value in self.writes[op])
        if any(not isinstance(owner, ir.Block) and owner.name == "mncore.resident" for owner in owners):
            return False  # read again by the next run
        if op.name == "mncore.ul":  # it adds over one set of places on an axis
            return self._is_everywhere(op.operands[0]) and self.axis not in summed_axes(op)
        if op.name == "mncore.reduce":
            inner = (*LEVELS[LEVELS.index(self.axis) + 1 :], Axis.PE, Axis.W)
            inside = all(axis in inner for axis in reduced_axes(op))
            return _is_sum(op) and inside and self._is_everywhere(op.operands[1])
        if op.name == "mncore.relayout":
            return self._is_everywhere(op.operands[1]) and not self._is_left(op)
        return op.name == "affine.for" and partial_values(op, lambda value: root_of(value) in partial) is not None

    def _is_everywhere(self, value: Any) -> bool:
        """Whether the places that hold the parts hold all of the tensor."""
        return placement_of(value.type).layout.replicated_bits(self.axis) & self.bits == self.bits

    def _is_left(self, op: Any) -> bool:
        """Whether the movement takes values from one place on the axis to another."""
        layouts = [placement_of(value.type).layout for value in op.operands]
        builder = Builder(Program())
        buffers = [builder.program.buffer("relayout", x.local_size, LOCAL_MEMORY) for x in layouts]
        plan_relayout(builder, layouts[0], buffers[0], layouts[1], buffers[1])
        return crosses(builder.program.operations, self.axis)

    def _rewrite(self, op: Any, partial: Container[Any]) -> None:
        if op.name == "affine.for":
            values = partial_values(op, lambda value: root_of(value) in partial)
            assert values is not None  # only such uses are left
            share_out(op, values, 1 << self.bits.bit_count())
        elif op.name == "mncore.ul":
            sums = {**summed_axes(op), self.axis: self.bits}
            op.attributes["sum"] = ir.ArrayAttr.get([ir.StringAttr.get(axis.value) for axis in sums])
            op.attributes["bits"] = ir.DenseI64ArrayAttr.get(list(sums.values()))


def root_of(value: Any) -> Any:
    """What owns the memory of a buffer."""
    while not isinstance(value.owner, ir.Block) and value.owner.name == "memref.memory_space_cast":
        value = value.owner.operands[0]
    return value


_WRITTEN = {"mncore.matmul": 2, "mncore.lookup": 2, "mncore.fill_padding": 0}
"""Which operand an operation writes, where it is not the second."""


def _accesses(op: Any) -> tuple[list[Any], list[Any]]:
    """(buffers read, buffers written). What keeps a part of what it writes reads it as well."""
    if op.name == "affine.for":
        read, written = buffers_of(op)
    elif op.name.startswith("mncore.") and op.operands:
        number = _WRITTEN.get(op.name, 1)
        written = list(op.operands)[number : number + 1]
        keeps = op.name == "mncore.fill_padding" or "onto" in op.attributes
        read = [value for i, value in enumerate(op.operands) if i != number or keeps]
    else:
        return [], []
    return [list(dict.fromkeys(map(root_of, values))) for values in (read, written)]  # pyright: ignore[reportReturnType]


def _writes_zeros(op: Any) -> bool:
    if op.name != "affine.for":
        return False
    stored = [inner.operands[0] for inner in innermost_operations(op) if inner.name == "affine.store"]
    return all(constant_of(value) == 0 for value in stored)


def _is_sum(op: Any) -> bool:
    return ir.StringAttr(op.attributes["kind"]).value == "sum"


def _without(op: Any, dropped: Axis) -> None:
    axes = {axis: bits for axis, bits in reduced_axes(op).items() if axis is not dropped}
    if axes:
        op.attributes["axes"] = ir.ArrayAttr.get([ir.StringAttr.get(axis.value) for axis in axes])
        op.attributes["bits"] = ir.DenseI64ArrayAttr.get(list(axes.values()))
        return
    source, target = op.operands
    target.replace_all_uses_with(source)
    op.erase()
