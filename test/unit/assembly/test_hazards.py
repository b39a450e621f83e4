"""Distances, against the tables of SDM 3.6.3 and the tightest published programs."""

import pytest

from mnc.mncore_backend.assembly import parse_line
from mnc.mncore_backend.assembly.accesses import Access, accesses
from mnc.mncore_backend.assembly.hazards import Distance, ordering_distance, overlap, required_distance, reuse_distance
from mnc.mncore_backend.assembly.mv_accesses import transfer_accesses
from mnc.mncore_backend.assembly.records import Step, Transfer


def touched(text: str) -> tuple[Access, ...]:
    statement = parse_line(text)
    if isinstance(statement, Transfer):
        return transfer_accesses(statement)
    assert isinstance(statement, Step)
    return tuple(a for e in statement.expressions for a in accesses(e))


def distances(first: str, second: str) -> dict[str, Distance]:
    """Every hazard between two statements, by row; the widest where several accesses meet."""
    found: dict[str, Distance] = {}
    for producer in touched(first):
        for consumer in touched(second):
            distance = required_distance(producer, consumer)
            if distance is not None:
                old = found.get(distance.row)
                found[distance.row] = distance if old is None else max(old, distance, key=lambda d: (d.reject, d.emit))
    return found


@pytest.mark.parametrize(
    ("first", "second", "row", "emit", "reject"),
    [
        # GRF: per word and cycle, 7 cycles
        ("lpassa $ls0 $lr0v", "lpassa $lr0v $lm0", "9b", 2, 2),
        ("lpassa $ls0 $lr0", "lpassa $lr0 $lm0", "9b", 3, 3),
        ("lpassa $ls0 $lr0", "lpassa $lr0v $lm0", "9b", 3, 3),
        ("ipassa $s0 $r0/1000", "ipassa $r0 $m0", "9b", 2, 2),
        ("ipassa $s0 $r0/0100", "ipassa $r0 $m0", "9b", 2, 2),
        ("ipassa $s0 $r0/0010", "ipassa $r0 $m0", "9b", 3, 3),
        ("ipassa $s0 $r0/0001", "ipassa $r0 $m0", "9b", 3, 3),
        ("ipassa $r0 $s9/1000", "ipassa $s3v2 $m0", "9b", 1, 1),
        ("lpassa $ls0 $lr0", "lpassa $lr[128,128,128,0] $lm0", "9b", 2, 2),
        ("lpassa $ls0 $lr0/$imr3", "lpassa $lr[128,128,128,0] $lm0", "9b", 2, 0),  # a run-time mask
        # LM: any address
        ("lpassa $ls0 $lm0v", "lpassa $lm512v $lr0", "9a", 3, 3),
        ("lpassa $ls0 $lm0/1000", "lpassa $lm512v $lr0", "9a", 3, 3),
        ("lpassa $ls0 $t", "lpassa $t $lr0", "9c", 2, 2),
        ("lpassa $ls0 $t", "lpassa $lmt $lr0", "9c", 2, 2),
        ("lpassa $ls0 $mb", "lpassa $lm0 $lr0", "9e", 3, 0),
        # L1BM
        ("l2bmd $lc0 $lb0", "l1bmm $llb0 $llr0v", "6", 2, 2),
        ("l2bmd $lc0 $lb0", "l1bmd $lb0 $lr0v", "6", 3, 3),
        ("l2bmb $lc0 $lb0", "l1bmp $lb0 $lr0v", "6", 2, 2),
        ("l1bmm@0 $lln0v $llb0", "l2bmd $lb0 $lc0", "7", 3, 3),
        ("l1bmm@0 $lln0v $lb0", "l2bm@0 $lb0 $lc0", "7", 4, 4),
        ("l1bmm@0 $lln0v $lb8", "l2bmd $lb0 $lc0", "7", 3, 3),  # a distance of 11, isa 19 row 7
        ("l1bmm@0 $lln0v $lb0", "l1bmm $lb512 $lr0v", "8", 3, 3),
        ("l1bmm@0 $lln0v $lbi", "l1bmm $lb512 $lr0v", "8", 3, 0),
        ("l2bmd $lb0 $lc0", "l2bmd $lc512 $lb64", "2", 4, 0),
        ("l2bmd $lb0 $lc0", "mvp/n64 $lc0@0.0 $d0@0", "1", 2, 0),
        ("l2bmd $lc0 $lb0", "l2bmd $lb512 $lc64", "3", 4, 0),
        ("l2bmi@0/4 $lb0 $lb64", "l2bmi@0/4 $lb512 $lb128", "4", 4, 0),
        ("l2bmi@0/4 $lb0 $lb64", "l1bmm $lb512 $lr0v", "5", 4, 0),
        ("gmwrite $lr0v $lx0", "gmmul $lx $lr0v $ls0", "10", 1, 1),
        ("ladd $lr0 $ls0 $omr2", "lpassa $lr0 $ls0/$imr2", "9d", 1, 1),
        ("l1bmm@0 $lr0v $lbi", "l1bmm $lbi $ls0v", "8t", 1, 1),
    ],
)
def test_rows(first: str, second: str, row: str, emit: int, reject: int) -> None:
    found = distances(first, second)[row]
    assert (found.emit, found.reject) == (emit, reject)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("lpassa $ls0 $lr0v", "lpassa $lr8v $lm0"),
        ("lpassa $ls0 $lm0v", "lpassa $ln0v $lr0"),
        ("lpassa $lm0 $ls0", "lpassa $lr0 $lm0"),
        ("l2bmb@0 $lc0 $lb0", "l1bmm $lb64 $lr0v"),
        ("l1bmm@0 $lr0v $lb0", "l2bm@0 $lb16 $lc0"),
        ("ladd $lr0 $ls0 $omr2", "lpassa $lr0 $ls0/$imr3"),
        ("lpassa $ls0 $lr0/0000", "lpassa $lr0 $lm0"),
    ],
)
def test_independent_pairs(first: str, second: str) -> None:
    assert distances(first, second) == {}


