"""Conflicts of ports: what `TwoMemories` accepts has a colouring, and what it refuses has none."""

from itertools import product

from hypothesis import given
from hypothesis import strategies as st

from mnc.mncore_backend.assembly.records import Memory
from mnc.mncore_backend.codegen.allocation.ports import Conflict, TwoMemories
from mnc.mncore_backend.program import LOCAL_MEMORY, REGISTER_FILE, Buffer

EDGES = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)).filter(lambda e: e[0] != e[1]), max_size=8)


def colourable(edges: list[tuple[int, int]], fixed: dict[int, int]) -> bool:
    colours = product((0, 1), repeat=5)
    return any(all(c[a] != c[b] for a, b in edges) and all(c[n] == f for n, f in fixed.items()) for c in colours)


@given(EDGES, st.dictionaries(st.integers(0, 4), st.integers(0, 1)), st.sampled_from([LOCAL_MEMORY, REGISTER_FILE]))
def test_agrees_with_trying_all(edges, fixed, kind) -> None:
    nodes = [Buffer(f"b{i}", 4, kind) for i in range(5)]
    memories = TwoMemories()
    for number, colour in fixed.items():
        memories.fix(nodes[number], (kind[colour],))
    accepted: list[tuple[int, int]] = []
    for a, b in edges:
        if memories.add([Conflict(nodes[a], nodes[b])]) is not None:
            accepted.append((a, b))
            assert colourable(accepted, fixed)
        else:
            assert not colourable([*accepted, (a, b)], fixed)


def test_what_is_forgotten_does_not_bind() -> None:
    a, b, c = (Buffer(n, 4, LOCAL_MEMORY) for n in "abc")
    memories = TwoMemories()
    trail = memories.add([Conflict(a, b), Conflict(b, c)])
    assert trail is not None
    assert memories.add([Conflict(a, c)]) is None
    memories.forget(trail)
    assert memories.add([Conflict(a, c)]) is not None


def test_kinds_do_not_meet() -> None:
    local, file = Buffer("a", 4, LOCAL_MEMORY), Buffer("b", 4, (Memory.GRF0,))
    memories = TwoMemories()
    assert memories.add([Conflict(local, file)]) == []
    assert memories.add([Conflict(local, local, local=True)]) is None
    assert memories.add([Conflict(file, file, local=True)]) == []
    either = Buffer("c", 4, (*LOCAL_MEMORY, *REGISTER_FILE))
    assert memories.add([Conflict(either, file)]) is None
