"""Which operations may run as one: a plain algorithm over fusion classes, without MLIR.

The classes are those of TVM (Chen et al., OSDI 2018, section 3):

- injective: every result element depends on single elements of the operands;
- reduction: result elements fold many operand elements;
- complex-out-fusable: contractions and windows, at whose output element-wise work can follow;
- opaque: none of these.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

FusionClass = Literal["injective", "reduction", "complex-out-fusable", "opaque"]


@dataclass(frozen=True)
class Node:
    """One operation: its class, who reads its results, and whether it is element-wise (injective without moves)."""

    kind: FusionClass
    users: tuple[int, ...]
    is_elementwise: bool = False
    is_result: bool = False


@dataclass
class Grouping:
    """Group number of every node, and why producers were not joined to their consumers."""

    groups: list[int]
    refusals: list[tuple[int, int, str]] = field(default_factory=list)


def _refusal(producer: Node, consumer: Node, anchors: tuple[bool, bool]) -> str | None:
    """Why `producer` cannot be computed together with its only user; `anchors`: do their groups have one."""
    if "opaque" in (producer.kind, consumer.kind):
        return "an opaque operation runs by itself"
    if consumer.kind == "complex-out-fusable":
        return "the operands of a contraction are laid out before it runs"
    if producer.kind == "reduction":
        return "the result of a reduction is known only after its last element"
    if producer.kind == "complex-out-fusable" and not (consumer.kind == "injective" and consumer.is_elementwise):
        return "only element-wise work can follow at the output of a contraction"
    if all(anchors):
        return "a group holds one reduction or contraction"
    if anchors[0] and not (consumer.kind == "injective" and consumer.is_elementwise):
        return "only element-wise work can follow at the output of a contraction"
    return None


def group(nodes: Sequence[Node]) -> Grouping:
    """Join every node to the group of its user where one user reads it and the classes permit it.

    A node has at most one user inside its group and only the last one is read from outside, so groups
    never depend on each other in a circle.
    """
    members = list(range(len(nodes)))
    has_anchor = [node.kind in ("reduction", "complex-out-fusable") for node in nodes]
    result = Grouping(members)

    def root(i: int) -> int:
        while members[i] != i:
            i = members[i]
        return i

    for i in _order(nodes):
        users = sorted(set(nodes[i].users))
        if not users:
            continue
        if len(users) > 1 or nodes[i].is_result:
            reason: str | None = "its result has several users, so that it is stored anyway"
        else:
            reason = _refusal(nodes[i], nodes[users[0]], (has_anchor[root(i)], has_anchor[root(users[0])]))
        if reason:
            result.refusals.extend((i, user, reason) for user in users)
            continue
        target = root(users[0])
        has_anchor[target] |= has_anchor[root(i)]
        members[i] = target
    result.groups = _numbered([root(i) for i in range(len(nodes))])
    return result


def _order(nodes: Sequence[Node]) -> list[int]:
    """Contractions and what follows them first, because epilogues save most; then the rest from the end."""
    order: dict[int, None] = {}
    for i, node in enumerate(nodes):
        if node.kind != "complex-out-fusable":
            continue
        order[i] = None
        while len(set(nodes[i].users)) == 1 and nodes[nodes[i].users[0]].is_elementwise:
            i = nodes[i].users[0]
            order[i] = None
    for i in reversed(range(len(nodes))):
        order.setdefault(i)
    return list(order)


def _numbered(roots: Sequence[int]) -> list[int]:
    """Consecutive numbers in the order of first appearance."""
    order: dict[int, int] = {}
    return [order.setdefault(r, len(order)) for r in roots]
