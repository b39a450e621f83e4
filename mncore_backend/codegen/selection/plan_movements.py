"""The pass `plan-movements`: the movements between placements are planned before anybody wants the plans.

Nothing changes but the time of the passes behind it. Planning takes a large part of the time that a program takes to
compile; movements do not depend on each other, so that two processors can plan them at the same time.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

from mnc.core.bindings import ir
from mnc.core.both import share_out
from mnc.core.modules import functions_of
from mnc.core.pass_base import Pass
from mnc.dialects.graph.attributes import to_numpy
from mnc.dialects.mncore import reduced_axes
from mnc.dialects.mncore.attributes import placement_of
from mnc.mncore_backend.codegen.residency.spill_buffers import check_operations_fit
from mnc.mncore_backend.layout import equivalent
from mnc.mncore_backend.movement.ahead import Request, plan_ahead
from mnc.mncore_backend.movement.reduce_scatter import may_go_at_once

_ARRANGEMENT = ("index_map", "padding", "onto", "fills_padding")


@dataclass(frozen=True)
class PlanMovements(Pass):
    """Plan relayouts and gathers of large tensors ahead, on two processors; what is planned is remembered.

    The program stays as it is. One with an operation that alone does not fit local memory is refused: plans are as
    large as what they move.
    """

    name: ClassVar[str] = "plan-movements"

    def run(self, module: ir.Module) -> None:
        """Plan the movements of every function."""
        with module.context:
            for op in functions_of(module):
                check_operations_fit(op.operation)
                plan_ahead(_requests(op.operation), share_out)


def _requests(function: Any) -> Iterator[Request]:
    """The movements of a function, each once."""
    operations = [op.operation for op in function.regions[0].blocks[0].operations]
    keep = any(op.name == "mncore.resident" and "base" not in op.attributes for op in operations)
    found = set()
    for op in operations:
        if op.name not in ("mncore.relayout", "mncore.gather") and not _ends_in_relayout(op):
            continue
        layouts = [placement_of(value.type).layout for value in op.operands]
        given = {name: op.attributes[name] for name in _ARRANGEMENT if name in op.attributes}
        key = (*layouts, *given.items())
        if key not in found:
            found.add(key)
            yield _request(layouts, given, keep)


def _ends_in_relayout(op: Any) -> bool:
    """Whether an operation is a sum that is made where the parts are, and moved then."""
    if op.name != "mncore.reduce" or may_go_at_once(reduced_axes(op)):
        return False
    return not equivalent(*(placement_of(value.type).layout for value in op.operands))


def _request(layouts: list[Any], given: dict[str, Any], keep: bool) -> Request:
    if "index_map" not in given:
        return Request(layouts[0], layouts[1], keep=keep)
    padding = None if "onto" in given else ir.IntegerAttr(given["padding"]).value & 0xFFFFFFFF
    return Request(layouts[0], layouts[1], to_numpy(given["index_map"]), padding, keep, "fills_padding" in given)
