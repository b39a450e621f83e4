"""The grouping algorithm on random graphs: groups hold one anchor and can run one after the other."""

from hypothesis import given, settings
from hypothesis import strategies as st

from mnc.passes.graph.grouping import Node, group

KINDS = ("injective", "reduction", "complex-out-fusable", "opaque")


@st.composite
def graphs(draw):
    size = draw(st.integers(1, 12))
    nodes = []
    for i in range(size):
        users = tuple(sorted(draw(st.sets(st.integers(i + 1, size - 1), max_size=2)))) if i + 1 < size else ()
        kind = draw(st.sampled_from((*KINDS, "injective", "injective")))
        nodes.append(Node(kind, users, kind == "injective" and draw(st.booleans()), not users or draw(st.booleans())))
    return nodes


@settings(max_examples=300, deadline=None)
@given(graphs())
def test_groups(nodes):
    result = group(nodes)
    members = {g: [i for i, own in enumerate(result.groups) if own == g] for g in set(result.groups)}
    for own in members.values():
        anchors = [i for i in own if nodes[i].kind in ("reduction", "complex-out-fusable")]
        assert len(anchors) <= 1 and (len(own) == 1 or all(nodes[i].kind != "opaque" for i in own))
        # All but the last are read by the group alone, so that only the last result is stored.
        for i in own[:-1]:
            assert not nodes[i].is_result and set(nodes[i].users) <= set(own)
    edges = {(result.groups[i], result.groups[u]) for i, n in enumerate(nodes) for u in n.users}
    remaining = set(members)
    while remaining:
        free = {g for g in remaining if not any(a in remaining and b == g and a != b for a, b in edges)}
        assert free, "groups depend on each other in a circle"
        remaining -= free


def test_every_edge_is_joined_or_refused():
    nodes = [Node("complex-out-fusable", (1,)), Node("injective", (2,), True), Node("reduction", (), False, True)]
    result = group(nodes)
    assert result.groups == [0, 0, 1]
    assert [(p, c) for p, c, _ in result.refusals] == [(1, 2)]
