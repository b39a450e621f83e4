"""The pass `fuse-groups`."""

from dataclasses import dataclass
from typing import Any, ClassVar, cast

from mnc.core.bindings import ir
from mnc.core.explanation import explain
from mnc.core.pass_base import Pass
from mnc.passes.graph.classify_fusion import FUSION, class_of, graph_operations
from mnc.passes.graph.grouping import FusionClass, Node, group
from mnc.passes.graph.tensors.kinds import ELEMENTWISE

GROUP = "mnc.group"
"""Attribute that holds the number of the group; operations of one number may run as one."""


@dataclass(frozen=True)
class FuseGroups(Pass):
    """Number the groups of operations that may run as one, by fusion class and use.

    before: ``%1 = graph.matmul(..) ; %2 = graph.relu(%1)``; after: both with ``mnc.group = 0``

    Classes that `classify-fusion` or a person has written on the operations count; others are derived.
    """

    name: ClassVar[str] = "fuse-groups"

    def run(self, module: ir.Module) -> None:
        """Annotate; refusals are explained at the consumer."""
        with module.context:
            for operations in graph_operations(module):
                _number(operations)


def _number(operations: list[Any]) -> None:
    index = {result: i for i, operation in enumerate(operations) for result in operation.results}
    users: list[list[int]] = [[] for _ in operations]
    for i, operation in enumerate(operations):
        for operand in operation.operands:
            if operand in index:
                users[index[operand]].append(i)
    nodes = [_node(operation, tuple(users[i])) for i, operation in enumerate(operations)]
    grouping = group(nodes)
    i64 = ir.IntegerType.get_signless(64)
    for operation, number in zip(operations, grouping.groups, strict=True):
        operation.attributes[GROUP] = ir.IntegerAttr.get(i64, number)
    for producer, consumer, reason in grouping.refusals:
        explain("FuseGroups", operations[consumer], f"'{operations[producer].name}' stays apart: {reason}")


def _node(operation: Any, users: tuple[int, ...]) -> Node:
    given = operation.attributes[FUSION].value if FUSION in operation.attributes else class_of(operation)
    returned = any(not use.owner.operation.name.startswith("graph.") for r in operation.results for use in r.uses)
    elementwise = operation.name.removeprefix("graph.") in ELEMENTWISE
    return Node(cast(FusionClass, given), users, elementwise, returned)
