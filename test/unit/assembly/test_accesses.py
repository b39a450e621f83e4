"""Words touched per cycle, against the address tables of the manual."""

import pytest
from hypothesis import given, settings

from assembly.strategies import expressions, transfers
from mnc.mncore_backend.assembly import parse_line
from mnc.mncore_backend.assembly.accesses import Access, Agent, accesses, issue_group, mask_cycles, produced_latch
from mnc.mncore_backend.assembly.isa import Unit
from mnc.mncore_backend.assembly.modifiers import is_legal_set, l1b_set
from mnc.mncore_backend.assembly.mv_accesses import mv_form, transfer_accesses
from mnc.mncore_backend.assembly.records import Expression, Mask, Memory, Step, Transfer
from mnc.mncore_backend.target import chip


def expression(text: str) -> Expression:
    step = parse_line(text)
    assert isinstance(step, Step)
    return step.expressions[0]


def find(text: str, memory: Memory, *, write: bool) -> list[Access]:
    return [a for a in accesses(expression(text)) if a.memory is memory and a.write == write]


def addresses(access: Access) -> list[list[int]]:
    return [[a for first, last in cycle for a in range(first, last)] for cycle in access.cycles]


@pytest.mark.parametrize(
    ("operand", "first", "width"),
    [
        ("$lr4", (4, 4, 4, 4), 2),
        ("$r4v", (4, 5, 6, 7), 1),
        ("$lr4v", (4, 6, 8, 10), 2),
        ("$llr4v", (4, 8, 12, 16), 4),
        ("$r1v2", (1, 3, 5, 7), 1),
        ("$lm0v16", (0, 16, 32, 48), 2),
        ("$lln4v8", (4, 12, 20, 28), 4),
        ("$lr[128,128,128,0]", (128, 128, 128, 0), 2),
        ("$lm4094v", (4094, 0, 2, 4), 2),
    ],
)
def test_address_sequences(operand: str, first: tuple[int, ...], width: int) -> None:
    memory = {"r": Memory.GRF0, "m": Memory.LM0, "n": Memory.LM1}[operand.replace("$", "").lstrip("l")[0]]
    (access,) = find(f"lpassa {operand} $ls0", memory, write=False)
    assert addresses(access) == [list(range(a, a + width)) for a in first]
    assert access.exact


def test_indirect_and_offset_accesses_are_supersets() -> None:
    (access,) = find("lpassa $lmt16v8 $ls0", Memory.LM0, write=False)
    assert not access.exact and addresses(access)[0] == list(range(4096))
    assert find("lpassa $lmt16v8 $ls0", Memory.T, write=False)
    (access,) = find("lpassa $lm2048v4j0 $ls0", Memory.LM0, write=False)
    assert addresses(access)[1] == [2052, 2053, 2054, 2055]
    assert find("lpassa $lm0 $ls0", Memory.BAR0, write=False)
    assert not find("lpassa $lr0 $ls0", Memory.BAR0, write=False)


@pytest.mark.parametrize(
    ("text", "start", "stop"),
    [
        ("l1bmm $lb32 $lr0v", lambda c: 32 + 4 * c, 4),
        ("l1bmm $llb32 $llr0v", lambda c: 32 + 8 * c, 8),
        ("l1bmm4 $lb32 $lr0v", lambda c: 32 + 16 * c, 16),
        ("l1bmm4 $llb32 $llr0v", lambda c: 32 + 32 * c, 32),
        ("l1bmd $lb64 $lr0v", lambda c: 64 + 64 * c, 64),
        ("l1bmp $lb3 $lr0v", lambda c: 3 + c, 1),
    ],
)
def test_l1bm_blocks(text, start, stop) -> None:
    (access,) = find(text, Memory.L1BM, write=False)
    assert addresses(access) == [list(range(start(c), start(c) + stop)) for c in range(4)]
    assert access.agent is Agent.L1BM_DOWN


def test_the_second_long_of_l1bmp_lies_behind_all_cycles() -> None:
    (access,) = find("l1bmp $llb8 $llr0v", Memory.L1BM, write=False)
    assert addresses(access) == [[8, 12], [9, 13], [10, 14], [11, 15]]


@pytest.mark.parametrize(
    ("text", "near", "far", "instances", "agent"),
    [
        ("l2bmb@0/1 $lc64 $lb16", 16, 16, 0b11, Agent.L2BM_DOWN),
        ("l2bmb2 $lc64 $lb16", 16, 64, 0xFF, Agent.L2BM_DOWN),
        ("l2bmd $lc64 $lb16", 8, 64, 0xFF, Agent.L2BM_DOWN),
        ("l2bmd $lb16 $lc64", 8, 64, 0xFF, Agent.L2BM_UP),
        ("l2bm@3 $lb16 $lc64", 16, 16, 0b1000, Agent.L2BM_UP),
        ("l2bmrffadd@2/5 $lb16 $lc64", 16, 16, 0b11001100, Agent.L2BM_UP),
        ("l2bmr2dfadd $lb16 $lc64", 16, 64, 0xFF, Agent.L2BM_UP),
    ],
)
def test_l2bm_blocks(text: str, near: int, far: int, instances: int, agent: Agent) -> None:
    found = {a.memory: a for a in accesses(expression(text))}
    l1bm, l2bm = found[Memory.L1BM], found[Memory.L2BM]
    assert addresses(l1bm) == [list(range(16 + near * c, 16 + near * c + near)) for c in range(4)]
    assert addresses(l2bm) == [list(range(64 + far * c, 64 + far * c + far)) for c in range(4)]
    assert (l1bm.instances, l1bm.agent, l2bm.agent) == (instances, agent, agent)
    assert l1bm.write == (agent is Agent.L2BM_DOWN) != l2bm.write


