"""The pass `sink-reductions`: sums over L2Bs, L1Bs and MABs are left to the transfers that store them.

The way from the PEs to DRAM can add at every level: the MABs of an L1B, the L1Bs of an L2B, the L2Bs of the chip. A sum
that everybody shall have costs the way up and the way back into the PEs, over L2Bs with two transfers through PDM; when
all that follows it is linear, none of that is needed.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

from mnc.core.bindings import ir
from mnc.core.pass_base import Pass
from mnc.dialects.mncore import reduced_axes, summed_axes
from mnc.dialects.mncore.attributes import placement_of
from mnc.mncore_backend.layout import AXIS_SIZE, Axis, equivalent
from mnc.mncore_backend.movement import crosses, plan_relayout
from mnc.mncore_backend.program import LOCAL_MEMORY, Builder, Program
from mnc.passes.affine.linear_nest import buffers_of, partial_values, share_out

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
            for op in module.body.operations:
                if op.operation.name == "func.func":
                    for axis in LEVELS:
                        for bits in sorted(_masks(op.operation, axis)):
                            _Sinking(op.operation, axis, bits).run()


def _masks(function: Any, axis: Axis) -> set[int]:
    """Coordinate bits of the axis that reductions of the function sum over and a store can."""
    operations = [op.operation for op in function.regions[0].blocks[0].operations]
    masks = {reduced_axes(op).get(axis, 0) for op in operations if op.name == "mncore.reduce"} - {0}
    return masks if axis is Axis.L1B else masks & {AXIS_SIZE[axis] - 1}


class _Sinking:
    """Uses of the buffers of one function, and the sums over some bits of one axis."""

    def __init__(self, function: Any, axis: Axis, bits: int) -> None:
        self.axis, self.bits = axis, bits
        self.readers: dict[Any, list[Any]] = {}
        self.reductions: list[Any] = []
        for op in function.regions[0].blocks[0].operations:
            operation = op.operation
            for buffer in dict.fromkeys(_reads(operation)):
                self.readers.setdefault(buffer, []).append(operation)
            if operation.name == "mncore.reduce" and self._is_candidate(operation):
                self.reductions.append(operation)

    def _is_candidate(self, op: Any) -> bool:
        axes = reduced_axes(op)
        outermost = next((axis for axis in LEVELS if axis in axes), None)
        same = equivalent(*(placement_of(value.type).layout for value in op.operands))
        return outermost is self.axis and axes[self.axis] == self.bits and _is_sum(op) and same

    def run(self) -> None:
        """Take all candidates for granted, drop those whose result is used otherwise, until all uses are linear."""
        candidates = {op: self._reached(op.operands[1]) for op in self.reductions}
        while True:
            partial = {buffer for reached in candidates.values() for buffer in reached}
            users = dict.fromkeys(user for buffer in partial for user in self.readers.get(buffer, []))
            refused = {buffer for user in users for buffer in self._refused(user, partial)}
            kept = {op: reached for op, reached in candidates.items() if not refused & reached}
            if len(kept) == len(candidates):
                break
            candidates = kept
        for user in users:
            self._rewrite(user, partial)
        for op in candidates:
            _without(op, self.axis)

    def _refused(self, op: Any, partial: set[Any]) -> list[Any]:
        """Buffers whose parts an operation cannot work on: those it is not linear in, or all where it is linear in each
        of them but not in all together, as a product is."""
        if self._is_linear(op, partial):
            return []
        read = [buffer for buffer in dict.fromkeys(_reads(op)) if buffer in partial]
        return [buffer for buffer in read if not self._is_linear(op, {buffer})] or read

    def _reached(self, buffer: Any) -> set[Any]:
        """The buffer and all that is computed from it."""
        reached, waiting = {buffer}, [buffer]
        while waiting:
            for user in self.readers.get(waiting.pop(), []):
                new = [value for value in _writes(user) if value not in reached]
                reached.update(new)
                waiting += new
        return reached

    def _is_linear(self, op: Any, partial: set[Any]) -> bool:
        """Whether the operation may work on the parts instead of on the sum."""
        if any(value.owner.name == "mncore.resident" for value in _writes(op) if not isinstance(value.owner, ir.Block)):
            return False  # read again by the next run
        if op.name == "memref.memory_space_cast":
            return True
        if op.name == "mncore.ul":  # it adds over one set of places on an axis
            return self._is_everywhere(op.operands[0]) and self.axis not in summed_axes(op)
        if op.name == "mncore.reduce":
            inner = (*LEVELS[LEVELS.index(self.axis) + 1 :], Axis.PE, Axis.W)
            inside = all(axis in inner for axis in reduced_axes(op))
            return _is_sum(op) and inside and self._is_everywhere(op.operands[1])
        if op.name == "mncore.relayout":
            return self._is_everywhere(op.operands[1]) and not self._is_left(op)
        return op.name == "affine.for" and partial_values(op, partial) is not None

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

    def _rewrite(self, op: Any, partial: set[Any]) -> None:
        if op.name == "affine.for":
            values = partial_values(op, partial)
            assert values is not None  # only such uses are left
            share_out(op, values, 1 << self.bits.bit_count())
        elif op.name == "mncore.ul":
            sums = {**summed_axes(op), self.axis: self.bits}
            op.attributes["sum"] = ir.ArrayAttr.get([ir.StringAttr.get(axis.value) for axis in sums])
            op.attributes["bits"] = ir.DenseI64ArrayAttr.get(list(sums.values()))


def _reads(op: Any) -> list[Any]:
    if op.name == "affine.for":
        return buffers_of(op)[0]
    return list(op.operands)[:-1] if op.name == "mncore.matmul" else list(op.operands)[:1]


def _writes(op: Any) -> list[Any]:
    if op.name == "affine.for":
        return buffers_of(op)[1]
    return list(op.results) if op.name == "memref.memory_space_cast" else list(op.operands)[1:]


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