def test_rows_without_evidence_only_warn() -> None:
    found = distances("l2bmd $lb0 $lc0", "l2bmd $lc512 $lb64")["2"]
    assert (found.reject, found.warn) == (0, 4)
    shared = distances("l1bmm@0 $lln0v $lb0", "l1bmp $lb12 $lr0v")["8"]
    assert (shared.reject, shared.warn, shared.emit) == (3, 4, 4)


def test_order_of_accesses() -> None:
    (write,) = [a for a in touched("lpassa $ls0 $lr0") if a.write and a.cycles[0][0][1] == 2]
    (read,) = [a for a in touched("lpassa $lr0 $lm0") if not a.write and a.region]
    assert overlap(write, read)
    assert ordering_distance(write, read) == 1
    assert ordering_distance(read, write) == 0
    assert ordering_distance(write, write) == 1
    assert ordering_distance(read, read) is None


@pytest.mark.parametrize(
    ("reader", "writer", "steps"),
    [
        ("lpassa $lr0v $lm0v", "lpassa $ls0v $lr0v", 0),  # every word is read in the cycle that writes it
        ("lpassa $lr0v $lm0v", "l1bmm $lb0 $lr[0,4,2,6]", 1),  # word 4 is written in cycle 1 and read in cycle 2
        ("lpassa $lr[2,0,4,6] $lm0v", "lpassa $ls0v $lr[6,4,2,0]", 1),
        ("lpassa $lr[0,0,2,2] $lm0v", "lpassa $ls0v $lr[8,8,0,2]", 0),  # what is written was read before
        ("lpassa $lm0v $ls0v", "l1bmm $lb0 $lm[0,4,2,6]", 0),  # a local memory has rules for its ports
    ],
)
def test_what_was_read_is_overwritten_in_the_same_cycle_at_the_earliest(reader: str, writer: str, steps: int) -> None:
    reads = [a for a in touched(reader) if not a.write and a.region]
    writes = [a for a in touched(writer) if a.write and a.region]
    assert {reuse_distance(r, w) for r in reads for w in writes if overlap(r, w)} == {steps}