def test_turnaround_latches_and_groups() -> None:
    up = expression("l1bmrdfadd $lr0v $lbi")
    assert not find("l1bmrdfadd $lr0v $lbi", Memory.L1BM, write=True)
    assert find("l1bmrdfadd $lr0v $lb0", Memory.TURNAROUND, write=True)
    down = expression("l1bmm $lbi $lr0v")
    assert (issue_group(up), issue_group(down)) == (Unit.L1BM, Unit.TURNAROUND)
    latches = {t: produced_latch(expression(t)) for t in ("lpassa $t $lr0", "gmread $lx0 $t", "gmwrite $t $lx0")}
    assert list(latches.values()) == [Memory.ALUF, Memory.MREADF, None]
    assert (produced_latch(up), produced_latch(down)) == (None, Memory.LBF)


def test_matrix_rows_are_counted_in_sixteenths() -> None:
    rows = {
        t: addresses(find(t, Memory.MATRIX_X, write=True)[0])
        for t in ("dmwrite $lr0v $lx3", "gmwrite $lr0v $lx4", "hmwrite $lr0v $lx15", "hmwrite $llr0v $llx14")
    }
    assert [r[0] for r in rows.values()] == [[12, 13, 14, 15], [8, 9], [15], [14, 15]]
    assert [r[1] for r in rows.values()] == [[0, 1, 2, 3], [10, 11], [0], [0, 1]]


def test_masks() -> None:
    assert mask_cycles(Mask("1010")) == 0b0101
    assert mask_cycles(Mask(None, 24)) == 0b0001  # entry 24 is the pattern 1000
    assert mask_cycles(Mask(None, 31)) == mask_cycles(Mask(None, 5)) == 0b1111
    (fixed,) = find("lpassa $ls0 $lr0/1000", Memory.GRF0, write=True)
    (conditional,) = find("lpassa $ls0 $lr0/$imr2", Memory.GRF0, write=True)
    assert (fixed.active, fixed.conditional) == (1, False)
    assert (conditional.active, conditional.conditional) == (15, True)
    assert find("lpassa $ls0 $lr0/$imr2", Memory.MASK, write=False)


def test_l1b_sets() -> None:
    pairs = ("01", "02", "04", "13", "15", "23", "26", "37", "45", "46", "57", "67")
    quads = ("0123", "0145", "0246", "1357", "2367", "4567")
    legal = (*"01234567", *pairs, *quads, "01234567")
    masks = {sum(1 << int(b) for b in s) for s in legal}
    assert {m for m in range(256) if is_legal_set(m)} == masks
    assert l1b_set("@2/5") == l1b_set("@7/5") == sum(1 << b for b in (2, 3, 6, 7))
    assert l1b_set("@[0,4]") == l1b_set("@0,4") == l1b_set("@4/4") == 0b10001


@pytest.mark.parametrize(
    ("text", "form", "read", "written"),
    [
        ("mvp/n64 $p0@0 $lc8@2.1", "P3", (0, 64, 0b0001), (8, 72, 1 << 5)),
        ("mvp/n64 $d0 $lc8@.1", "P10", (0, 64, 0b1111), (8, 72, 0b10101010)),
        ("mvb/n128 $d0 $lc0", "B2", (0, 32, 0b1111), (0, 128, 0xFF)),
        ("mvb4/n128 $d0 $lc0", "B4", (0, 64, 0b1111), (0, 128, 0xFF)),
        ("mvrdfadd/n64 $lc0 $d0", "R2", (0, 64, 0xFF), (0, 16, 0b1111)),
        ("mvr4dfadd/n64 $lc0 $d0", "R4", (0, 64, 0xFF), (0, 32, 0b1111)),
        ("mvd/n64 $p0@0 $lc0", "D1", (0, 512, 0b0001), (0, 64, 0xFF)),
        ("mvd/n64 $lc0 $p0@3", "D2", (0, 64, 0xFF), (0, 512, 0b1000)),
        ("mvp/n64 $lc0 $d0", "P12", (0, 64, 0b01010101), (0, 64, 0b1111)),
        ("mvd/n64 $p0@0 $d0", "D3", (0, 64, 0b0001), (0, 16, 0b1111)),
    ],
)
def test_mv_forms(text: str, form: str, read: tuple[int, ...], written: tuple[int, ...]) -> None:
    transfer = parse_line(text)
    assert isinstance(transfer, Transfer)
    selected = mv_form(transfer)
    assert selected is not None and selected.identifier == form
    found = [(*a.cycles[0][0], a.instances) for a in transfer_accesses(transfer)]
    assert found == [read, written]


def test_indirect_dram_reads_the_table() -> None:
    transfer = parse_line("mvp/n64 $di1022 $lc0@.0")
    assert isinstance(transfer, Transfer)
    (entries,) = [a for a in transfer_accesses(transfer) if a.memory is Memory.DAR]
    assert not entries.exact


def test_every_form_has_a_legal_example() -> None:
    identifiers = {f.identifier for f in chip().mv_forms}
    assert len(identifiers) == len(chip().mv_forms) == 25


@settings(max_examples=300, deadline=None)
@given(expressions())
def test_accesses_stay_inside_the_memories(expr: Expression) -> None:
    for access in accesses(expr):
        facts = chip().memories.get(access.memory)
        limit = facts.addresses if facts else 4
        for cycle in access.cycles:
            for first, last in cycle:
                assert 0 <= first < last
                assert access.memory is Memory.MASK or last <= limit


@settings(max_examples=200, deadline=None)
@given(transfers())
def test_transfer_accesses_stay_inside_the_memories(transfer: Transfer) -> None:
    for access in transfer_accesses(transfer):
        for first, last in access.cycles[0]:
            assert 0 <= first <= last <= chip().memories[access.memory].addresses
