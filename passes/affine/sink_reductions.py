"""The pass `sink-reductions`: sums over L2Bs are left to the transfer that stores them.

An MV that reduces adds what the eight L2BMs hold while it writes DRAM. A sum that all L2Bs shall have costs two
transfers through PDM and the way back into the PEs; when all that follows it is linear, none of that is needed.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

from mnc.core.bindings import ir
from mnc.core.pass_base import Pass
from mnc.dialects.mncore.attributes import placement_of
from mnc.mncore_backend.layout import AXIS_SIZE, Axis
from mnc.mncore_backend.movement import plan_relayout
from mnc.mncore_backend.movement.estimate import estimate
from mnc.mncore_backend.program import LOCAL_MEMORY, Builder
from mnc.passes.affine.linear_nest import buffers_of, partial_values, share_out

ALL = AXIS_SIZE[Axis.L2B] - 1
"""Coordinate bits of a sum over all L2Bs."""


@dataclass(frozen=True)
class SinkReductions(Pass):
    """Leave sums over all L2Bs to the stores, where only linear work lies between.

    before: ``reduce(%p, %s) {axes = ["L2B", "L1B"]}; %u = %w - 0.01 * %s; ul(%u, %out)``;
    after: ``reduce(%p, %s) {axes = ["L1B"]}; %u = 0.125 * %w - 0.01 * %s; ul(%u, %out) {sum = ["L2B"]}``
    """

    name: ClassVar[str] = "sink-reductions"

    def run(self, module: ir.Module) -> None:
        """Rewrite every function."""
        with module.context, ir.Location.unknown():
            for op in module.body.operations:
                if op.operation.name == "func.func":
                    _Sinking(op.operation).run()


class _Sinking:
    """Uses of the buffers of one function."""

    def __init__(self, function: Any) -> None:
        self.readers: dict[Any, list[Any]] = {}
        self.reductions: list[Any] = []
        for op in function.regions[0].blocks[0].operations:
            operation = op.operation
            for buffer in dict.fromkeys(_reads(operation)):
                self.readers.setdefault(buffer, []).append(operation)
            if operation.name == "mncore.reduce" and _axes(operation).get("L2B") == ALL and _is_sum(operation):
                self.reductions.append(operation)

    def run(self) -> None:
        """Take all candidates for granted, drop those whose result is used otherwise, until all uses are linear."""
        candidates = {op: self._reached(op.operands[1]) for op in self.reductions}
        while True:
            partial = {buffer for reached in candidates.values() for buffer in reached}
            users = {user: None for buffer in partial for user in self.readers.get(buffer, [])}
            refused = {buffer for user in users if not _is_linear(user, partial) for buffer in _reads(user)}
            kept = {op: reached for op, reached in candidates.items() if not refused & reached}
            if len(kept) == len(candidates):
                break
            candidates = kept
        for user in users:
            _rewrite(user, partial)
        for op in candidates:
            _without_l2b(op)

    def _reached(self, buffer: Any) -> set[Any]:
        """The buffer and all that is computed from it."""
        reached, waiting = {buffer}, [buffer]
        while waiting:
            for user in self.readers.get(waiting.pop(), []):
                new = [value for value in _writes(user) if value not in reached]
                reached.update(new)
                waiting += new
        return reached


def _reads(op: Any) -> list[Any]:
    if op.name == "affine.for":
        return buffers_of(op)[0]
    return list(op.operands)[:-1] if op.name == "mncore.matmul" else list(op.operands)[:1]


def _writes(op: Any) -> list[Any]:
    if op.name == "affine.for":
        return buffers_of(op)[1]
    return list(op.results) if op.name == "memref.memory_space_cast" else list(op.operands)[1:]


def _axes(op: Any) -> dict[str, int]:
    names = [ir.StringAttr(item).value for item in ir.ArrayAttr(op.attributes["axes"])]
    return dict(zip(names, ir.DenseI64ArrayAttr(op.attributes["bits"]), strict=True))


def _is_sum(op: Any) -> bool:
    return ir.StringAttr(op.attributes["kind"]).value == "sum"


def _is_linear(op: Any, partial: set[Any]) -> bool:
    """Whether the operation may work on the part of each L2B instead of on the sum."""
    if any(value.owner.name == "mncore.resident" for value in _writes(op) if not isinstance(value.owner, ir.Block)):
        return False  # read again by the next run
    if op.name in ("mncore.ul", "memref.memory_space_cast"):
        return op.name != "mncore.ul" or _in_every_l2b(op.operands[0])
    if op.name == "mncore.reduce":
        return _is_sum(op)
    if op.name == "mncore.relayout":
        return _in_every_l2b(op.operands[1]) and not _leaves_l2b(op)
    return op.name == "affine.for" and partial_values(op, partial) is not None


def _in_every_l2b(value: Any) -> bool:
    return placement_of(value.type).layout.replicated_bits(Axis.L2B) == ALL


def _leaves_l2b(op: Any) -> bool:
    """Whether the movement takes values from one L2B to another: only MVs do."""
    layouts = [placement_of(value.type).layout for value in op.operands]

    def plan(builder: Builder) -> None:
        buffers = [builder.program.buffer("relayout", x.local_size, LOCAL_MEMORY) for x in layouts]
        plan_relayout(builder, layouts[0], buffers[0], layouts[1], buffers[1])

    return estimate(plan).mvs > 0


def _rewrite(op: Any, partial: set[Any]) -> None:
    if op.name == "affine.for":
        values = partial_values(op, partial)
        assert values is not None  # only such uses are left
        share_out(op, values, AXIS_SIZE[Axis.L2B])
    elif op.name == "mncore.ul":
        op.attributes["sum"] = ir.ArrayAttr.get([ir.StringAttr.get(Axis.L2B.value)])


def _without_l2b(op: Any) -> None:
    axes = {name: bits for name, bits in _axes(op).items() if name != Axis.L2B.value}
    if axes:
        op.attributes["axes"] = ir.ArrayAttr.get([ir.StringAttr.get(name) for name in axes])
        op.attributes["bits"] = ir.DenseI64ArrayAttr.get(list(axes.values()))
        return
    source, target = op.operands
    target.replace_all_uses_with(source)
    op.erase()
